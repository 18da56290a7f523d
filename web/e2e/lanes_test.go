package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"relock/engine/clock/clocktest"
	"relock/engine/trace"
	"relock/web/film"
	"relock/web/templates"
	"relock/web/words"
)

func TestPointAtTheLanes(t *testing.T) {
	t.Parallel()
	f, err := os.Open(filepath.Join("..", "..", "engine", "run", "testdata", "lease-expiry.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	header, events, err := trace.Read(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	l := film.NewLanes([]string{"A", "B"}, header.Owners, 200)
	for _, e := range events {
		l.Add(e)
	}
	var picture bytes.Buffer
	if err := templates.LanesBox(l.Window(words.English, "p", 0, film.MaxLaneRows)).Render(t.Context(), &picture); err != nil {
		t.Fatal(err)
	}
	html, err := json.Marshal(picture.String())
	if err != nil {
		t.Fatal(err)
	}

	ctx, url := tab(t), serve(t)
	do(
		ctx, t,
		chromedp.EmulateViewport(360, 800),
		chromedp.Navigate(url+"/locks"),
	)
	get[bool](ctx, t, `(document.querySelector("main").innerHTML = `+string(html)+`, window.told = [],
		import("/static/js/lanes.js").then(m => {
			window.lanes = m.lanes(document.querySelector("[data-lanes]"),
				{step: n => told.push("step " + n), preview: n => told.push("preview " + n)});
		}), true)`)
	until(ctx, t, `window.lanes !== undefined`)
	get[bool](ctx, t, `(() => {
		const hit = document.querySelector('[data-step="2"]');
		for (const screenX of [10, 10, 11]) { // it moves once
			hit.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, pointerType: "mouse", screenX}));
		}
		hit.dispatchEvent(new MouseEvent("click", {bubbles: true}));
		document.querySelector("[data-lanes]").dispatchEvent(new PointerEvent("pointerleave"));
		return true;
	})()`)
	if got, want := get[[]string](ctx, t, `told`), []string{"preview 2", "step 2", "preview null"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	get[bool](ctx, t, `(lanes.cursor(9), lanes.preview(8), true)`)
	until(ctx, t, `(() => {
		const box = document.querySelector("[data-lanes]").getBoundingClientRect();
		const line = document.querySelector("[data-cursor] line").getBoundingClientRect();
		return line.left > box.left && line.right < box.right;
	})()`)
	if !get[bool](ctx, t, `document.querySelector("[data-step='8']").matches(".preview") && document.documentElement.scrollWidth <= innerWidth`) {
		t.Error("step 8 is not marked, or the page scrolls sideways")
	}
	get[bool](ctx, t, `(lanes.cursor(null), lanes.preview(null), true)`)
	if !get[bool](ctx, t, `parseFloat(document.querySelector("[data-cursor]").getAttribute("x")) < 5 && document.querySelector(".preview") === null`) {
		t.Error("the cursor does not stand at the start, or the mark stays")
	}

	// The same run from its second step on.
	picture.Reset()
	if err := templates.Lanes(l.Window(words.English, "p", 1, film.MaxLaneRows)).Render(t.Context(), &picture); err != nil {
		t.Fatal(err)
	}
	if html, err = json.Marshal(picture.String()); err != nil {
		t.Fatal(err)
	}
	if by := get[float64](ctx, t, `(() => {
		const place = () => document.querySelector("[data-step='9']").getBoundingClientRect().left;
		document.querySelector("[data-lanes]").scrollTo({left: 130, behavior: "instant"});
		const before = place();
		lanes.draw(`+string(html)+`);
		return Math.abs(place() - before);
	})()`); by > 1 {
		t.Errorf("what is seen moves by %.1f px when the picture begins elsewhere", by)
	}
	if get[bool](ctx, t, `lanes.around(10, 11) || !lanes.around(10, 10) || lanes.around(9, 10)`) {
		t.Error("what is around a step is not what is in the picture")
	}
}

// longWait is a scenario in which B asks after 10 ms, and nothing happens then
// until 160 ms.
const longWait = `
title: A long wait
lock: {protocol: reentrant, key: K, lease: 200ms, watchdog: off, retry: {times: 5, interval: 150ms}}
threads: [{name: A, work: 300ms}, {name: B, start: 10ms}]
seed: 1
`

// In a live run time goes by between two events: the clock moves, a hold lasts
// and the lease falls, to scale. A visitor who wants no motion sees none, and the figures
// all the same.
func TestTimedLiveRunGoesOnBetweenItsEvents(t *testing.T) {
	const moved = `(() => {
		const lease = document.querySelector("[data-drain] .lane-edge")?.getAttribute("d") ?? "";
		return [document.querySelector("[data-cursor]").getAttribute("x"), document.querySelector(".lane-bar[data-open]")?.getAttribute("width") ?? "", lease, document.getElementById("rows").children.length].join(" ");
	})()`
	for name, c := range map[string]struct {
		preference string
		figures    int // that change while nothing happens: in calm every 5 s
	}{"moves": {"no-preference", 2}, "calm": {"reduce", 1}} {
		t.Run(name, func(t *testing.T) {
			clocktest.Punctual(t, liveLease, func(t testing.TB) {
				ctx, url := tab(t), serve(t)
				motion := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: c.preference}}}
				if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, motion); err != nil {
					t.Fatal(err)
				}
				do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/edit"), chromedp.SetValue(chromedp.CSS(`#yaml`), longWait), click(`input[name="store"][value="wall"]`))
				get[any](ctx, t, `document.querySelector('[name="slow"]').value = "100"`)
				do(ctx, t, click(`#scenario button[value="run"]`), chromedp.WaitVisible(chromedp.CSS(".run")))
				until(ctx, t, `document.getElementById("row-2") !== null && document.querySelector(".lane-bar[data-open]") !== null`)
				before := get[string](ctx, t, moved)
				for range c.figures {
					until(ctx, t, place+` !== `+strconv.Quote(get[string](ctx, t, place)))
				}
				switch after := get[string](ctx, t, moved); {
				case name == "calm" && after != before:
					t.Errorf("before %s, after %s", before, after)
				case name == "moves":
					was, is := strings.Fields(before), strings.Fields(after)
					if was[len(was)-1] != is[len(is)-1] {
						t.Fatalf("another row has come: before %s, after %s", before, after)
					}
					if was[0] == is[0] {
						t.Errorf("the clock does not move: %s", after)
					}
					until(ctx, t, `(() => { const now = `+moved+`.split(" "); return now[1] !== `+strconv.Quote(was[1])+` && now.join(" ") !== `+strconv.Quote(before)+`; })()`)
				}
				if get[bool](ctx, t, `document.documentElement.scrollWidth > innerWidth`) {
					t.Error("the page scrolls sideways")
				}
			})
		})
	}
}

