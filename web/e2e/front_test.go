package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	playButton = `document.querySelector('[data-go="play"]').innerText.trim()`
	cause      = `(document.getElementById("cause").hidden ? "" : document.getElementById("cause").innerText)`
	previewing = `document.getElementById("viewer").classList.contains("previewing")`

	// pageRests tells whether the page stands where it stood when this was asked last.
	pageRests = `(() => { const was = window.stood; window.stood = scrollY; return was === scrollY; })()`

	// watched counts from here on, while a film runs, the moves of the mouse over
	// the film and the previews.
	watched = `(() => {
		window.seen = { moves: 0, previews: 0 };
		const runs = () => ` + playButton + ` === "Pause";
		document.getElementById("viewer").addEventListener("pointermove", () => { seen.moves += runs() ? 1 : 0; });
		new MutationObserver(() => { seen.previews += runs() && ` + previewing + ` ? 1 : 0; })
			.observe(document.getElementById("viewer"), { attributeFilter: ["class"] });
		return true;
	})()`
)

// showing tells whether the page of a film that is all in it shows a row on the stage and
// in the sentence, and none other.
func showing(step int) string {
	return fmt.Sprintf(`((row) => {
		const flat = (text) => text.replace(/\s+/g, " ").trim();
		const says = [...document.querySelectorAll("#stage [data-slot=says]")].map((e) => e.textContent);
		return flat(document.getElementById("why").textContent) === flat(row.why) && [...row.stage.beliefs, row.stage.card].every((one, i) => one.says === says[i]) &&
			document.querySelector("#stage .redis [data-slot=left]").textContent === (row.stage.card.left ?? "");
	})(JSON.parse(document.getElementById("film").textContent).rows[%d])`, step-1)
}

// wholeInSight tells whether all of an element is seen, above what stays at the bottom.
func wholeInSight(id string) string {
	return fmt.Sprintf(`(() => {
		const { top, bottom, height } = document.getElementById(%q).getBoundingClientRect();
		return height > 0 && top >= 0 && bottom <= document.querySelector(".foot").getBoundingClientRect().top;
	})()`, id)
}

