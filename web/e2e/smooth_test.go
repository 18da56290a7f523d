package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// inTurn is a scenario of two threads that take turns, so often each.
const inTurn = `
title: In turn
lock: {protocol: reentrant, key: SMOOTH, lease: 200ms, retry: {times: 100, interval: 60ms}}
threads: [{name: A}, {name: B, start: 5ms}]
defaults: {depth: 1, repeat: %d, work: 40ms}
`

// fewRows and manyRows run for about five rows, and for about fifty.
var (
	fewRows  = fmt.Sprintf(inTurn, 1)
	manyRows = fmt.Sprintf(inTurn, 11)
)

// hands are what a person does on the page of a run, as scripts that do it for the n-th
// time.
var hands = map[string]string{
	"steps": `(n) => document.body.dispatchEvent(new KeyboardEvent("keydown", {key: n % 10 < 5 ? "ArrowLeft" : "ArrowRight", bubbles: true}))`,
	"points": `(n) => {
		const steps = document.querySelectorAll("[data-lanes] [data-step]");
		steps[n % steps.length].dispatchEvent(new PointerEvent("pointermove", {pointerType: "mouse", pointerId: 1, screenX: n + 1, screenY: 1, bubbles: true}));
	}`,
	"drags": `(() => {
		const box = document.querySelector("[data-lanes]"), run = box.querySelector(".lanes-run").getBoundingClientRect();
		const wide = Math.min(run.width, box.clientWidth), by = {pointerType: "mouse", pointerId: 1, button: 0, bubbles: true};
		box.querySelector("[data-clock]").dispatchEvent(new PointerEvent("pointerdown", {...by, clientX: run.right}));
		return (n) => dispatchEvent(new PointerEvent("pointermove", {...by, clientX: run.left + wide * (1 - (n % 40) / 40), screenX: n + 1, screenY: 1}));
	})()`,
}

// driving does something so often between any two frames, and tells how far apart the
// frames were, in ms.
const driving = `((act, times, frames) => new Promise((done) => {
	const apart = [];
	let n = 0, last = 0;
	const frame = (now) => {
		if (last) apart.push(now - last);
		last = now;
		if (apart.length === frames) { done(apart); return; }
		requestAnimationFrame(frame);
		setTimeout(() => { for (let i = 0; i < times; i++) act(n++); });
	};
	requestAnimationFrame(frame);
}))(%s, %d, %d)`

