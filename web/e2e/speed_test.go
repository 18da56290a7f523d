package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"relock/engine/scenario"
	"relock/web/link"
)

// longRun has ten thousand events and more.
const longRun = `
title: Ten thousand events
lock: {protocol: reentrant, key: LONG, lease: 200ms, retry: {times: 1000, interval: 25ms}}
threads: [{name: A}, {name: B}, {name: C}, {name: D}]
defaults: {depth: 2, repeat: 100, work: 10ms}
seed: 1
`

// started runs a scenario on the virtual clock and returns its page's address
// once it is over.
func started(b testing.TB, server, scenario string) string {
	b.Helper()
	res, err := http.PostForm(server+"/runs", url.Values{"yaml": {scenario}, "action": {"run"}, "store": {"virtual"}})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if !strings.Contains(res.Request.URL.Path, "/runs/") {
		text, _ := io.ReadAll(res.Body)
		b.Fatalf("no run was started: %s %.2000s", res.Status, text)
	}
	for {
		if trace := fetched(b, res.Request.URL.String()+"/trace"); strings.Contains(trace, `"thread":"","kind":"end"`) {
			return res.Request.URL.String()
		}
		time.Sleep(50 * time.Millisecond) // between two looks at a run that is going on
	}
}

func fetched(b testing.TB, address string) string {
	b.Helper()
	res, err := http.Get(address)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

// traced does something under the browser's tracing and returns how long each
// task of the page's main thread took, in ms, the longest last.
func traced(ctx context.Context, b testing.TB, what func()) []float64 {
	b.Helper()
	listening, stop := context.WithCancel(ctx)
	defer stop()
	type event struct {
		Name string  `json:"name"`
		Ph   string  `json:"ph"`
		PID  int     `json:"pid"`
		TID  int     `json:"tid"`
		Dur  float64 `json:"dur"` // µs
		Args struct {
			Name string `json:"name"`
		} `json:"args"`
	}
	var mu sync.Mutex
	var events []event
	complete := make(chan struct{})
	err := chromedp.Listen(listening, func(ev any) {
		switch ev := ev.(type) {
		case *tracing.EventDataCollected:
			mu.Lock()
			defer mu.Unlock()
			for _, v := range ev.Value {
				var e event
				if json.Unmarshal(v, &e) == nil && (e.Name == "thread_name" || e.Name == "RunTask") {
					events = append(events, e)
				}
			}
		case *tracing.EventTracingComplete:
			close(complete)
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	start := &tracing.StartParams{
		TransferMode: tracing.StartTransferModeReportEvents,
		TraceConfig:  &tracing.TraceConfig{IncludedCategories: []string{"devtools.timeline", "disabled-by-default-devtools.timeline"}},
	}
	if _, err := chromedp.Call(ctx, tracing.Start, *start); err != nil {
		b.Fatal(err)
	}
	what()
	if _, err := chromedp.Call(ctx, tracing.End, cdp.Empty{}); err != nil {
		b.Fatal(err)
	}
	select {
	case <-complete:
	case <-ctx.Done():
		b.Fatal(context.Cause(ctx))
	}
	mu.Lock()
	defer mu.Unlock()
	main := map[[2]int]bool{}
	for _, e := range events {
		if e.Name == "thread_name" && e.Args.Name == "CrRendererMain" {
			main[[2]int{e.PID, e.TID}] = true
		}
	}
	var tasks []float64
	for _, e := range events {
		if e.Name == "RunTask" && e.Ph == "X" && main[[2]int{e.PID, e.TID}] {
			tasks = append(tasks, e.Dur/1000)
		}
	}
	if len(tasks) == 0 {
		b.Fatal("the trace has no task of the page")
	}
	slices.Sort(tasks)
	return tasks
}

// frames has the page note how far apart its frames are.
const frames = `(() => {
	window.apart = []; window.noting = true;
	let last = 0;
	const note = (now) => { if (last) apart.push(now - last); last = now; if (noting) requestAnimationFrame(note); };
	requestAnimationFrame(note);
	return true;
})()`

// noted are the times between the frames since, in ms, the longest last.
func noted(ctx context.Context, b testing.TB) []float64 {
	b.Helper()
	apart := get[[]float64](ctx, b, `(noting = false, apart)`)
	slices.Sort(apart)
	return apart
}

func report(b *testing.B, what string, sorted []float64) {
	b.Helper()
	if len(sorted) == 0 {
		b.Fatal("nothing was measured: ", what)
	}
	b.ReportMetric(sorted[len(sorted)-1], "longest-"+what+"-ms")
	b.ReportMetric(sorted[(len(sorted)-1)*99/100], "p99-"+what+"-ms")
}

// pressed presses a key and waits until the page has drawn what came of it.
func pressed(ctx context.Context, b testing.TB, key string) {
	b.Helper()
	do(ctx, b, chromedp.KeyEvent(key))
	drawn(ctx, b)
}

func drawn(ctx context.Context, b testing.TB) {
	b.Helper()
	_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`new Promise(done => requestAnimationFrame(() => setTimeout(() => done(true))))`, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatal(err)
	}
}

// scroll moves through all of the table, a screen and a half a frame, and
// back up.
const scroll = `new Promise(done => {
	const box = document.getElementById("scroll");
	const s = box.scrollHeight > box.clientHeight + 1 && getComputedStyle(box).overflowY !== "visible" ? box : document.scrollingElement;
	const most = () => s.scrollHeight - s.clientHeight;
	let down = true, n = 0, blank = 0;
	const seen = () => {
		const r = s === box ? box.getBoundingClientRect() : {left: 0, top: 0, width: innerWidth, height: innerHeight};
		return document.elementFromPoint(r.left + 40, r.top + r.height / 2)?.closest("tr.space") !== null;
	};
	const move = () => {
		n++;
		s.scrollTop += (down ? 1.5 : -1.5) * s.clientHeight;
		if (down && s.scrollTop >= most() - 2) down = false;
		if (!down && s.scrollTop <= 0) { done({n, blank}); return; }
		requestAnimationFrame(() => setTimeout(() => { if (seen()) blank++; requestAnimationFrame(move); }));
	};
	move();
})`

type scrolled struct {
	N     int `json:"n"`
	Blank int `json:"blank"` // frames after which nothing was where rows must be
}

// jumps scrolls on and back by small ways and tells how far, at most, a row
// was then from where it belongs, in px.
const jumps = `new Promise(done => {
	const box = document.getElementById("scroll");
	const s = box.scrollHeight > box.clientHeight + 1 ? box : document.scrollingElement;
	const ways = [...Array(30).fill(170), ...Array(30).fill(-170)];
	let worst = 0;
	const move = () => {
		const by = ways.pop();
		if (by === undefined) { done(worst); return; }
		const r = box.getBoundingClientRect();
		const row = document.elementFromPoint(r.left + 40, (Math.max(r.top, 0) + Math.min(r.bottom, innerHeight)) / 2)?.closest("tr[data-step]");
		if (!row) { done(1e6); return; }
		const top = row.getBoundingClientRect().top, was = s.scrollTop;
		s.scrollTop += by;
		const scrolled = s.scrollTop - was;
		requestAnimationFrame(() => setTimeout(() => {
			if (row.isConnected) worst = Math.max(worst, Math.abs(top - scrolled - row.getBoundingClientRect().top));
			requestAnimationFrame(move);
		}));
	};
	move();
})`

// inSight tells whether the current row is in the middle of the
// screen, between the head and the transport.
const inSight = `(() => {
	const now = document.querySelectorAll("#rows tr[aria-current]");
	if (now.length !== 1) return false;
	const r = now[0].getBoundingClientRect();
	return r.bottom > 40 && r.top < document.querySelector(".foot").getBoundingClientRect().top;
})()`

func TestALongTableScrollsWithoutGapsAndJumps(t *testing.T) {
	long(t)
	t.Parallel()
	server := serve(t)
	page := started(t, server, strings.Replace(longRun, "repeat: 100", "repeat: 30", 1))
	for name, size := range map[string][2]int64{"desk": {1440, 900}, "phone": {360, 800}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := tab(t)
			do(ctx, t, chromedp.EmulateViewport(size[0], size[1]), chromedp.Navigate(page))
			until(ctx, t, place+` !== ""`)
			total := get[int](ctx, t, `JSON.parse(document.getElementById("film").textContent).index.count`)

			// Where no row was seen before, heights are guesses.
			get[bool](ctx, t, `(location.hash = "#row-400", true)`)
			until(ctx, t, `(() => { const r = document.getElementById("row-400")?.getBoundingClientRect(); return r && r.bottom > 0 && r.top < innerHeight; })()`)
			worst, err := chromedp.Run(ctx, chromedp.Evaluate[float64](jumps, chromedp.EvalAwaitPromise))
			if err != nil || worst > 2 {
				t.Errorf("a row jumps by %.1f px; %v", worst, err)
			}
			moved, err := chromedp.Run(ctx, chromedp.Evaluate[scrolled](scroll, chromedp.EvalAwaitPromise))
			if err != nil || moved.Blank > 0 || moved.N < 50 {
				t.Errorf("nothing was to be seen after %d of %d frames; %v", moved.Blank, moved.N, err)
			}
			if n := get[int](ctx, t, `document.querySelectorAll("#rows > tr").length`); n > 200 {
				t.Errorf("%d rows are in the page", n)
			}
			get[bool](ctx, t, `(document.activeElement.blur(), true)`)
			stands := func(key string, row int) {
				t.Helper()
				do(ctx, t, chromedp.KeyEvent(key))
				until(ctx, t, fmt.Sprintf(`document.querySelector("#rows tr[aria-current]")?.dataset.step === "%d"`, row))
				until(ctx, t, inSight)
				until(ctx, t, fmt.Sprintf(`document.querySelector('[data-lanes] [data-step="%d"]') !== null`, row))
				until(ctx, t, `!document.querySelector("[data-cursor]").hasAttribute("display")`)
			}
			do(ctx, t, chromedp.KeyEvent(kb.Home))
			until(ctx, t, place+`.startsWith("0 of ")`)
			stands(kb.ArrowRight, 1)
			stands(kb.End, total)
			stands(kb.ArrowLeft, total-1)
			do(ctx, t, chromedp.KeyEvent(kb.Home))
			stands(kb.ArrowRight, 1)
			stands(kb.ArrowRight, 2)
			stands("i", 2)
		})
	}
}

// sizes are how many bytes a page has, and how many as gzip.
func sizes(b testing.TB, address string) (plain, small int) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, address, nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "gzip") // by hand: it stays as it comes
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.Header.Get("Content-Encoding") != "gzip" {
		b.Fatal("no gzip: ", err)
	}
	return len(fetched(b, address)), len(text)
}

