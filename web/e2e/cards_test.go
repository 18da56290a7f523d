package e2e_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// On a phone the table scrolls in its box, beside its first column, and a cell
// opens its example.
func TestReportCardsOnAPhone(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	for _, code := range []string{"en", "zh-CN"} {
		do(ctx, t, chromedp.EmulateViewport(360, 800), chromedp.Navigate(url+"/locks?lang="+code))
		if screens := get[float64](ctx, t, `document.documentElement.scrollHeight / innerHeight`); screens > 7 {
			t.Errorf("%s: %.1f screens before one unfolds anything", code, screens)
		}
		if !get[bool](ctx, t, `(() => {
			for (const d of document.querySelectorAll("details.fold")) d.open = true;
			return document.documentElement.scrollWidth <= innerWidth;
		})()`) {
			t.Errorf("%s: the page scrolls sideways", code)
		}
		for _, table := range []string{"card", "libraries"} {
			if !get[bool](ctx, t, `(() => {
				const box = document.querySelector("#`+table+` .table-scroll");
				const head = box.querySelector("tbody th"), last = box.querySelector("tbody tr:nth-child(2) td:last-child");
				const before = head.getBoundingClientRect().left;
				box.scrollLeft = box.scrollWidth;
				return box.scrollLeft > 100 && head.getBoundingClientRect().left === before && last.getBoundingClientRect().right <= innerWidth;
			})()`) {
				t.Errorf("%s: the table of #%s does not scroll in its box, or its first column goes with it", code, table)
			}
		}
	}
	get[bool](ctx, t, `(document.querySelector("#card a.sign.bad").focus(), true)`)
	do(ctx, t, chromedp.KeyEvent("\r"))
	until(ctx, t, `location.pathname === "/play" && document.querySelector(".violation, .verdict.bad") !== null`)
	if at := get[string](ctx, t, `location.hash`); !strings.HasPrefix(at, "#v1.z.") {
		t.Errorf("opens %q", at)
	}
}

// The table of the locks that people use is narrow enough for a phone, and a count opens the smallest order, in which a rule breaks.
func TestACountOpensItsOrder(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(360, 800), chromedp.Navigate(url+"/locks#libraries"))
	until(ctx, t, `document.getElementById("libraries").checkVisibility()`)
	if !get[bool](ctx, t, `(() => {
		const head = document.querySelector(".libraries tbody th").getBoundingClientRect();
		return head.width < innerWidth / 2 && document.querySelector(".libraries .seen").getBoundingClientRect().height >= 24;
	})()`) {
		t.Error("the first column takes half of the screen, or a count is too low for a finger")
	}
	get[bool](ctx, t, `(document.querySelector('a.seen[href="/traces/redis-py.lose-reply"]').focus(), true)`)
	do(ctx, t, chromedp.KeyEvent("\r"))
	until(ctx, t, `location.pathname === "/traces/redis-py.lose-reply" && document.querySelector("#verdict .bad") !== null`)
	if get[bool](ctx, t, `document.documentElement.scrollWidth > innerWidth`) {
		t.Error("its page scrolls sideways")
	}
}

// The page asks four questions; the answer names a lock, and leads to its page.
func TestWhichLockDoIUse(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(390, 844), chromedp.Navigate(url+"/locks"))
	for _, answer := range []string{"nested=yes", "harm=compares", "redis=one", "wait=few"} {
		name, value, _ := strings.Cut(answer, "=")
		do(ctx, t, click(`#which input[name="`+name+`"][value="`+value+`"]`))
	}
	do(ctx, t, click(`#which button`))
	until(ctx, t, `document.querySelector("#advised code")?.textContent === "fenced" && document.querySelector(".program")?.textContent.includes("lock.Fenced")`)
	if get[bool](ctx, t, `document.documentElement.scrollWidth > innerWidth`) {
		t.Error("the page scrolls sideways")
	}
	do(ctx, t, click(`#advised a`))
	until(ctx, t, `location.pathname === "/locks/fenced" && document.querySelector("#card .report") !== null`)
}
