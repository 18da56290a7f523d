package e2e_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// inTable are the rows of the table that are in sight or could be scrolled there.
const inTable = `[...document.querySelectorAll("#rows tr")].filter((tr) => tr.checkVisibility()).map((tr) => tr.querySelector(".t, .steps").textContent + (tr.hasAttribute("aria-current") ? "!" : "")).join(" ")`

// Rows in turn that say no more than one are one, until you press it or go inside.
func TestRowsInTurnAreFolded(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(played(t, url, "late-write-without-a-token")))
	at(ctx, t, "11 of 11")
	shows := func(want string) {
		t.Helper()
		until(ctx, t, inTable+` === "`+want+`"`)
	}
	shows("T1 T2–T6 T7 T8 T9 T10 T11!")
	for _, want := range []string{"5 refusals of B", "T2–T6", "95 → 15 ms"} {
		if !get[bool](ctx, t, `document.querySelector("#rows .fold:not([hidden])").textContent`+asRead+`.includes("`+want+`")`) {
			t.Errorf("the fold does not say %q", want)
		}
	}
	do(ctx, t, chromedp.Focus(chromedp.CSS("#rows .fold:not([hidden]) .unfold")), chromedp.KeyEvent(kb.Enter))
	shows("T1 T2–T6 T2 T3 T4 T5 T6 T7 T8 T9 T10 T11!")
	until(ctx, t, `document.querySelector("#rows .fold:not([hidden]) .unfold").getAttribute("aria-expanded") === "true"`)
	do(ctx, t, chromedp.KeyEvent(kb.Enter))
	shows("T1 T2–T6 T7 T8 T9 T10 T11!")
	for range 5 {
		do(ctx, t, chromedp.KeyEvent(kb.ArrowLeft))
	}
	shows("T1 T2 T3 T4 T5 T6! T7 T8 T9 T10 T11")
	do(ctx, t, chromedp.KeyEvent("e"))
	shows("T1 T2–T6 T7 T8! T9 T10 T11")
	if got := get[int](ctx, t, `document.querySelectorAll("#scroll :is([tabindex='0'], a:not([tabindex]), button:not([tabindex]), summary:not([tabindex]))").length + (document.getElementById("scroll").tabIndex >= 0 ? 1 : 0)`); got != 1 {
		t.Errorf("the table has %d tab stops", got)
	}
	// With the arrows one goes from row to row, and with Enter there.
	do(ctx, t, chromedp.Focus(chromedp.CSS("#row-8 .t")), chromedp.KeyEvent(kb.ArrowUp+kb.ArrowUp+kb.ArrowUp+kb.Enter))
	at(ctx, t, "1 of 11")
	// A link to one of its rows opens it.
	get[bool](ctx, t, `(location.hash = "#row-4", true)`)
	shows("T1! T2–T6 T2 T3 T4 T5 T6 T7 T8 T9 T10 T11")
}

// The last row of a run that goes on is no part of a fold: it may be more than those
// before it.
func TestTheLastRowIsNotFolded(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/late-write-without-a-token"))
	at(ctx, t, "at the start")
	for n, want := range []string{"T1!", "T1 T2!", "T1 T2 T3!", "T1 T2–T3 T4!", "T1 T2–T4 T5!"} {
		do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
		at(ctx, t, fmt.Sprintf("%d of %d", n+1, n+1))
		until(ctx, t, inTable+` === "`+want+`"`)
	}
}

// Texts and buttons keep their place on a phone, too: over a whole run the sentence, the dock
// and the button to play do not move. The page scrolls there, and the dock does not.
func TestNothingMovesOverARunOnAPhone(t *testing.T) {
	t.Parallel()
	const places = `JSON.stringify([...document.querySelectorAll(".sentence, .foot, [data-go=play], #saved")].filter((e) => e.checkVisibility()).map((e) => {
		const { top, left } = e.getBoundingClientRect();
		const scrolls = e.closest(".foot") ? 0 : scrollY;
		return (e.id || e.className || e.dataset.go) .split(" ")[0] + " " + Math.round(left) + " " + Math.round(top + scrolls);
	}).sort())`
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(390, 844))
	for _, name := range []string{"late-write-without-a-token", "fair"} {
		do(ctx, t, chromedp.Navigate("about:blank"), chromedp.Navigate(url+"/play/"+name))
		until(ctx, t, place+` !== ""`)
		do(ctx, t, chromedp.KeyEvent(kb.End))
		until(ctx, t, `document.querySelector('[data-go="end"]').getAttribute("aria-disabled") === "true"`)
		do(ctx, t, chromedp.KeyEvent(kb.Home))
		last := get[int](ctx, t, `Number(/of (\d+)/.exec(`+place+`)[1])`)
		seen := map[string]string{} // by what it is
		for n := range last {       // at the end another row of buttons takes its place
			at(ctx, t, fmt.Sprintf("%d of %d", n, last))
			for _, one := range get[[]string](ctx, t, "JSON.parse("+places+")") {
				var what, left, top string
				if _, err := fmt.Sscan(one, &what, &left, &top); err != nil {
					t.Fatalf("%q: %v", one, err)
				}
				if was, ok := seen[what]; ok && was != left+" "+top {
					t.Errorf("%s: at T%d the %s is at %s %s, before at %s", name, n, what, left, top, was)
				}
				seen[what] = left + " " + top
			}
			do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
		}
		if len(seen) < 3 {
			t.Errorf("%s: only %v is in sight", name, seen)
		}
	}
}