// pressing has a page press a key as soon as it says where it stands, and note
// how long after the first byte the row that this leads to was shown, in ms.
const pressing = `(() => {
	const place = () => document.getElementById("place")?.textContent ?? "";
	let was = "";
	const look = () => {
		if (!was && place() && document.querySelector("#stage .claim")?.textContent) {
			was = place();
			document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft", bubbles: true}));
		}
		const now = document.querySelector("#rows tr[aria-current]");
		if (was && place() !== was && now?.querySelector(".cell") && place().includes("T" + now.dataset.step + " ")) {
			requestAnimationFrame(() => { window.usableAfter = performance.now() - performance.getEntriesByType("navigation")[0].responseStart; });
		} else {
			setTimeout(look, 2);
		}
	};
	look();
})()`

// usable opens a page and returns how long after its first byte it could be
// used, in ms.
func usable(ctx context.Context, b testing.TB, address string) float64 {
	b.Helper()
	added, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: pressing})
	if err != nil {
		b.Fatal(err)
	}
	do(ctx, b, chromedp.Navigate("about:blank"), chromedp.Navigate(address))
	until(ctx, b, `window.usableAfter > 0`)
	if _, err := chromedp.Call(ctx, page.RemoveScriptToEvaluateOnNewDocument, page.RemoveScriptToEvaluateOnNewDocumentParams(added)); err != nil {
		b.Fatal(err)
	}
	return get[float64](ctx, b, `window.usableAfter`)
}

