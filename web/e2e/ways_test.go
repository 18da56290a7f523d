package e2e_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// controlsInSight are what can be pressed or filled in where the window is, each with its
// words in sight, or its name in brackets; but for those in the rows.
const controlsInSight = `[...document.querySelectorAll("a[href], button, summary, select, textarea, input:not([type=hidden])")].filter((e) => {
	if (e.closest("#rows")) return false;
	const box = e.getBoundingClientRect();
	const at = document.elementFromPoint(box.left + box.width / 2, box.top + Math.min(box.height, innerHeight - box.top) / 2);
	return e.checkVisibility({ visibilityProperty: true }) && box.width > 1 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth && at !== null && (e.contains(at) || at.contains(e));
}).map((e) => (e.matches("select") ? e.selectedOptions[0].text : e.innerText?.trim() || e.value) || "[" + (e.getAttribute("aria-label") ?? "") + "]")`

// A page shows few controls, and a verb has words at each width; what else there is is in
// a menu. Where one steps there are settings until a step is taken.
func TestFewControlsAndTheirWords(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	const ofHead = 8                                                                 // of every page
	wordless := "Back one step, Forward one step, Jump, speed and more, Theme, Menu" // which repeat what has words
	for _, c := range []struct {
		path          string
		width, height int64
		most, later   int // later: after a step, 0 where there is none
	}{
		{"/", 1440, 900, 14, 0},
		{"/", 390, 844, 14, 0},
		{"/play", 1440, 900, 29 + ofHead, 18 + ofHead},
		{"/play", 1366, 768, 29 + ofHead, 18 + ofHead},
		{"/play", 390, 844, 24, 14},
		{"/play", 360, 640, 24, 14},
	} {
		if testing.Short() && c.width == 1366 {
			continue // fewer are in sight than at 1440
		}
		do(ctx, t, chromedp.EmulateViewport(c.width, c.height), chromedp.Navigate("about:blank"), chromedp.Navigate(url+c.path))
		look := func(most int) {
			t.Helper()
			shown := get[[]string](ctx, t, controlsInSight)
			if len(shown) > most || len(shown) < 5 {
				t.Errorf("%s at %d×%d has %d controls in sight: %q", c.path, c.width, c.height, len(shown), shown)
			}
			for _, one := range shown {
				if name, without := strings.CutPrefix(one, "["); without && !strings.Contains(wordless, strings.TrimSuffix(name, "]")) {
					t.Errorf("%s at %d×%d: %s has no words", c.path, c.width, c.height, one)
				}
			}
		}
		if c.later > 0 {
			at(ctx, t, "at the start")
		}
		look(c.most)
		if c.later > 0 {
			do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
			at(ctx, t, "1 of 1")
			look(c.later)
		}
	}
}

// The title of a scenario opens the list of all, which a field narrows.
func TestTheTitlePicksAScenario(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	for _, width := range []int64{1440, 390} {
		do(ctx, t, chromedp.EmulateViewport(width, 844), chromedp.Navigate(url+"/play/two-threads"))
		until(ctx, t, place+`.endsWith("· 0 ms")`)
		do(ctx, t, click("#title"))
		until(ctx, t, `document.activeElement.id === "pick-filter"`)
		if got := get[string](ctx, t, `document.querySelector("#pick-list [aria-current]").dataset.open`); got != "two-threads" {
			t.Errorf("the list marks %q", got)
		}
		do(ctx, t, chromedp.KeyEvent("lease ends before the work"))
		until(ctx, t, `document.getElementById("pick-found").textContent !== "" && document.querySelectorAll("#pick-list li:not([hidden])").length < 9`)
		do(ctx, t, chromedp.KeyEvent(kb.ArrowDown))
		chosen := get[string](ctx, t, `document.activeElement.dataset.open`)
		do(ctx, t, chromedp.KeyEvent(kb.Enter))
		until(ctx, t, `location.pathname === "/play/`+chosen+`" && document.querySelector("#pick-list [aria-current]")?.dataset.open === "`+chosen+`"`)
	}
}

// On a phone the gallery has its pictures, a group to a shelf.
func TestTheGalleryOnAPhone(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	for _, code := range []string{"en", "zh-CN"} {
		do(ctx, t, chromedp.EmulateViewport(390, 844), chromedp.Navigate(url+"/scenarios?lang="+code))
		if height := get[int](ctx, t, `document.documentElement.scrollHeight`); height > 8000 {
			t.Errorf("%s: it is %d px high", code, height)
		}
		if !get[bool](ctx, t, `document.querySelector(".exhibit svg").checkVisibility() && document.documentElement.scrollWidth <= innerWidth`) {
			t.Errorf("%s: it has no pictures, or scrolls sideways", code)
		}
		if !get[bool](ctx, t, `(() => {
			const shelf = document.querySelector(".exhibits");
			shelf.lastElementChild.querySelector("a").focus();
			return shelf.scrollLeft > 0 && shelf.lastElementChild.getBoundingClientRect().right <= innerWidth;
		})()`) {
			t.Errorf("%s: the last scenario of a shelf is not reached with Tab", code)
		}
	}
}