// point moves the mouse onto the middle of an element, from beside it.
func point(ctx context.Context, t testing.TB, selector string) {
	t.Helper()
	name, err := json.Marshal(selector)
	if err != nil {
		t.Fatal(err)
	}
	to, err := chromedp.Run(ctx, chromedp.Evaluate[[2]float64](fmt.Sprintf(whereItRests, name), chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal("point at ", selector, ": ", err)
	}
	do(ctx, t, chromedp.MouseEvent("mouseMoved", to[0]-2, to[1]), chromedp.MouseEvent("mouseMoved", to[0], to[1]))
}

// played runs a bundled scenario, and returns its page's address.
func played(t testing.TB, server, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../lessons/scenarios/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return started(t, server, string(text))
}

// Two presses lead to the broken rule, by one's own hand and with the mouse at rest
// on the button, which stays where it is; at the end it leads to what mends it.
func TestTheFrontPageGoesByHand(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	sizes := [][2]int64{{1366, 768}, {390, 844}}
	if !testing.Short() {
		sizes = append(sizes, [][2]int64{{1440, 900}, {1920, 1080}}...)
	}
	const place = `JSON.stringify((({left, top, width}) => ({left, top, width}))(document.getElementById("go").getBoundingClientRect()))`
	for _, size := range sizes {
		do(ctx, t, chromedp.EmulateViewport(size[0], size[1]), chromedp.Navigate("about:blank"), chromedp.Navigate(url+"/"))
		until(ctx, t, `document.querySelectorAll("#dots .on").length === 1`)
		point(ctx, t, "#go")
		was := get[string](ctx, t, place)
		for i, want := range []string{"Let 95 ms pass", "B asks again", "B writes and leaves", "A wakes up and writes", "What would have saved it?"} {
			if got := get[string](ctx, t, `document.getElementById("go").innerText`+asRead); got != want+" →" {
				t.Errorf("%d px wide, after %d presses the button says %q", size[0], i, got)
			}
			if now := get[string](ctx, t, place); now != was {
				t.Errorf("%d px wide, after %d presses the button is at %s, not %s", size[0], i, now, was)
			}
			if broken := get[bool](ctx, t, `document.getElementById("stage").classList.contains("broken")`); broken != (i == 2 || i == 4) {
				t.Errorf("%d px wide, after %d presses a rule is broken: %v", size[0], i, broken)
			}
			if i < 4 {
				do(ctx, t, click("#go"))
				until(ctx, t, fmt.Sprintf(`document.querySelectorAll("#dots .on").length === %d`, i+2))
			}
		}
		if got := get[string](ctx, t, why); !strings.HasPrefix(got, "A has written 1 over a write of B") {
			t.Errorf("%d px wide, at the end: it says %q", size[0], got)
		}
		if got := get[int](ctx, t, `[...document.querySelectorAll(":is(.top, main) :is(a, button, input, select, summary)")].filter((e) => e.checkVisibility({visibilityProperty: true}) && (({right, bottom}) => right > 1 && bottom <= innerHeight)(e.getBoundingClientRect())).length`); got > 14 {
			t.Errorf("%d px wide: %d controls are in sight", size[0], got)
		}
	}
	do(ctx, t, click("#go"))
	until(ctx, t, `location.pathname === "/play/late-write-without-a-token" && document.getElementById("mender")?.hidden === false`)
	until(ctx, t, `document.getElementById("place").textContent.includes("T10")`) // the moment that it was shown
}

// A visitor who presses Play, and leaves the mouse there, reads why at the first broken
// rule, where the film stops; goes on with a press; and reads the cause at the end.
func TestPlayStopsAtWhatGoesWrong(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	page := played(t, url, "late-write-without-a-token")
	sizes := [][2]int64{{1366, 768}} // the lowest
	if !testing.Short() {
		sizes = append(sizes, [][2]int64{{1280, 800}, {1440, 900}, {1920, 1080}}...)
	}
	for _, size := range sizes {
		do(ctx, t, chromedp.EmulateViewport(size[0], size[1]), chromedp.Navigate("about:blank"), chromedp.Navigate(page))
		at(ctx, t, "11 of 11")
		do(ctx, t, chromedp.KeyEvent(kb.Home))
		at(ctx, t, "0 of 11")
		get[bool](ctx, t, watched)
		do(ctx, t, chromedp.SetValue(chromedp.CSS("#speed"), "400"))
		point(ctx, t, `[data-go="play"]`)
		do(ctx, t, click(`[data-go="play"]`))

		stops := func(row int, reason string) {
			t.Helper()
			where := fmt.Sprintf("%[1]d of 11 · T%[1]d", row)
			at(ctx, t, where)
			until(ctx, t, playButton+` === "Go on"`)
			until(ctx, t, pageRests)
			if got := get[string](ctx, t, why); !strings.HasPrefix(got, reason) {
				t.Errorf("%d px wide, at %s: it says %q", size[0], where, got)
			}
			if !get[bool](ctx, t, showing(row)) || get[bool](ctx, t, previewing) {
				t.Errorf("%d px wide, at %s: the stage is not that of the row", size[0], where)
			}
			if !get[bool](ctx, t, wholeInSight("why")) {
				t.Errorf("%d px wide, at %s: the reason is out of sight", size[0], where)
			}
		}
		stops(8, "A and B are inside at once")
		if n := get[int](ctx, t, `seen.previews`); n > 0 {
			t.Errorf("%d px wide: %d previews under a mouse that rests", size[0], n)
		}
		do(ctx, t, click(`[data-go="play"]`))
		stops(10, "A has written 1 over a write of B")
		do(ctx, t, click(`[data-go="play"]`))
		at(ctx, t, "11 of 11 · T11")
		until(ctx, t, playButton+` === "Play"`)
		if got, want := get[string](ctx, t, cause), "T8. two inside at once: A and B are inside at once"; !strings.HasPrefix(got, want) {
			t.Errorf("%d px wide, at the end: the cause is %q", size[0], got)
		}
		if !get[bool](ctx, t, wholeInSight("cause")) {
			t.Errorf("%d px wide, at the end: the cause is out of sight", size[0])
		}
		do(ctx, t, click("#cause button"))
		at(ctx, t, "8 of 11 · T8")
		until(ctx, t, cause+` === ""`)
	}
}

// The mouse previews a step where it moves, but not while a film runs; the keyboard's
// focus does not.
func TestTheMousePreviewsWhileNoFilmRuns(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(played(t, url, "late-write-without-a-token")))
	at(ctx, t, "11 of 11")
	do(ctx, t, toTheStart)
	at(ctx, t, "0 of 11")
	get[bool](ctx, t, watched)
	lane := func(step int) string { return fmt.Sprintf(".lane-hit[data-step='%d']", step) }
	shows := func(step int) {
		t.Helper()
		until(ctx, t, previewing+` && `+showing(step))
	}

	do(ctx, t, chromedp.SetValue(chromedp.CSS("#speed"), "4000"), click(`[data-go="play"]`))
	at(ctx, t, "1 of 11")
	for n := range 4 {
		point(ctx, t, lane(3+n))
	}
	point(ctx, t, "#row-1 .time")
	if seen := get[struct{ Moves, Previews int }](ctx, t, `seen`); seen.Moves == 0 || seen.Previews > 0 {
		t.Errorf("while the film ran: %d previews at %d moves", seen.Previews, seen.Moves)
	}
	do(ctx, t, toTheStart)
	until(ctx, t, playButton+` === "Play"`)

	point(ctx, t, lane(3))
	shows(3)
	point(ctx, t, "#row-7 .time")
	shows(7)
	do(ctx, t, chromedp.KeyEvent("k"))
	until(ctx, t, playButton+` === "Pause" && !`+previewing)
	do(ctx, t, chromedp.KeyEvent("k"))
	until(ctx, t, playButton+` === "Play"`)
	get[bool](ctx, t, `(document.getElementById("scroll").scrollBy(0, 60), scrollBy(0, 60), true)`) // under the mouse
	until(ctx, t, pageRests)
	if get[bool](ctx, t, previewing) {
		t.Error("a preview under a mouse that rests")
	}
	point(ctx, t, lane(5))
	shows(5)
	point(ctx, t, "#verdict")
	until(ctx, t, `!`+previewing)

	do(ctx, t, chromedp.Focus(chromedp.CSS("#row-9 .t")))
	drawn(ctx, t)
	if get[bool](ctx, t, previewing) {
		t.Error("a preview where the focus is")
	}
	do(ctx, t, chromedp.KeyEvent(kb.Home))
	at(ctx, t, "0 of 11")
}