// BenchmarkTenThousandEventsOpen opens a long run, and notes how large its page
// is and when it can be used.
func BenchmarkTenThousandEventsOpen(b *testing.B) {
	ctx, server := tabFor(b, 5*time.Minute), serve(b)
	address := started(b, server, longRun)
	plain, small := sizes(b, address)
	do(ctx, b, chromedp.EmulateViewport(1440, 900))
	var took []float64
	for b.Loop() {
		took = append(took, usable(ctx, b, address))
	}
	slices.Sort(took)
	b.ReportMetric(float64(plain)/1e6, "page-MB")
	b.ReportMetric(float64(small)/1e6, "page-gzip-MB")
	b.ReportMetric(took[len(took)/2], "median-usable-ms")
	b.ReportMetric(took[len(took)-1], "longest-usable-ms")
}

// BenchmarkTenThousandEvents opens, scrolls and steps through a long run.
func BenchmarkTenThousandEvents(b *testing.B) {
	for _, size := range []struct {
		name   string
		width  int64
		height int64
	}{{"desk", 1440, 900}, {"phone", 360, 800}} {
		b.Run(size.name, func(b *testing.B) {
			ctx, server := tabFor(b, 5*time.Minute), serve(b)
			address := started(b, server, longRun)
			if n := strings.Count(fetched(b, address+"/trace"), "\n") - 1; n < 10_000 {
				b.Fatalf("the run has %d events", n)
			}
			for b.Loop() {
				do(ctx, b, chromedp.EmulateViewport(size.width, size.height), chromedp.Navigate("about:blank"))
				opening := traced(ctx, b, func() {
					do(ctx, b, chromedp.Navigate(address))
					until(ctx, b, `document.getElementById("place").textContent !== ""`)
				})
				b.ReportMetric(opening[len(opening)-1], "longest-task-opening-ms")
				type timing struct{ First, Paint, Loaded float64 }
				t := get[timing](ctx, b, `({
					First: performance.getEntriesByType("navigation")[0].responseStart,
					Paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
					Loaded: performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd})`)
				b.ReportMetric(t.First, "first-byte-ms")
				b.ReportMetric(t.Paint-t.First, "paint-after-first-byte-ms")
				b.ReportMetric(t.Loaded-t.First, "ready-after-first-byte-ms")

				get[bool](ctx, b, frames)
				tasks := traced(ctx, b, func() {
					moved, err := chromedp.Run(ctx, chromedp.Evaluate[scrolled](scroll, chromedp.EvalAwaitPromise))
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(moved.Blank), "blank-frames")
				})
				report(b, "scroll-task", tasks)
				report(b, "scroll-frame", noted(ctx, b))
				b.ReportMetric(float64(get[int](ctx, b, `document.querySelectorAll("#rows > tr").length`)), "rows-in-page")

				get[bool](ctx, b, frames)
				tasks = traced(ctx, b, func() {
					pressed(ctx, b, kb.End)
					for i := range 200 {
						pressed(ctx, b, map[bool]string{true: kb.ArrowLeft, false: kb.ArrowRight}[i%10 != 9])
					}
					pressed(ctx, b, kb.Home)
					for range 20 {
						pressed(ctx, b, "n")
					}
				})
				report(b, "step-task", tasks)
				report(b, "step-frame", noted(ctx, b))
			}
		})
	}
}

