package e2e_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestWhatWouldMendIt asks where a rule broke, in each language: the stage stands still,
// the causes lead to their rows, and a change is put in and taken back.
func TestWhatWouldMendIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lang, before, cause, lesson string }{
		{"en", "As it is, 42 of 55 orders with at most 2 delays and no fault but the scenario's own break a rule.", "Redis drops A's key", "No lease keeps two out for ever"},
		{"zh-CN", "55 种顺序中有 42 种违反规则。", "Redis 删除 A 的键", "没有哪个租约能永远挡住第二个"},
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
				chromedp.WaitVisible(chromedp.CSS(moveOf("A"))), chromedp.KeyEvent("e"), click("#saved"),
				chromedp.WaitVisible(chromedp.CSS(".mend-ending")),
			)
			if got := get[string](ctx, t, `document.getElementById("mended").textContent`); !strings.Contains(got, c.before) || !strings.Contains(got, c.lesson) {
				t.Errorf("it says %q", got)
			}
			if got := get[string](ctx, t, `document.getElementById("causes").innerText`); !strings.Contains(got, c.cause) {
				t.Errorf("it came to this: %q", got)
			}
			if got := get[int](ctx, t, `document.querySelectorAll("#mended > .cure-cards > .cure-card").length`); got != 3 {
				t.Errorf("%d cards", got)
			}
			if !get[bool](ctx, t, `document.activeElement.id === "mender-title" && ["lanes-card", "scroll", "side", "transport"].every((id) => !document.getElementById(id).checkVisibility()) && document.getElementById("stage").checkVisibility()`) {
				t.Error("the focus is elsewhere, or more is shown than the stage")
			}
			for _, width := range []int64{360, 768, 1440} {
				do(ctx, t, chromedp.EmulateViewport(width, 800))
				if wide := get[int64](ctx, t, `document.documentElement.scrollWidth`); wide > width {
					t.Errorf("the page is %d px wide in a window of %d", wide, width)
				}
			}

			// Keys that step do nothing; Escape closes it, and the button has the focus again.
			row := get[string](ctx, t, place)
			do(ctx, t, chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.Escape))
			until(ctx, t, `!document.getElementById("mender").checkVisibility() && document.activeElement.id === "saved" && !location.search.includes("mend")`)
			if got := get[string](ctx, t, place); got != row {
				t.Errorf("from %s it went to %s", row, got)
			}

			// The findings are still there; Back closes it; a cause leads to its row.
			do(ctx, t, click("#saved"), chromedp.WaitVisible(chromedp.CSS(".mend-ending")))
			until(ctx, t, `location.search.includes("mend") && document.querySelectorAll("#causes li").length === 4`)
			do(ctx, t, chromedp.NavigateBack())
			until(ctx, t, `!document.getElementById("mender").checkVisibility() && !location.search.includes("mend")`)
			do(ctx, t, click("#saved"))
			until(ctx, t, `location.search.includes("mend")`)
			do(ctx, t, click(`#causes [data-row="7"]`))
			until(ctx, t, `!document.getElementById("mender").checkVisibility() && document.getElementById("place").textContent.includes("T7") && !location.search.includes("mend")`)

			// A change is put in, and played; Back brings all of it back without a search.
			const takesAlong = `document.getElementById("mend-program")?.value.includes("func ") && document.getElementById("mend-report").value.startsWith("# ")`
			do(ctx, t, chromedp.KeyEvent("e"), click("#saved"))
			until(ctx, t, takesAlong)
			do(ctx, t, click(".cure-card.best .primary"))
			until(ctx, t, `document.getElementById("title").textContent.includes(" · ") && document.getElementById("place").textContent.includes("T2")`)
			do(ctx, t, chromedp.NavigateBack())
			until(ctx, t, `document.getElementById("mender").checkVisibility() && document.querySelectorAll("#causes li").length === 4 && !document.getElementById("title").textContent.includes(" · ")`)
			if !get[bool](ctx, t, takesAlong) {
				t.Error("there is nothing to take along")
			}
			if got := get[string](ctx, t, problem); got != "" {
				t.Errorf("the page complains: %q", got)
			}
		})
	}
}

// A visitor who puts a change in before the search is over, and comes back, gets all of
// it.
func TestASearchThatWasLeftIsDoneAgain(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/lease-expiry"), chromedp.WaitVisible(chromedp.CSS(moveOf("A"))), chromedp.KeyEvent("e"))
	at(ctx, t, "7 of 7")
	do(ctx, t, click("#saved"))
	until(ctx, t, `!document.getElementById("mend-acts").hidden && (document.querySelector("#mended .cure-card .primary, #mended .cure-card [data-variant]")?.click(), document.querySelector("#mended .cure-card [data-variant]") !== null)`)
	until(ctx, t, `document.getElementById("title").textContent.includes(" · ")`)
	do(ctx, t, chromedp.NavigateBack())
	until(ctx, t, `document.getElementById("mender").checkVisibility() && document.getElementById("mend-report")?.value.startsWith("# ")`)
}

// From every order one press leads to what would have saved it: a branch that breaks the
// rule, how it came to that, and the changes.
func TestFromEveryOrderToWhatMends(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(
		ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/lease-expiry"), chromedp.WaitVisible(chromedp.CSS(moveOf("A"))),
		click("#explore"), click("[data-mend]"), chromedp.WaitVisible(chromedp.CSS(".cure-card")),
	)
	if got := get[string](ctx, t, `document.getElementById("causes").innerText`); !strings.Contains(got, "Redis drops A's key") || !strings.Contains(got, "Two inside at once.") {
		t.Errorf("it came to this: %q", got)
	}
	if got := get[string](ctx, t, problem); got != "" {
		t.Errorf("the page complains: %q", got)
	}
}
