// Package e2e tries the page in a real browser.
package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"relock/engine/clock/clocktest"
	"relock/engine/outside/lab"
	"relock/lessons"
	"relock/web"
	"relock/web/runs"
)

// stepLimit bounds what one test does in its tab, on a busy machine too.
const stepLimit = 4 * time.Minute

// fullBrowser is the browser that people have. The headless one draws the same, on
// half the time.
const fullBrowser = "chromium"

// browser is the program that opens the pages.
var browser = "chromium-headless-shell"

func TestMain(m *testing.M) {
	if other := os.Getenv("E2E_BROWSER"); other != "" {
		browser = other
	}
	os.Exit(run(m))
}

// ours is a folder for what tests share.
var ours string

func run(m *testing.M) int {
	var err error
	if ours, err = os.MkdirTemp("", "e2e"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(ours) }()
	defer func() {
		if opened.tab != nil {
			opened.close()
		}
	}()
	return m.Run()
}

// long is for what `make soak` does and `make test`, with -short, does not: what
// takes the longest and seldom finds what the others do not.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("long: make soak does it")
	}
}

// opened is the browser in which all tests have their tabs. One that is gone is
// opened again: a test takes no other down with it.
var opened struct {
	sync.Mutex
	tab   context.Context // its first one, for none: browsers that lose their last tab leave
	close context.CancelFunc
}

// theBrowser returns a tab of the browser of all tests.
func theBrowser() (context.Context, error) {
	opened.Lock()
	defer opened.Unlock()
	if opened.tab != nil {
		select {
		case <-chromedp.FromContext(opened.tab).Browser.LostConnection:
			opened.close()
		default:
			return opened.tab, nil
		}
	}
	path, err := exec.LookPath(browser)
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(filepath.Join(ours, "browser")),
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("in-process-gpu", browser != fullBrowser),
		// A spare process for the next site costs as much as a page.
		chromedp.Flag("disable-features", "Translate,SpareRendererForSitePerProcess"))
	ctx, closeAll := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeTab := chromedp.NewContext(ctx)
	if err := chromedp.Do(ctx); err != nil {
		closeAll()
		return nil, fmt.Errorf("start chromium: %w", err)
	}
	opened.tab, opened.close = ctx, func() { closeTab(); closeAll() }
	return ctx, nil
}

// tab opens an empty tab that knows nothing of those of other tests. Without
// Chromium the test is skipped, and fails where CI is set.
func tab(t testing.TB) context.Context {
	t.Helper()
	return tabFor(t, stepLimit)
}