// longBranch is the link of a thousand moves of the long run.
func longBranch(b testing.TB) string {
	b.Helper()
	sc, err := scenario.Parse([]byte(longRun + "schedule: [" + strings.Repeat("0, ", 999) + "0]\n"))
	if err != nil {
		b.Fatal(err)
	}
	text, err := link.Encode(link.Contents{Scenario: sc, At: 1000})
	if err != nil {
		b.Fatal(err)
	}
	return text
}

// standsInLanes tells whether the lanes' cursor is at the row that you stand
// at, in a picture that is short enough to come with every step.
const standsInLanes = `(() => {
	const step = /T(\d+)/.exec(document.getElementById("place").textContent)?.[1];
	const hit = document.querySelector('[data-lanes] [data-step="' + step + '"]');
	const cursor = document.querySelector("[data-lanes] [data-cursor]");
	const rows = document.querySelectorAll("[data-lanes] [data-step]").length;
	return hit !== null && !cursor.hasAttribute("display") && rows >= 48 && rows <= 96 &&
		Math.abs(parseFloat(cursor.getAttribute("x")) - parseFloat(hit.dataset.x)) < .01;
})()`

func TestTheLanesOfALongBranchFollow(t *testing.T) {
	long(t)
	t.Parallel()
	ctx, server := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(server+"/play#"+longBranch(t)))
	at(ctx, t, "1,000 of 1,000")
	until(ctx, t, standsInLanes)
	get[bool](ctx, t, `(window.drawn = 0, new MutationObserver(list => {
		drawn += list.filter(m => m.addedNodes.length > 0).length;
	}).observe(document.querySelector("[data-lanes]"), {childList: true}), true)`)
	const steps = 40
	for i := range steps {
		pressed(ctx, t, kb.ArrowRight)
		at(ctx, t, fmt.Sprintf("1,%03d of 1,%03d", i+1, i+1))
		until(ctx, t, standsInLanes)
	}
	if n := get[int](ctx, t, `drawn`); n > steps {
		t.Errorf("%d steps drew the lanes %d times", steps, n)
	}
	for range 150 {
		do(ctx, t, chromedp.KeyEvent(kb.ArrowLeft)) // held: nobody waits
	}
	at(ctx, t, "890 of 1,040")
	until(ctx, t, standsInLanes)
	do(ctx, t, chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowRight))
	until(ctx, t, standsInLanes)
}