// manyTries is a scenario in which B asks so often that its picture gets wider
// than any window.
const manyTries = `
title: Many tries
lock: {protocol: reentrant, key: K, lease: 10s, watchdog: off, retry: {times: 40, interval: 50ms}}
threads: [{name: A, work: 2s}, {name: B, start: 10ms}]
seed: 1
`

// The clock of a live run is in sight at every moment, however fast rows come and
// however long none does.
func TestTimedLanesFollowALiveRun(t *testing.T) {
	for name, c := range map[string]struct{ yaml, slow string }{
		"many rows":   {manyTries, "10"}, // for so long that a busy machine opens the page before its end
		"slow motion": {longWait, "30"},
	} {
		t.Run(name, func(t *testing.T) {
			clocktest.Punctual(t, liveLease, func(t testing.TB) {
				ctx, url := tab(t), serve(t)
				do(ctx, t, chromedp.EmulateViewport(700, 900), chromedp.Navigate(url+"/edit"), chromedp.SetValue(chromedp.CSS(`#yaml`), c.yaml), click(`input[name="store"][value="wall"]`))
				get[any](ctx, t, `document.querySelector('[name="slow"]').value = `+strconv.Quote(c.slow))
				do(ctx, t, click(`#scenario button[value="run"]`), chromedp.WaitVisible(chromedp.CSS(".run")))
				get[bool](ctx, t, `(() => {
					const box = document.querySelector("[data-lanes]");
					window.seen = { looks: 0, lost: 0, far: 0, where: "" };
					const look = () => {
						const line = document.querySelector("[data-cursor]")?.getBoundingClientRect();
						if (line?.width) {
							const frame = box.getBoundingClientRect();
							seen.looks++;
							const middle = (line.left + line.right) / 2;
							if (middle < frame.left || middle > frame.right) {
								seen.lost++;
								seen.where += [middle - frame.left, frame.width, document.getElementById("rows").children.length].map(Math.round).join(" ") + "; ";
							}
							seen.far = Math.max(seen.far, box.scrollLeft);
						}
						if (document.querySelector(".run").dataset.ended !== "true") {
							setTimeout(look, 30);
						}
					};
					look();
					return true;
				})()`)
				until(ctx, t, `seen.looks >= 20 && seen.far >= 100 || document.querySelector(".run").dataset.ended === "true"`)
				seen := get[struct {
					Looks, Lost, Far float64
					Where            string
				}](ctx, t, `seen`)
				if seen.Looks < 2 || seen.Far < 100 || seen.Lost > 0 {
					t.Errorf("of %v looks %v did not see the clock, and the lanes were scrolled by %v px at most: %s", seen.Looks, seen.Lost, seen.Far, seen.Where)
				}
			})
		})
	}
}