// One quiet hint unfolds, and then offers the next; the last is not in sight before.
func TestHintsUnfoldInTurn(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/learn/lock/mend-the-unlock"))
	all := get[int](ctx, t, `document.querySelectorAll(".hints summary").length`)
	for n := range all {
		shown := `[...document.querySelectorAll(".hints summary")].filter((s) => s.checkVisibility()).length`
		if got := get[int](ctx, t, shown); got != n+1 || all < 3 {
			t.Fatalf("%d of %d hints are in sight after %d", got, all, n)
		}
		get[bool](ctx, t, fmt.Sprintf(`document.querySelectorAll(".hints summary")[%d].click() ?? true`, n))
	}
}

// Who chooses a lock of one's own is taken to its script, which the form has first.
func TestAnOwnLockBeginsWithItsScript(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serveOwn(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/edit"))
	live(ctx, t)
	choose := func(lock string) {
		get[bool](ctx, t, `(() => {
			const lock = document.getElementById("f-lock-protocol");
			for (let fold = lock.closest("details"); fold; fold = fold.parentElement.closest("details")) { fold.open = true; }
			lock.focus();
			lock.value = "`+lock+`";
			return lock.dispatchEvent(new Event("change", {bubbles: true}));
		})()`)
	}
	choose("own")
	shows(ctx, t, `document.activeElement.name === "lock.scripts.lock"`)
	if !get[bool](ctx, t, `document.activeElement.getBoundingClientRect().top < innerHeight / 2 && !document.getElementById("f-lock-key").checkVisibility() && document.querySelector(".page-tabs [aria-current]").checkVisibility()`) {
		t.Error("the script is not first, the rest is not folded, or the tabs are not there")
	}
	choose("mutex")
	shows(ctx, t, `document.activeElement.id === "f-lock-protocol" && document.getElementById("f-lock-key").checkVisibility() && !document.querySelector(".page-tabs").checkVisibility()`)
}

// The editor does not move while its script comes to life.
func TestTheEditorStandsStill(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	for _, path := range []string{"/edit", "/lab/script"} {
		do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+path))
		live(ctx, t)
		moved, err := chromedp.Run(ctx, chromedp.Evaluate[float64](`new Promise((done) => new PerformanceObserver((list) => done(list.getEntries().reduce((sum, e) => sum + e.value, 0))).observe({ type: "layout-shift", buffered: true }) ?? setTimeout(() => done(0), 300))`, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatal(path, ": ", err)
		}
		if moved > 0.02 {
			t.Errorf("%s moves by %.3f", path, moved)
		}
		if get[bool](ctx, t, `[...document.querySelectorAll(".no-script")].some((part) => part.checkVisibility())`) {
			t.Errorf("%s shows what is for pages without scripts", path)
		}
	}
}

// Incidents, scenarios and terms are found by their words, and by what is not written on them.
func TestPagesAreSearched(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	for path, sought := range map[string]string{"/incidents": "redis-py lease", "/scenarios": "evict", "/glossary": "shut-out"} {
		do(ctx, t, chromedp.Navigate(url+path))
		all := get[int](ctx, t, `document.querySelectorAll("[data-find]").length`)
		until(ctx, t, `document.getElementById("find-found").checkVisibility() === false && document.readyState === "complete"`)
		do(ctx, t, chromedp.Evaluate[chromedp.Void](`document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true })); undefined`))
		until(ctx, t, `document.activeElement.id === "find-filter"`)
		do(ctx, t, chromedp.KeyEvent(sought))
		until(ctx, t, `document.getElementById("find-found").textContent === [...document.querySelectorAll("[data-find]")].filter((e) => e.checkVisibility()).length + " of `+strconv.Itoa(all)+` fit."`)
		if fit := get[int](ctx, t, `document.querySelectorAll("[data-find]:not([hidden])").length`); fit == 0 || fit > all/3 {
			t.Errorf("%s: %d of %d have %q", path, fit, all, sought)
		}
		do(ctx, t, chromedp.KeyEvent(" qqq"))
		until(ctx, t, `document.getElementById("find-found").textContent.startsWith("Nothing has all")`)
		do(ctx, t, chromedp.KeyEvent(kb.Backspace), chromedp.KeyEvent(kb.Backspace), chromedp.KeyEvent(kb.Backspace), chromedp.Evaluate[chromedp.Void](`document.activeElement.blur(); undefined`))
		until(ctx, t, `new URLSearchParams(location.search).get("q").trim() === "`+sought+`"`)
		do(ctx, t, chromedp.Reload())
		until(ctx, t, `document.getElementById("find-found").textContent.endsWith(" fit.")`)
		do(ctx, t, click("#find-filter"), chromedp.KeyEvent(kb.Escape))
		until(ctx, t, `document.querySelectorAll("[data-find][hidden]").length === 0 && document.getElementById("find-filter").value === ""`)
	}
}