func TestTheLanesOfALongEmbedFollow(t *testing.T) {
	long(t)
	t.Parallel()
	ctx, server := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(800, 600), chromedp.Navigate(server+"/embed/play?lang=zh#"+longBranch(t)))
	until(ctx, t, standsInLanes)
	for _, step := range []int{10, 500, 300} {
		get[bool](ctx, t, fmt.Sprintf(`(postMessage({type: "relock:seek", step: %d}, "*"), true)`, step))
		until(ctx, t, fmt.Sprintf(`document.getElementById("place").textContent.includes("T%d ")`, step))
		until(ctx, t, standsInLanes)
	}
	until(ctx, t, `document.querySelector(".lanes-run [role=img]").getAttribute("aria-label").includes("步")`)
}

// BenchmarkThousandMoves steps on and back on a long branch.
func BenchmarkThousandMoves(b *testing.B) {
	ctx, server := tabFor(b, 5*time.Minute), serve(b)
	for b.Loop() {
		do(ctx, b, chromedp.EmulateViewport(1440, 900), chromedp.Navigate("about:blank"), chromedp.Navigate(server+"/play#"+longBranch(b)))
		at(ctx, b, "1,000 of 1,000")
		get[bool](ctx, b, frames)
		tasks := traced(ctx, b, func() {
			for i := range 100 { // new ones
				pressed(ctx, b, kb.ArrowRight)
				at(ctx, b, fmt.Sprintf("1,%03d of 1,%03d", i+1, i+1))
			}
			for range 100 {
				pressed(ctx, b, kb.ArrowLeft)
			}
			pressed(ctx, b, kb.Home)
			pressed(ctx, b, kb.ArrowRight)
		})
		report(b, "step-task", tasks)
		report(b, "step-frame", noted(ctx, b))
	}
}
