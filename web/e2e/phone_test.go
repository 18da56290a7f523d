package e2e_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// outOfSight are the px by which a phone would have to scroll for the stage, the sentence and what is
// pressed next to be in sight: 0 once all of them are between the top of the window and the dock, or
// in the dock.
const outOfSight = `(() => {
	const foot = document.querySelector(".foot").getBoundingClientRect().top;
	const apart = (e, to) => { const { top, bottom } = e.getBoundingClientRect(); return Math.round(Math.max(0, -top, bottom - to)); };
	const next = [...document.querySelectorAll("#saved, #choices .move, [data-go=play], #ending .button")].filter((e) => e.checkVisibility());
	return Math.max(...["stage", "sentence"].map((id) => apart(document.getElementById(id), foot)), ...next.map((e) => apart(e, e.closest(".foot") ? innerHeight : foot)));
})()`

// tap presses the middle of an element where it is, and does not scroll there.
func tap(ctx context.Context, t testing.TB, selector string) {
	t.Helper()
	until(ctx, t, fmt.Sprintf("document.querySelector(`%s`)?.checkVisibility() === true", selector))
	at := get[[2]float64](ctx, t, fmt.Sprintf("(({ left, top, width, height }) => [left + width / 2, top + height / 2])(document.querySelector(`%s`).getBoundingClientRect())", selector))
	if height := get[float64](ctx, t, "innerHeight"); at[1] < 0 || at[1] > height {
		t.Fatalf("%s is at %.0f of %.0f px: nobody can tap it", selector, at[1], height)
	}
	do(ctx, t, chromedp.MouseClickXY(at[0], at[1]))
}

// Whatever one does on a phone, also with the page scrolled down to the table, the stage, the
// sentence and what is pressed next are in sight then.
func TestAPhoneKeepsTheStageInSight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width, height int64
		lang          string
	}{{390, 844, "en"}, {360, 740, "zh-CN"}} {
		t.Run(fmt.Sprint(c.width), func(t *testing.T) {
			t.Parallel()
			if c.lang != "en" {
				long(t)
			}
			ctx, url := tab(t), serve(t)
			do(ctx, t, chromedp.EmulateViewport(c.width, c.height, chromedp.EmulateMobile), chromedp.Navigate(url+"/play/lease-expiry?lang="+c.lang))
			until(ctx, t, place+`.endsWith("0 ms")`)
			for _, act := range []struct {
				does string
				by   func()
				done string
			}{
				{"a step", func() { tap(ctx, t, `[data-go="forward"]`) }, stands + ` === "T1"`},
				{"a move", func() { tap(ctx, t, moveOf("B")) }, stands + ` === "T2"`},
				{"a jump in the table", func() { tap(ctx, t, `#row-1 .t`) }, stands + ` === "T1"`},
				{"a fault", func() {
					tap(ctx, t, `[data-option="break"]`)
					tap(ctx, t, `#rail .thread-card:first-of-type .fault`)
				}, `document.querySelectorAll("#branches [aria-pressed]").length > 1`},
				{"a branch", func() { tap(ctx, t, `#branches [aria-pressed="false"]`) }, `document.querySelector("#branches [aria-pressed]").ariaPressed === "true"`},
				{"to play", func() { tap(ctx, t, `[data-go="play"]`) }, `!document.getElementById("saved").hidden`},
				{"to put it in", func() {
					tap(ctx, t, "#saved")
					until(ctx, t, `(document.querySelector("#mended .cure-card [data-variant]")?.click(), !document.getElementById("mender").checkVisibility())`) // before the search is over
				}, `!document.getElementById("mender").checkVisibility() && document.querySelector("#rows [aria-current]") !== null`},
				{"the end", func() { do(ctx, t, chromedp.KeyEvent(kb.End)) }, `document.querySelector('[data-go="end"]').getAttribute("aria-disabled") === "true"`},
			} {
				if act.does != "to put it in" {
					get[any](ctx, t, `scrollTo(0, 400)`)
				}
				act.by()
				until(ctx, t, act.done)
				drawn(ctx, t)
				if px := get[int](ctx, t, outOfSight); px > 0 {
					t.Errorf("%s leads %d px away; the page is scrolled by %d", act.does, px, get[int](ctx, t, "Math.round(scrollY)"))
				}
			}
		})
	}
}

// The faults of a phone are a sheet over the dock, with the stage above it. Escape and what a
// phone goes back with close it, and the focus returns; so does a fault.
func TestAPhonesFaultsAreASheet(t *testing.T) {
	t.Parallel()
	const open, opener = `document.getElementById("rail").matches(":popover-open")`, `[data-option="break"]`
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile), chromedp.Navigate(url+"/play/lease-expiry"))
	at(ctx, t, "at the start")
	tap(ctx, t, opener)
	until(ctx, t, open)
	if got := get[string](ctx, t, `JSON.stringify((({ bottom, left, width }) => [bottom, left, width])(document.getElementById("rail").getBoundingClientRect()))`); got != "[844,0,390]" {
		t.Errorf("it ends at %s", got)
	}
	if !get[bool](ctx, t, `document.getElementById("rail").getBoundingClientRect().top >= document.getElementById("stage").getBoundingClientRect().bottom - 40 && ["threads", "redis"].every((pane) => document.querySelector("[data-pane=" + pane + "]").checkVisibility())`) {
		t.Error("it covers the stage, or has not all that can go wrong")
	}
	for _, found := range findingsIn(ctx, t, "#rail") {
		t.Error(found)
	}
	do(ctx, t, chromedp.KeyEvent(kb.Escape))
	until(ctx, t, `!`+open+` && document.activeElement.matches('`+opener+`')`)
	tap(ctx, t, opener)
	tap(ctx, t, `#rail .thread-card:first-of-type .fault`)
	until(ctx, t, `!`+open+` && document.activeElement.matches('`+opener+`') && document.querySelector("#choices .move").innerText !== ""`)
	if scrolled := get[int](ctx, t, `Math.round(scrollY)`); scrolled != 0 {
		t.Errorf("it has scrolled by %d px", scrolled)
	}
	// On a desk they are a tab.
	do(ctx, t, chromedp.EmulateViewport(1440, 900), click(opener))
	until(ctx, t, `!`+open+` && document.querySelector("[data-pane=threads]").checkVisibility() && document.activeElement.id === "tab-threads"`)
}