// atEnd opens the page of a run in a tab, and stands at its end.
func atEnd(t testing.TB, address string, width, height int64) context.Context {
	t.Helper()
	ctx := tab(t)
	do(ctx, t, chromedp.EmulateViewport(width, height), chromedp.Navigate(address))
	until(ctx, t, place+` !== ""`)
	if _, err := chromedp.Call(ctx, performance.Enable, performance.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// driven does what hands do, so often between any two of so many frames. It returns how
// far apart they were, in ms, the longest last, and how many layouts there were.
func driven(ctx context.Context, t testing.TB, hand string, times, frames int) (apart []float64, layouts int) {
	t.Helper()
	do(ctx, t, chromedp.KeyEvent(kb.End))
	drawn(ctx, t)
	before := laidOut(ctx, t)
	apart, err := chromedp.Run(ctx, chromedp.Evaluate[[]float64](fmt.Sprintf(driving, hands[hand], times, frames), chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(hand, ": ", err)
	}
	slices.Sort(apart)
	layouts = laidOut(ctx, t) - before
	get[bool](ctx, t, `dispatchEvent(new PointerEvent("pointerup", {pointerId: 1}))`)
	return apart, layouts
}

// laidOut is how often the page was laid out.
func laidOut(ctx context.Context, t testing.TB) int {
	t.Helper()
	told, err := chromedp.Call(ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(told.Metrics, func(m *performance.Metric) bool { return m.Name == "LayoutCount" })
	if at < 0 {
		t.Fatal("the browser counts no layouts")
	}
	return int(told.Metrics[at].Value)
}

// TestOneLayoutAFrame counts what a step costs: a look at the page between two changes
// has the browser lay it out once more.
func TestOneLayoutAFrame(t *testing.T) {
	t.Parallel()
	address := started(t, serve(t), manyRows)
	for name, size := range map[string][2]int64{"desk": {1440, 900}, "phone": {390, 844}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := atEnd(t, address, size[0], size[1])
			if rows := get[int](ctx, t, `document.querySelectorAll("#rows tr[id]").length`); rows < 50 {
				t.Fatalf("the run has %d rows", rows)
			}
			for _, hand := range slices.Sorted(maps.Keys(hands)) {
				times := 1 // a browser sends one move of the mouse a frame
				if hand == "steps" {
					times = 3
				}
				const frames = 40
				// Lanes that scroll by themselves at the end have a few more.
				if _, layouts := driven(ctx, t, hand, times, frames); layouts > frames*5/4 {
					t.Errorf("who %s %d times a frame has %d layouts in %d frames", hand, times, layouts, frames)
				}
			}
		})
	}
}

// BenchmarkScrubbing compares a run of fifty rows with one of five, in turn in one
// browser: what comes of a step may not grow with the rows.
func BenchmarkScrubbing(b *testing.B) {
	server := serve(b)
	few, many := atEnd(b, started(b, server, fewRows), 1440, 900), atEnd(b, started(b, server, manyRows), 1440, 900)
	for _, hand := range slices.Sorted(maps.Keys(hands)) {
		b.Run(hand, func(b *testing.B) {
			var short, long []float64
			layouts, frames := 0, 0
			for b.Loop() {
				for range 5 {
					apart, _ := driven(few, b, hand, 1, 60)
					short = append(short, apart...)
					apart, n := driven(many, b, hand, 1, 60)
					long, layouts, frames = append(long, apart...), layouts+n, frames+len(apart)
				}
			}
			slices.Sort(short)
			slices.Sort(long)
			b.ReportMetric(long[len(long)*95/100]/short[len(short)*95/100], "p95-of-50-rows/of-5")
			b.ReportMetric(float64(layouts)/float64(frames), "layouts/frame")
		})
	}
}

// watching notes what moves on a page while it opens, and when its largest part was there.
const watching = `(() => {
	window.shifts = []; window.largest = 0;
	const box = (r) => [r.x, r.y, r.width, r.height].map(Math.round).join(" ");
	new PerformanceObserver((list) => {
		for (const e of list.getEntries().filter((e) => !e.hadRecentInput)) {
			const who = e.sources.map((s) => (s.node?.nodeName ?? "") + (s.node?.id ? "#" + s.node.id : s.node?.className ? "." + s.node.className : "") + " from " + box(s.previousRect) + " to " + box(s.currentRect));
			shifts.push({share: e.value, who: who.join(", ")});
		}
	}).observe({type: "layout-shift", buffered: true});
	new PerformanceObserver((list) => { largest = list.getEntries().at(-1).startTime; }).observe({type: "largest-contentful-paint", buffered: true});
})()`

// watches has a tab watch all pages that it opens from here on.
func watches(ctx context.Context, t testing.TB) {
	t.Helper()
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watching}); err != nil {
		t.Fatal(err)
	}
}

// opensWhole opens a page, and waits until all that it shows at first is there.
func opensWhole(ctx context.Context, t testing.TB, address string) {
	t.Helper()
	do(ctx, t, chromedp.Navigate(address))
	until(ctx, t, `document.readyState === "complete"`)
	loaded(ctx, t, get[[]string](ctx, t, `[...document.querySelectorAll("script[src]")].map((e) => e.getAttribute("src"))`))
	until(ctx, t, `document.querySelector(".unopened") === null && document.getElementById("place")?.textContent !== "" && document.getElementById("members")?.textContent !== ""`)
	drawn(ctx, t)
	drawn(ctx, t)
}

// shifted is the layout shift of a page that was opened: the sum, and what moved.
func shifted(ctx context.Context, t testing.TB) (sum float64, who []string) {
	t.Helper()
	type shift struct {
		Share float64 `json:"share"`
		Who   string  `json:"who"`
	}
	for _, s := range get[[]shift](ctx, t, `shifts`) {
		sum += s.Share
		who = append(who, fmt.Sprintf("%.4f: %s", s.Share, s.Who))
	}
	return sum, who
}