// tabFor is tab for what may take as long as limit.
func tabFor(t testing.TB, limit time.Duration) context.Context {
	t.Helper()
	first, err := theBrowser()
	if errors.Is(err, exec.ErrNotFound) {
		if os.Getenv("CI") != "" {
			t.Fatal("a browser is needed in CI: ", err)
		}
		t.Skip("no ", browser, " on this machine; `make test` installs it")
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(device(first, t), limit)
	t.Cleanup(cancel)
	t.Cleanup(func() {
		if t.Failed() {
			picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
			if err == nil {
				name := filepath.Join(t.ArtifactDir(), "failed.png")
				_ = os.WriteFile(name, picture, 0o600)
				t.Log("see ", name)
			}
		}
	})
	return ctx
}

func serve(t testing.TB) string {
	t.Helper()
	return serveWithin(t, runs.DefaultLimits())
}

func serveWithin(t testing.TB, limits runs.Limits) string {
	t.Helper()
	s, err := web.New(web.Config{
		Log: slog.New(slog.DiscardHandler), Limits: limits, Scenarios: lessons.Scenarios(), Dev: true,
		Lab: web.LabConfig{Start: func(ctx context.Context, o lab.Options) (lab.Desk, error) { return lab.Steer(ctx, o) }},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		h.Close()
	})
	return h.URL
}

func do(ctx context.Context, t testing.TB, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	for _, step := range steps {
		err := chromedp.Do(ctx, step)
		for tries := 1; err != nil && tries < 5 && strings.Contains(err.Error(), "Could not find node"); tries++ {
			err = chromedp.Do(ctx, step) // the element was of the page before
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func get[T any](ctx context.Context, t testing.TB, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatal(expression, ": ", err)
	}
	return v
}

// liveLease is the lease of the scenarios that tests run on the wall clock.
const liveLease = 200 * time.Millisecond

// overWindow is how many pixels a film is higher than the window: the footer is below it.
const overWindow = `Math.round(document.querySelector("footer").getBoundingClientRect().top + scrollY) - innerHeight`

// texts are the table's rows, also those that are folded.
const texts = `(document.querySelectorAll('#rows .unfold[aria-expanded="false"]').forEach((fold) => fold.click()), [...document.querySelectorAll("#rows tr:not([hidden], .fold)")]).map(r => r.innerText.replace(/\s+/g, " "))`

func TestPressRunAndReadTheTable(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(
		ctx, t,
		chromedp.EmulateViewport(1440, 1100), // in a lower window the commands are those of the current row alone
		chromedp.Navigate(url+"/edit"),
		click(`#scenario button[value="run"]`),
		chromedp.WaitVisible(chromedp.CSS(`.run[data-ended="true"]`)),
		click(`#rows tr.fold[data-first="2"] .unfold`), // equal refusals are folded: their text has no lines then
		click(`#rows tr.fold[data-first="6"] .unfold`),
	)
	until(ctx, t, `!document.querySelector("#rows tr.folded")`)
	rows := get[[]string](ctx, t, texts)
	// The article's T1 to T10, with the seed's own times.
	for i, want := range []string{
		"T1 0 ms lock: acquired EXISTS → gives 0 HINCRBY", "T2 0 ms working, level 1 lock: refused", "T3 50 ms working, level 1 retry 1: refused",
		"T4 93 ms lock: level 2 entered", "T5 100 ms watchdog: lease renewed", "T6 100 ms working, level 2 retry 2: refused",
		"T7 150 ms working, level 2 retry 3: refused", "T8 152 ms unlock: level 2 left", "T9 152 ms unlock: released", "T10 200 ms ended: done retry 4: acquired",
	} {
		if i >= len(rows) || !strings.HasPrefix(rows[i], want) {
			t.Errorf("row %d = %q, want %q", i+1, rows[min(i, len(rows)-1)], want)
		}
	}
	if got := get[string](ctx, t, `document.getElementById("verdict").innerText.trim()`); got != "no rule was broken" {
		t.Errorf("verdict %q", got)
	}
}

func TestTimedRowsArriveWhileARunGoesOn(t *testing.T) {
	clocktest.Punctual(t, liveLease, func(t testing.TB) {
		ctx, url := tab(t), serve(t)
		do(
			ctx, t,
			chromedp.Navigate(url+"/edit?example=lease-expiry"),
			click(`input[name="store"][value="wall"]`),
			click(`#scenario button[value="run"]`),
			chromedp.WaitVisible(chromedp.CSS(`.run[data-ended="true"]`)),
			chromedp.WaitVisible(chromedp.CSS(`.violation[data-rule="mutual-exclusion"]`)),
		)
		rows := get[[]string](ctx, t, texts)
		steps := get[[]string](ctx, t, `[...document.querySelectorAll("#rows tr .t")].map(e => e.innerText)`)
		for i, s := range steps {
			if want := "T" + strings.TrimPrefix(s, "T"); s != want || s != steps[i] || (i > 0 && s == steps[i-1]) {
				t.Errorf("row %d is %s", i+1, s)
			}
		}
		if got := get[int](ctx, t, `document.querySelectorAll("#rows tr[id]").length - JSON.parse(document.getElementById("film").textContent).rows.length`); got == 0 {
			t.Errorf("no row came over the socket; rows: %q", rows)
		}
		if got := get[bool](ctx, t, `document.querySelector("td.parted .belief") !== null`); !got {
			t.Error("no cell shows that A believes in a lock it has lost")
		}
	})
}

// Packed rows look like those that the server draws at once.
func TestTimedFollowedRunLooksAsOneThatIsOpenedLater(t *testing.T) {
	clocktest.Punctual(t, liveLease, func(t testing.TB) {
		type piece struct {
			Name string
			At   [4]float64 // pixels
		}
		const shown = `(() => {
			const edge = document.querySelector(".lanes-run").getBoundingClientRect();
			const lanes = [...document.querySelectorAll(".lanes-run :is(rect, line, text, path, circle):not(.lane-later, [data-cursor] *, defs *)")].map((e) => {
				const at = e.getBoundingClientRect();
				return { Name: [e.tagName, e.getAttribute("class"), e.textContent].join(" "), At: [at.left - edge.left, at.top - edge.top, at.width, at.height] };
			});
			const rows = [...document.querySelectorAll("#rows tr")].map((tr) => ({ Name: [tr.id, tr.className, tr.textContent].join(" "), At: [0, 0, 0, 0] }));
			return [...lanes, ...rows];
		})()`
		ctx, url := tab(t), serve(t)
		do(
			ctx, t,
			chromedp.Navigate(url+"/edit?example=lease-expiry"),
			click(`input[name="store"][value="wall"]`),
			click(`#scenario button[value="run"]`),
			chromedp.WaitVisible(chromedp.CSS(`.run[data-ended="true"]`)),
		)
		until(ctx, t, `document.querySelectorAll("#rows tr[id]").length === document.querySelectorAll(".lane-hit").length`)
		if !get[bool](ctx, t, `document.querySelector('.lanes-run [viewBox^="-20 0 "]') !== null`) {
			t.Error("the lanes are not those that come packed")
		}
		followed := get[[]piece](ctx, t, shown)
		do(ctx, t, chromedp.Reload(), chromedp.WaitVisible(chromedp.CSS(`.run[data-ended="true"]`)))
		until(ctx, t, `document.querySelectorAll("#rows tr[id]").length === document.querySelectorAll(".lane-hit").length`)
		if diff := cmp.Diff(get[[]piece](ctx, t, shown), followed, cmpopts.EquateApprox(0, 1)); diff != "" || len(followed) < 50 {
			t.Errorf("%d pieces, %s", len(followed), diff)
		}
	})
}

func TestNothingScrollsSideways(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(
		ctx, t,
		chromedp.Navigate(url+"/edit"),
		click(`#scenario button[value="run"]`),
		chromedp.WaitVisible(chromedp.CSS(`.run[data-ended="true"]`)),
	)
	for _, width := range []int64{360, 768, 1440, 1920} {
		do(ctx, t, chromedp.EmulateViewport(width, 800))
		drawn(ctx, t)
		if over := get[int](ctx, t, `document.documentElement.scrollWidth - window.innerWidth`); over > 0 {
			t.Errorf("%d px wide: the page is %d px wider", width, over)
		}
	}
}

func TestRunWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.Navigate(url+"/edit"))
	for range 16 { // skip link, brand, pages, settings, presets, files, Run
		do(ctx, t, chromedp.KeyEvent("\t"))
		if get[string](ctx, t, `document.activeElement.value ?? ""`) == "run" {
			leads(ctx, t, chromedp.KeyEvent("\r"))
			if got := get[string](ctx, t, "location.pathname"); !strings.HasPrefix(got, "/runs/") {
				t.Errorf("Run leads to %s", got)
			}
			return
		}
	}
	t.Error("sixteen tabs from the top do not reach Run")
}
