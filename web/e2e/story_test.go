package e2e_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// The storybook shows what only scripts show, and it fits a phone.
func TestStorybook(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(360, 800), chromedp.Navigate(url+"/storybook?lang=zh"), chromedp.WaitVisible(chromedp.CSS(".story .inner.atomic")))
	for expression, want := range map[string]string{
		`[...document.querySelectorAll(".story .lua-next")].map(e => e.dataset.line).join()`:           "2,3",
		`[...document.querySelectorAll(".story .lua-untaken")].map(e => e.dataset.line).join()`:        "6,3,4",
		`String([...document.querySelectorAll(".story .lua-said")].filter(e => e.textContent).length)`: "8",
		`String(document.querySelectorAll(".story .inner[hidden]").length)`:                            "0",
		`String(document.documentElement.scrollWidth)`:                                                 "360",
	} {
		if got := get[string](ctx, t, expression); got != want {
			t.Errorf("%s = %q, want %q", expression, got, want)
		}
	}
	do(ctx, t, click(`[commandfor="share"]`), chromedp.WaitVisible(chromedp.CSS("#share[open]")))
}