// At T1 one sees, in outline, what is settled; in a lesson's question nothing of it is
// on the page.
func TestWhatIsSettledIsInTheLanes(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1366, 768), chromedp.Navigate(url+"/play/lease-expiry"))
	until(ctx, t, `document.querySelector('.lane-plan[data-mark="plan-start"]') !== null`)
	do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
	until(ctx, t, `document.querySelector('.lane-plan[data-mark="plan-work"]') !== null && document.querySelector(".lane-plan-lease") !== null`)
	if got := get[string](ctx, t, `[...document.querySelectorAll("text.lane-plan")].map((e) => e.textContent).join(" ")`); !strings.HasSuffix(got, "200 300") {
		t.Errorf("their times: %q", got)
	}
	do(ctx, t, chromedp.Navigate(url+"/learn/trouble/last-one"))
	until(ctx, t, `document.readyState === "complete"`)
	if n := get[int](ctx, t, `document.querySelectorAll(".lane-plan").length`); n != 0 {
		t.Errorf("%d plans while something is asked", n)
	}
}

// In a narrow box the lanes go along with the clock: it is clear of the names, and there is
// room for what comes, wherever the plans behind it end.
func TestInANarrowBoxTheLanesGoAlong(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(390, 844), chromedp.Navigate(url+"/play/textbook"), chromedp.WaitVisible(chromedp.CSS(`#choices .move`)))
	for n := 1; n <= 9; n++ {
		do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
		until(ctx, t, fmt.Sprintf(`%s.includes("T%d ") && (() => {
			const box = document.querySelector(".lanes-box"), all = box.getBoundingClientRect(), names = box.querySelector(".lanes-names").getBoundingClientRect().right;
			const now = box.querySelector("[data-cursor]").getBoundingClientRect().left, end = box.scrollLeft + box.clientWidth >= box.scrollWidth - 1;
			return now > names && now < all.right && (end || now <= all.right - (all.right - names) / 3 + 1);
		})()`, place, n))
	}
}

// Of a text in the lanes nobody sees a part: "3,500" is not 500.
func TestTheNamesCoverNoPartOfANumber(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/incidents/tuf-151"))
	until(ctx, t, `document.querySelector(".lanes-box").scrollLeft > 0 && document.querySelectorAll(".lanes-run .lane-at").length > 5`)
	for _, to := range []int{60, 80, 100, 120, 140} {
		do(ctx, t, chromedp.Evaluate[chromedp.Void](`document.querySelector(".lanes-box").scrollTo({ left: `+strconv.Itoa(to)+`, behavior: "instant" }); undefined`))
		until(ctx, t, `[...document.querySelectorAll('.lanes-run text[x$="%"]')].every((e) => {
			const { left, right } = e.getBoundingClientRect(), edge = document.querySelector(".lanes-names").getBoundingClientRect().right;
			return getComputedStyle(e).visibility === "hidden" || left > edge - 2 || right < edge;
		})`)
	}
}
