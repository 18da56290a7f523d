package e2e_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestWhatWouldMendIt asks beside the run, in each language, and opens a change.
func TestWhatWouldMendIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lang, before, ending string }{
		{"en", "Now 42 of 55 orders with at most 2 delays and no fault but the scenario's own break a rule.", "No lock can mend this alone"},
		{"zh-CN", "55 种顺序中有 42 种破坏规则。", "单靠锁修不好"},
	} {
		t.Run(c.lang, func(t *testing.T) {
			t.Parallel()
			if c.lang != "en" {
				long(t)
			}
			ctx, url := tab(t), serve(t)
			do(
				ctx, t,
				chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/late-write-without-a-token?lang="+c.lang),
				chromedp.WaitVisible(chromedp.CSS(moveOf("A"))), click("#mend"),
				chromedp.WaitVisible(chromedp.CSS(".mend-ending")),
			)
			if got := get[string](ctx, t, `document.getElementById("mended").innerText`); !strings.Contains(got, c.before) || !strings.Contains(got, c.ending) {
				t.Errorf("it says %q", got)
			}
			if !get[bool](ctx, t, `document.activeElement.id === "mender" && document.getElementById("mend").getAttribute("aria-expanded") === "true"`) {
				t.Error("the panel is open, and the focus is elsewhere")
			}

			// What is beyond the panel's end scrolls in the panel, not in the page.
			if over := get[int](ctx, t, overWindow); over > 1 {
				t.Errorf("the page is %d px longer than its window", over)
			}

			// At the width of a phone nothing scrolls sideways.
			do(ctx, t, chromedp.EmulateViewport(360, 800))
			if over := get[int](ctx, t, `document.documentElement.scrollWidth - window.innerWidth`); over > 0 {
				t.Errorf("the page is %d px wider than a phone", over)
			}

			// A change is another scenario to step, beside the panel, and the way back is there.
			do(
				ctx, t, chromedp.EmulateViewport(1440, 900), click(".cure .cure-why summary"), chromedp.WaitVisible(chromedp.CSS(".cure-why table")),
				click(".cure a.primary"),
			)
			until(ctx, t, `document.querySelector(".cure a.primary").getAttribute("aria-current") === "true" && document.getElementById("title").textContent.includes(" · ")`)
			if got := get[string](ctx, t, problem); got != "" {
				t.Errorf("the page complains: %q", got)
			}
			do(ctx, t, click(".mend-as-is a"))
			until(ctx, t, `document.querySelector(".mend-as-is a").hasAttribute("aria-current") && !document.getElementById("title").textContent.includes(" · ")`)
			if !get[bool](ctx, t, `document.getElementById("mend-program").value.includes("func ") && document.getElementById("mend-report").value.startsWith("# ")`) {
				t.Error("there is nothing to take along")
			}
		})
	}
}