// The keys of the help do what that says; those that open a dialog are tested with it.
func TestEachKeyWorks(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/late-write-without-a-token"))
	at(ctx, t, "at the start")
	const stands = place + `.startsWith("%s")`
	for _, c := range []struct{ key, then string }{
		{kb.End, fmt.Sprintf(stands, "11 of 11")},
		{kb.Home, fmt.Sprintf(stands, "0 of 11")},
		{"n", fmt.Sprintf(stands, "1 of 11")},
		{kb.ArrowRight, fmt.Sprintf(stands, "2 of 11")},
		{kb.PageDown, fmt.Sprintf(stands, "3 of 11")},
		{kb.ArrowLeft, fmt.Sprintf(stands, "2 of 11")},
		{kb.PageUp, fmt.Sprintf(stands, "1 of 11")},
		{"e", fmt.Sprintf(stands, "8 of 11")},
		{"i", place + `.includes("T8.1")`},
		{"o", place + `.includes("T8 ")`},
		{"v", `document.getElementById("lanes-card").hidden`},
		{"v", `!document.getElementById("lanes-card").hidden`},
		{"+", `document.getElementById("speed").selectedIndex === 3`},
		{"-", `document.getElementById("speed").selectedIndex === 2`},
		{"-", `document.getElementById("speed").selectedIndex === 1`}, // slow, so that it still plays when it is to pause
		{kb.Home, fmt.Sprintf(stands, "0 of 11")},
		{"k", `document.querySelector("[data-go=play]").textContent.trim() === "Pause"`},
		{".", `document.querySelector("[data-go=play]").textContent.trim() !== "Pause"`},
		{" ", `document.querySelector("[data-go=play]").textContent.trim() === "Pause"`},
		{" ", `document.querySelector("[data-go=play]").textContent.trim() !== "Pause"`},
		{"f", `document.documentElement.dataset.theme === "stage"`},
		{"t", `"tools" in document.documentElement.dataset`},
		{"t", `!("tools" in document.documentElement.dataset)`},
		{"f", `document.documentElement.dataset.theme !== "stage"`},
		{kb.Home, fmt.Sprintf(stands, "0 of 11")},
		{"1", fmt.Sprintf(stands, "1 of")},
		{"x1", `document.body.innerText.includes("pause")`},
		{"u", place + ` !== ""`},
		{kb.End, `document.querySelector('[data-go="end"]').getAttribute("aria-disabled") === "true"`},
		{"w", place + ` !== ""`},
		{"b", place + ` !== ""`},
		{"d", `document.querySelector("#compared table") !== null`},
	} {
		do(ctx, t, chromedp.KeyEvent(c.key))
		until(ctx, t, c.then)
	}
}

// A long run has lanes of the rows around where one stands: who drags the clock to their
// edge goes on, to the last row and back to the first.
func TestADragReachesEachRow(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	address := started(t, url, "lock: {protocol: reentrant, lease: 200ms, retry: {times: 100, interval: 25ms}}\nthreads: [{name: A}, {name: B}]\ndefaults: {repeat: 25, work: 10ms}\n")
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(address))
	until(ctx, t, place+` !== ""`)
	last := get[int](ctx, t, `Number(/of (\d+)/.exec(`+place+`)[1])`)
	if last < 110 {
		t.Fatalf("%d rows are all in one picture", last)
	}
	do(ctx, t, chromedp.KeyEvent(kb.Home))
	at(ctx, t, fmt.Sprintf("0 of %d", last))
	get[bool](ctx, t, `(window.drag = (kind, x) => {
		const to = kind === "pointerdown" ? document.querySelector("[data-clock]") : window;
		to.dispatchEvent(new PointerEvent(kind, {bubbles: true, pointerId: 7, pointerType: "mouse", button: 0, clientX: x}));
	}, true)`)
	get[bool](ctx, t, `(drag("pointerdown", 400), drag("pointermove", document.querySelector("[data-lanes]").getBoundingClientRect().right - 5), true)`)
	at(ctx, t, fmt.Sprintf("%d of %d", last, last))
	get[bool](ctx, t, `(drag("pointermove", document.querySelector("[data-lanes]").getBoundingClientRect().left + 5), true)`)
	at(ctx, t, fmt.Sprintf("1 of %d", last))
	get[bool](ctx, t, `(drag("pointerup", 0), true)`)
	if got := get[string](ctx, t, `document.querySelector("[data-clock]").getAttribute("aria-valuetext")`+asRead); got != "T1, 0 ms" {
		t.Errorf("the clock says %q", got)
	}
}
