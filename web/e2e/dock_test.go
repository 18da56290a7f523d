package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Three clients that ask three nodes at once have a box each, with a button for each node, and
// all of it is in sight.
func TestNodesAskedAtOnceShareABox(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	stepping(ctx, t, url, "lock: {protocol: redsync, nodes: 3, lease: 300ms, watchdog: off}\nthreads: [{name: A, work: 50ms}, {name: B, work: 50ms}, {name: C, work: 50ms}]")
	do(ctx, t, chromedp.EmulateViewport(1366, 768))
	for _, thread := range []string{"A", "B", "C"} {
		do(ctx, t, click(moveOf(thread)))
		until(ctx, t, fmt.Sprintf(`document.querySelectorAll('#choices [data-option^="%s true false "]').length === 3`, thread))
	}
	const boxes = `[...document.querySelectorAll("#choices > li")].map((li) => li.innerText.replace(/\s+/g, " ").trim())`
	if got, want := fmt.Sprintf("%q", get[[]string](ctx, t, boxes)), `["A asks nodes SET 1 2 3" "B asks nodes SET 1 2 3" "C asks nodes SET 1 2 3" "Let time pass`; !strings.HasPrefix(got, want) {
		t.Errorf("the dock has %s, want %s", got, want)
	}
	if over := get[float64](ctx, t, `((list) => list.scrollWidth - list.clientWidth)(document.getElementById("choices"))`); over > 0 {
		t.Errorf("the dock scrolls by %v px", over)
	}
	if got := get[string](ctx, t, `document.querySelector('#choices [data-option="B true false 2"]').ariaLabel`); got != "B asks node 2, SET" {
		t.Errorf("a node's button is read out as %q", got)
	}
	if got := get[string](ctx, t, `document.getElementById("coming").innerText.replace(/\s+/g, " ").trim()`); !strings.Contains(got, "asks nodes 1, 2, 3 SET") {
		t.Errorf("the next row says %q", got)
	}
}

// The row below the last says in each column what comes, as the dock does; a press makes the
// move. It is there only where nothing has come yet.
func TestTheNextRowSaysWhatComes(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	const coming = `[...document.querySelectorAll("#coming td")].map((td) => td.innerText.replace(/\s+/g, " ").trim() + (td.matches(".can") ? " *" : "")).join(" | ")`
	do(ctx, t, chromedp.EmulateViewport(1366, 768), chromedp.Navigate(url+"/play/textbook"))
	at(ctx, t, "at the start")
	for n := 1; n <= 2; n++ {
		do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
		at(ctx, t, fmt.Sprintf("%d of %d", n, n))
	}
	if got, want := get[string](ctx, t, coming), "next | ends its work at 80 ms · lock, level 2 | asks again at 50 ms · 1 of 5 * | lease ends at 200 ms"; got != want {
		t.Errorf("next is %q, want %q", got, want)
	}
	if !get[bool](ctx, t, `document.getElementById("coming").ariaHidden === "true" && document.querySelector("#coming .can").checkVisibility()`) {
		t.Error("it is read out, or cannot be seen")
	}
	do(ctx, t, click("#coming td.can"))
	at(ctx, t, "3 of 3 · T3 · 50 ms")
	do(ctx, t, chromedp.KeyEvent(kb.ArrowLeft))
	at(ctx, t, "2 of 3")
	if got := get[string](ctx, t, coming); got != "" {
		t.Errorf("before what has come: %q", got)
	}
	do(ctx, t, chromedp.KeyEvent(kb.End))
	until(ctx, t, `document.querySelector('[data-go="end"]').getAttribute("aria-disabled") === "true"`)
	if got := get[string](ctx, t, coming); got != "" {
		t.Errorf("at the end: %q", got)
	}
	do(ctx, t, chromedp.KeyEvent(kb.Home), click(`[data-option="break"]`))
	do(ctx, t, chromedp.EmulateViewport(390, 844), chromedp.Navigate("about:blank"), chromedp.Navigate(url+"/play/textbook"))
	at(ctx, t, "at the start")
	if get[bool](ctx, t, `document.getElementById("coming").checkVisibility()`) {
		t.Error("it is on the phone")
	}
}

// While a question waits for its votes, nothing on the host's page has what comes next.
func TestNoNextRowWhileAQuestionIsOpen(t *testing.T) {
	t.Parallel()
	host, _ := makeRoom(t, serve(t), "lease-expiry")
	do(host, t, chromedp.KeyEvent(kb.ArrowRight))
	until(host, t, stands+` === "T1" && document.querySelector("#coming td.can") !== null`)
	do(host, t, chromedp.KeyEvent("a"))
	until(host, t, `document.body.classList.contains("asking") && document.querySelector("#coming td") === null`)
}