// stillness is how much of a page may move while it opens (cumulative layout shift).
const stillness = 0.02

// One tab opens every page: each stands still, and loads nothing that a page before it has.
func TestAPageStandsStillAndLoadsNothingAgain(t *testing.T) {
	t.Parallel()
	for name, size := range map[string][2]int64{"desk": {1440, 900}, "phone": {390, 844}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ctx := everyPage(t), tab(t)
			s.asked()
			watches(ctx, t)
			do(ctx, t, chromedp.EmulateViewport(size[0], size[1]))
			came := map[string]bool{}
			for _, path := range s.paths {
				opensWhole(ctx, t, s.url+path)
				if sum, who := shifted(ctx, t); sum > stillness {
					t.Errorf("%s moves by %.4f while it opens, at most %v is allowed: %q", path, sum, stillness, who)
				}
				for _, file := range s.asked() {
					if came[file] {
						t.Errorf("%s loads %s again", path, file)
					}
					came[file] = strings.HasPrefix(file, "/static/")
				}
			}
			if files := slices.Collect(maps.Values(came)); !slices.Contains(files, true) {
				t.Errorf("no file was seen to come: %v", came)
			}
		})
	}
}

// On a slow line a page comes in pieces, each of which is drawn: what comes last moves nothing
// that was there. Its styles are there, as after a first visit.
func TestAPageStandsStillThoughItComesInPieces(t *testing.T) {
	t.Parallel()
	long(t)
	s := everyPage(t)
	for _, path := range s.paths {
		ctx := tab(t)
		watches(ctx, t)
		do(ctx, t, chromedp.EmulateViewport(1440, 900))
		opensWhole(ctx, t, s.url+path)
		slow := []*network.Conditions{{Latency: 20, DownloadThroughput: 60_000, UploadThroughput: 60_000}}
		if _, err := chromedp.Call(ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: slow}); err != nil {
			t.Fatal(err)
		}
		opensWhole(ctx, t, s.url+path)
		if sum, who := shifted(ctx, t); sum > stillness {
			t.Errorf("%s moves by %.4f while it comes in pieces, at most %v is allowed: %q", path, sum, stillness, who)
		}
	}
}

// A page comes in pieces, and the card of Redis is the last of the stage: on a phone it
// is above the threads, and they have their place before it is there.
func TestThreadsHaveTheirPlaceBeforeTheCardIsThere(t *testing.T) {
	t.Parallel()
	ctx := atEnd(t, played(t, serve(t), "lease-expiry"), 390, 844)
	const top = `document.querySelector("#stage .who").getBoundingClientRect().top`
	was := get[float64](ctx, t, top)
	if now := get[float64](ctx, t, `(document.querySelector("#stage .redis").remove(), `+top+`)`); now < was-2 || now > was+2 {
		t.Errorf("a thread is at %.0f px without the card, and at %.0f with it", now, was)
	}
}

// BenchmarkOpening opens the front page and /play in turn, each in a browser that has
// been nowhere, and compares when their largest parts are there.
func BenchmarkOpening(b *testing.B) {
	server := serve(b)
	largest := map[string][]float64{}
	moved := 0.0
	for b.Loop() {
		for range 5 {
			for _, path := range []string{"/", "/play"} {
				ctx := tabFor(b, time.Minute)
				watches(ctx, b)
				do(ctx, b, chromedp.EmulateViewport(1440, 900))
				opensWhole(ctx, b, server+path)
				until(ctx, b, `largest > 0`) // it is told when there is time
				largest[path] = append(largest[path], get[float64](ctx, b, `largest`))
				sum, _ := shifted(ctx, b)
				moved = max(moved, sum)
			}
		}
	}
	middle := func(path string) float64 {
		slices.Sort(largest[path])
		return largest[path][len(largest[path])/2]
	}
	b.ReportMetric(middle("/play")/middle("/"), "LCP-of-play/of-home")
	b.ReportMetric(moved, "CLS")
}
