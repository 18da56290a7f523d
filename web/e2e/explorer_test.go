package e2e_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestEveryOrder searches a scenario, opens what breaks it, and walks through the
// space with the keyboard, in each language.
func TestEveryOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lang, ended, option, lost string }{
		{"en", "38 of 53 orders with at most 2 delays and no fault break a rule. All of them were tried.", "30 of 36 break", "from here on every order breaks a rule"},
		{"zh-CN", "53 种顺序全部试过，其中 38 种会违反规则。", "36 种中 30 种违反规则", "从这里往后怎么走都会违反规则"},
	} {
		t.Run(c.lang, func(t *testing.T) {
			t.Parallel()
			ctx, url := tab(t), serve(t)
			do(
				ctx, t,
				chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/lease-expiry?lang="+c.lang),
				chromedp.WaitVisible(chromedp.CSS(moveOf("A"))), click("#explore"),
				chromedp.WaitVisible(chromedp.CSS("#space [data-dot]")),
			)
			if got := get[string](ctx, t, `document.querySelector(".search-ending").innerText`+asRead); !strings.Contains(got, c.ended) {
				t.Errorf("it ended with %q", got)
			}
			until(ctx, t, theMove("A")+`.querySelector(".outlook")?.textContent`+asRead+` === "`+c.option+`"`)

			// The order that breaks the rule is a branch, with a mark from where nobody can avoid
			// that any more.
			do(ctx, t, click(`[data-example="mutual-exclusion"]`))
			until(ctx, t, `document.querySelector("#branch-1")?.getAttribute("aria-pressed") === "true"`)
			until(ctx, t, `document.querySelector("#rows tr[aria-current] [data-lost]")?.dataset.lost === "`+c.lost+`"`)
			until(ctx, t, `document.querySelector('#space [data-dot][aria-current="true"]') !== null`)

			// The arrows go along the picture and step nothing; Enter goes there.
			stood := get[string](ctx, t, place)
			do(ctx, t, chromedp.Focus(chromedp.CSS(`#space [data-dot="0"]`)), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
			if got := get[string](ctx, t, place); got != stood {
				t.Errorf("an arrow in the picture steps from %s to %s", stood, got)
			}
			dot := get[string](ctx, t, `document.activeElement.dataset.dot`)
			do(ctx, t, chromedp.KeyEvent(kb.Enter))
			until(ctx, t, `document.querySelector('#space [data-dot="`+dot+`"]').getAttribute("aria-current") === "true"`)

			// At the width of a phone nothing scrolls sideways but the picture.
			do(ctx, t, chromedp.EmulateViewport(360, 800))
			if over := get[int](ctx, t, `document.documentElement.scrollWidth - window.innerWidth`); over > 0 {
				t.Errorf("the page is %d px wider than a phone", over)
			}
			if got := get[string](ctx, t, problem); got != "" {
				t.Errorf("the page complains: %q", got)
			}
		})
	}
}
