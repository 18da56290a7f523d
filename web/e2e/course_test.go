package e2e_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"relock/engine/course"
	"relock/web/words"
)

// Every kind of item, answered and not, at phone's width and on a desk: axe has
// nothing against it, and nothing scrolls sideways.
func TestTheCourseIsForEverybody(t *testing.T) {
	t.Parallel()
	url := serve(t)
	pages := []string{
		"/learn", "/learn/class", "/learn/lock/one-command", "/learn/lease/who-knows", "/learn/lease/who-knows?pick=1", "/learn/lease/who-knows?pick=1&watch=1",
		"/learn/lease/pause-why", "/learn/lock/slip-between", "/learn/tokens/keep-it-out", "/learn/lock/compare-and-delete", "/learn/lock/compare-and-delete?p1=2&p2=1&p3=3",
		"/learn/again/side-by-side", "/learn/check?so=4-6.1.2.none.3.3-1-2&half=after&other=none.4.3.8-9.2.2-3-1", "/learn/check?so=7.2.0.0.0.0&half=before",
		"/learn/check/takings", "/learn/check/replicas", "/learn/check/counted", "/learn/check/counted?p1=1&p2=1", "/learn/check/counted?so=0.0.0.0.0.3-1-2&watch=1-3",
		"/learn/lock/review-capture", "/learn/messages/review-refund?line=1&line=6", "/learn/lease/review-close?line=4",
		"/learn/lock/diagnose-invoices?pick=1", "/learn/majority/diagnose-leader",
	}
	for _, c := range []struct {
		width, height int64
		look          string
	}{{1440, 900, "light"}, {360, 740, "dark"}} {
		for _, language := range []string{"en", "zh"} {
			t.Run(fmt.Sprintf("%d %s", c.width, language), func(t *testing.T) {
				if c.width == 1440 {
					long(t)
				}
				t.Parallel()
				ctx := tab(t)
				do(ctx, t, chromedp.EmulateViewport(c.width, c.height))
				for n, path := range pages {
					if testing.Short() && language == "zh" && n%2 == 1 {
						continue // the longer words are English
					}
					query := "?"
					if strings.Contains(path, "?") {
						query = "&"
					}
					do(ctx, t, chromedp.Navigate(fmt.Sprintf("%s%s%stheme=%s&lang=%s", url, path, query, c.look, language)))
					until(ctx, t, `document.readyState === "complete" && (!document.querySelector(".staged") || document.getElementById("place").textContent !== "")`)
					if wide := get[int](ctx, t, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
						t.Errorf("%s scrolls sideways by %d px", path, wide)
					}
					if (c.look == "light") != (language == "en") {
						continue // contrast is the look's, and names are the language's
					}
					for _, f := range findings(ctx, t) {
						t.Errorf("%s: %s: %s\n  %s", path, f.ID, f.Help, strings.Join(f.Nodes, "\n  "))
					}
				}
			})
		}
	}
}

// With the keyboard alone: an incident's cause is answered, then the command to run next,
// and only then its run is on the stage.
func TestAnIncidentIsDiagnosedWithTheKeyboard(t *testing.T) {
	t.Parallel()
	ctx := tab(t)
	do(ctx, t, chromedp.EmulateViewport(390, 844), chromedp.Navigate(serve(t)+"/learn/lease/diagnose-report"))
	c, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	i, _ := c.Item("lease/diagnose-report")
	made, err := i.Made()
	if err != nil {
		t.Fatal(err)
	}
	task, err := course.TaskOf[*course.Diagnosis](i)
	if err != nil {
		t.Fatal(err)
	}
	cause := slices.IndexFunc(made.Answers, func(a *course.Answer) bool { return a.Right }) + 1
	command := slices.IndexFunc(task.Queries, func(q course.Query) bool { return q.Right }) + 1
	staged := `document.querySelector(".staged") !== null`
	until(ctx, t, `document.readyState === "complete" && document.querySelector(".answer[aria-keyshortcuts]") !== null`)
	do(ctx, t, chromedp.KeyEvent(strconv.Itoa(cause)))
	until(ctx, t, `document.readyState === "complete" && document.querySelector("[name=next][aria-keyshortcuts]") !== null`)
	if get[bool](ctx, t, staged) {
		t.Error("the run is shown before the command is chosen")
	}
	do(ctx, t, chromedp.KeyEvent(strconv.Itoa(command)))
	until(ctx, t, `document.querySelector("[data-solved]") !== null && document.querySelector(".run.replay")?.dataset.row !== undefined`)
	if wide := get[int](ctx, t, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
		t.Errorf("it scrolls sideways by %d px", wide)
	}
	if tries := get[string](ctx, t, `JSON.stringify(Object.entries(JSON.parse(localStorage.getItem("relock-progress") ?? "{}").items ?? {}))`); !strings.Contains(tries, "lease/diagnose-report") {
		t.Errorf("the way knows of %s", tries)
	}
}

// The ladder's page shows how far one is, and leads on from there; on a phone nothing of it is
// wider than the page.
func TestTheLadderShowsHowFarOneIs(t *testing.T) {
	t.Parallel()
	ctx := tab(t)
	url := serve(t)
	do(ctx, t, chromedp.EmulateViewport(390, 800), chromedp.Navigate(url+"/learn/ladder"))
	until(ctx, t, `document.querySelectorAll(".items [data-item]").length === 5 && document.querySelector(".items .done") === null`)
	get[bool](ctx, t, `localStorage.setItem("relock-progress", JSON.stringify({relock_progress: 1, items: {"ladder/one": {at: "2026-11-30"}, "ladder/left-behind": {at: "2026-11-30"}}})) === undefined`)
	do(ctx, t, chromedp.Reload())
	until(ctx, t, `document.querySelectorAll(".items .done").length === 2 && document.getElementById("way-done").textContent === "2 of 5 done" && document.getElementById("go-on").hash === "#own"`)
	until(ctx, t, `document.documentElement.scrollWidth <= innerWidth`)

	// Where a script may not copy, as without TLS, the worker is selected, and that is said.
	get[bool](ctx, t, `Object.defineProperty(navigator, "clipboard", {value: undefined}) === navigator`)
	do(ctx, t, click(`[data-copy="worker-py"]`))
	until(ctx, t, `document.querySelector('[data-copy="worker-py"]').innerText.startsWith("Press Ctrl+C") && getSelection().toString().includes("RELOCK_THREAD")`)
}

// With the keyboard alone: a question is answered, a lock is broken, and the
// way knows of both.
func TestTheCourseIsDoneWithTheKeyboard(t *testing.T) {
	t.Parallel()
	ctx := tab(t)
	url := serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/learn/lease/who-knows"))
	until(ctx, t, place+`.includes("T6")`)
	until(ctx, t, `(({top, bottom}, box) => top >= box.top && bottom <= box.bottom + 1)(...["#rows tr[aria-current]", "#scroll"].map((e) => document.querySelector(e).getBoundingClientRect()))`) // the row that it is about is in sight
	right := 0
	for n := range 4 {
		do(ctx, t, chromedp.Navigate(url+"/learn/lease/who-knows"))
		until(ctx, t, place+`.includes("T6") && !document.getElementById("feedback") && document.querySelector(".answer[aria-keyshortcuts]") !== null`)
		do(ctx, t, chromedp.KeyEvent(fmt.Sprint(n+1)))
		until(ctx, t, `document.getElementById("feedback") !== null`)
		if picked := get[string](ctx, t, `new URLSearchParams(location.search).get("pick")`); picked != fmt.Sprint(n+1) {
			t.Fatalf("the key %d chose %s", n+1, picked)
		}
		if get[bool](ctx, t, `document.querySelector("[data-lesson]").hasAttribute("data-solved")`) {
			right = n + 1
			until(ctx, t, `JSON.parse(localStorage.getItem("relock-progress") ?? "{}").items?.["lease/who-knows"] !== undefined`)
			break
		}
	}
	if right == 0 {
		t.Fatal("no answer is right")
	}
	do(ctx, t, chromedp.Navigate(url+"/learn/tokens/too-late"))
	until(ctx, t, place+`.endsWith("· 0 ms")`)
	do(ctx, t, chromedp.KeyEvent("1"))
	until(ctx, t, place+`.includes("T1")`)
	do(ctx, t, chromedp.KeyEvent("x"), chromedp.KeyEvent("1"))
	until(ctx, t, place+`.includes("T2")`)
	for range 20 {
		if get[bool](ctx, t, `!document.getElementById("after").hidden`) {
			break
		}
		was := get[string](ctx, t, place)
		do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
		until(ctx, t, place+fmt.Sprintf(` !== %q || !document.getElementById("after").hidden`, was))
	}
	until(ctx, t, `!document.getElementById("after").hidden`)
	do(ctx, t, chromedp.EmulateViewport(390, 844))
	until(ctx, t, `document.getElementById("reached").checkVisibility()`) // where the thumb is
	until(ctx, t, `JSON.parse(localStorage.getItem("relock-progress")).items["tokens/too-late"]?.schedule?.some((m) => m.do === "pause")`)
	do(ctx, t, chromedp.Navigate(url+"/learn"))
	until(ctx, t, `document.querySelectorAll(".items .done").length === 2`)
	if href := get[string](ctx, t, `document.getElementById("go-on").getAttribute("href") ?? ""`); href == "" {
		t.Error("the way does not lead on")
	}
}

// The concept check, with the keyboard alone, from its first question to what
// came of it; left half-way it goes on where it was, and says nothing of what was right.
func TestTheCheckIsDoneWithTheKeyboard(t *testing.T) {
	long(t)
	t.Parallel()
	ctx := tab(t)
	url := serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/learn/check/takings"))
	for n := range 6 {
		if n == 3 {
			do(ctx, t, chromedp.Navigate(url+"/learn"))
			until(ctx, t, `(document.getElementById("check-before")?.textContent ?? "") !== ""`)
			if told := get[string](ctx, t, `document.getElementById("check-before").textContent`); told != "3 of 6 answered" {
				t.Errorf("half-way the course says %q", told)
			}
			do(ctx, t, chromedp.Focus(`[data-half="before"]`), chromedp.KeyEvent("\r"))
			until(ctx, t, `document.querySelectorAll(".where .done").length === 3`)
		}
		until(ctx, t, fmt.Sprintf(`document.readyState === "complete" && !/pick=|none=|p1=/.test(location.search) && document.querySelector(".where [aria-current]") === document.querySelectorAll(".where [data-item]")[%d]`, n))
		switch {
		case get[bool](ctx, t, `document.querySelector("form.pieces") !== null`): // nothing can be left out: the last becomes the first
			until(ctx, t, `document.querySelectorAll(".pieces.orderable .grip").length === 3`)
			was := get[string](ctx, t, `[...document.querySelectorAll(".pieces .piece")].map((p) => p.textContent.trim()).join("|")`)
			do(ctx, t, chromedp.Focus(".pieces li:last-child .grip"), chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.ArrowUp))
			names := strings.Split(was, "|")
			if now := get[string](ctx, t, `[...document.querySelectorAll(".pieces .piece")].map((p) => p.textContent.trim()).join("|")`); now != strings.Join([]string{names[2], names[0], names[1]}, "|") {
				t.Errorf("after three keys it is %q, and it was %q", now, was)
			}
			if told, want := get[string](ctx, t, `document.querySelector(".pieces [role=status]").textContent`), "Place 1 of 3: "+names[2]; told != want {
				t.Errorf("it says %q, not %q", told, want)
			}
			if left := get[bool](ctx, t, `document.querySelector(".left-out") !== null || [...document.querySelectorAll(".pieces select")].map((s) => s.value).join("") !== "123"`); left {
				t.Error("something is left out")
			}
			do(ctx, t, chromedp.Focus(`form.pieces button.primary`), chromedp.KeyEvent("\r"))
		case get[bool](ctx, t, `document.querySelector("form.review") !== null`):
			do(ctx, t, chromedp.Focus(`[name="none"]`), chromedp.KeyEvent(" "), chromedp.Focus(`form.review button`), chromedp.KeyEvent("\r"))
		default:
			do(ctx, t, chromedp.Focus(`[name="pick"][value="1"]`), chromedp.KeyEvent("\r"))
		}
		until(ctx, t, `document.readyState === "complete" && "answered" in (document.querySelector("[data-lesson]")?.dataset ?? {})`)
		until(ctx, t, fmt.Sprintf(`document.querySelectorAll(".where .done").length === %d`, n+1))
		until(ctx, t, fmt.Sprintf(`Object.keys(JSON.parse(localStorage.getItem("relock-progress") ?? "{}").check?.before ?? {}).length === %d`, n+1))
		do(ctx, t, chromedp.Focus("#onward"), chromedp.KeyEvent("\r"))
	}
	until(ctx, t, `location.pathname === "/learn/check" && document.querySelectorAll(".checked tbody tr").length === 6`)
	right := get[int](ctx, t, `Object.values(JSON.parse(localStorage.getItem("relock-progress")).check.before).filter((a) => a.right).length`)
	if told := get[string](ctx, t, `document.querySelector("main strong").textContent`); told != fmt.Sprintf("Right: %d of 6.", right) {
		t.Errorf("the page says %q, and %d answers were right", told, right)
	}
}

// A learner who has made a goal impossible reads so, and is led back to where it was
// still possible: from there it is.
func TestAGoalOutOfReachLeadsBack(t *testing.T) {
	t.Parallel()
	ctx := tab(t)
	url := serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/learn/trouble/sell-it-twice"))
	until(ctx, t, place+`.endsWith("· 0 ms")`)
	const lost = `document.querySelector("#outlook .lost button") !== null`
	for range 20 {
		if get[bool](ctx, t, `document.querySelector("#transport [data-go=forward]").getAttribute("aria-disabled") === "true"`) {
			break
		}
		was := get[string](ctx, t, place)
		do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
		until(ctx, t, place+fmt.Sprintf(` !== %q`, was))
	}
	until(ctx, t, lost)
	until(ctx, t, `document.querySelector("#own-scene figcaption") !== null && document.getElementById("own-scene").textContent.includes("The stock is 0")`)
	if target := get[string](ctx, t, `document.querySelector(".scenes figure").textContent`); !strings.Contains(target, "oversold") {
		t.Errorf("the target is %q", target)
	}
	until(ctx, t, `(window.back = document.querySelector("#outlook button")?.dataset.back) !== undefined`)
	back := get[string](ctx, t, `window.back`)
	do(ctx, t, chromedp.Focus("#outlook button"), chromedp.KeyEvent("\r"))
	until(ctx, t, fmt.Sprintf(`document.getElementById("tally").textContent.startsWith("Moves: %s.") && !(%s)`, back, lost))
	if !get[bool](ctx, t, `document.activeElement.closest("#transport") !== null`) {
		t.Error("the focus is not where one goes on")
	}
	do(ctx, t, chromedp.Click("#transport [data-go=forward]")) // what made it impossible
	until(ctx, t, lost)
}

// The lines of a script are put in order by dragging, with the arrow keys, and with
// buttons; what is told of a place is read out, and the form has it.
func TestLinesOfAScriptAreMoved(t *testing.T) {
	t.Parallel()
	ctx := tab(t)
	url := serve(t)
	const (
		places = `[...document.querySelectorAll(".pieces select")].map((s) => s.value).join("")`
		told   = `document.querySelector(".pieces [role=status]").textContent`
		middle = `(() => { const b = document.querySelectorAll(".pieces li")[%d].querySelector(".grip")?.getBoundingClientRect() ?? document.querySelectorAll(".pieces li")[%d].getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2] })()`
	)
	do(ctx, t, chromedp.EmulateViewport(1440, 1000), chromedp.Navigate(url+"/learn/lock/compare-and-delete"))
	until(ctx, t, `document.querySelector(".pieces.orderable .grip") !== null`)
	all := get[int](ctx, t, `document.querySelectorAll(".pieces .grip").length`)
	if got := get[string](ctx, t, places); got != strings.Repeat("0", all) {
		t.Fatalf("at first the places are %s", got)
	}
	do(ctx, t, chromedp.Focus(".pieces .grip"), chromedp.KeyEvent(kb.ArrowUp)) // above the mark
	until(ctx, t, told+`.startsWith("Line 1 of 1:")`)
	if got := get[string](ctx, t, places); got != "1"+strings.Repeat("0", all-1) {
		t.Errorf("after one move the places are %s", got)
	}
	if !get[bool](ctx, t, `document.activeElement.classList.contains("grip")`) {
		t.Error("the line that was moved has lost the focus")
	}
	do(ctx, t, chromedp.Click(".pieces li:last-child .up"))
	until(ctx, t, told+`.startsWith("Left out:")`)
	from, to := get[[]float64](ctx, t, fmt.Sprintf(middle, all, all)), get[[]float64](ctx, t, fmt.Sprintf(middle, 0, 0))
	do(ctx, t, chromedp.MouseEvent("mousePressed", from[0], from[1], chromedp.ButtonLeft))
	for step := range 12 {
		y := from[1] + (to[1]-12-from[1])*float64(step+1)/12
		do(ctx, t, chromedp.MouseEvent("mouseMoved", from[0], y, chromedp.ButtonLeft))
	}
	do(ctx, t, chromedp.MouseEvent("mouseReleased", from[0], to[1]-12, chromedp.ButtonLeft))
	until(ctx, t, told+`.startsWith("Line 1 of 2:")`)
	if got := get[string](ctx, t, `[...document.querySelectorAll(".pieces li:not(.left-out) select")].slice(0, 2).map((s) => s.value).join("")`); got != "12" {
		t.Errorf("after the drag the first two have the places %s", got)
	}
}

// Lines of code are marked with the keyboard, or none is; once they are judged, the line
// that runs is marked while one steps through the order that breaks it.
func TestLinesUnderReviewAreMarked(t *testing.T) {
	t.Parallel()
	ctx := tab(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 1000), chromedp.Navigate(serve(t)+"/learn/lock/review-capture"))
	const (
		marked  = `[...document.querySelectorAll(".review :checked")].map((c) => c.name + c.value).join(" ")`
		running = `[...document.querySelectorAll(".review .running input")].map((c) => c.value).join(" ")`
	)
	const tells = `document.querySelector(".run-head .facts").checkVisibility({ visibilityProperty: true })`
	until(ctx, t, `document.querySelector(".run.replay").dataset.row !== undefined`)
	if get[bool](ctx, t, tells) {
		t.Error("the search's fault is in sight before the answer")
	}
	if left := get[string](ctx, t, `[...document.querySelectorAll("#place, .lanes text")].map((e) => e.textContent.trim()).filter((text) => text.endsWith("·")).join(" | ")`); left != "" {
		t.Errorf("nothing stands behind the dot of %q", left)
	}
	do(ctx, t, click(`.review button`))
	until(ctx, t, `document.querySelector(".review .problem") !== null && document.activeElement === document.querySelector(".review [name=line]")`)
	if got := get[string](ctx, t, `document.activeElement.ariaDescribedByElements[0].textContent`); got != "Either mark lines, or say that none is at fault." {
		t.Errorf("with nothing marked it says %q", got)
	}
	do(ctx, t, chromedp.EmulateViewport(360, 640), chromedp.Reload())
	until(ctx, t, `document.activeElement === document.querySelector(".review [name=line]")`)
	until(ctx, t, `(({ top, bottom }) => top >= 0 && bottom <= innerHeight)(document.querySelector("#unmarked").getBoundingClientRect())`)
	do(ctx, t, chromedp.EmulateViewport(1440, 1000), chromedp.Focus(`.review [name=line][value="4"]`), chromedp.KeyEvent(" "))
	if got := get[string](ctx, t, marked); got != "line4" {
		t.Fatalf("marked: %s", got)
	}
	do(ctx, t, chromedp.Focus(`.review [name=none]`), chromedp.KeyEvent(" "))
	if got := get[string](ctx, t, marked); got != "none1" {
		t.Errorf("none is at fault, and marked: %s", got)
	}
	do(ctx, t, chromedp.Focus(`.review [name=line][value="4"]`), chromedp.KeyEvent(" "))
	if got := get[string](ctx, t, marked); got != "line4" {
		t.Errorf("one is at fault again, and marked: %s", got)
	}
	do(ctx, t, chromedp.Focus(`.review button`), chromedp.KeyEvent(kb.Enter))
	until(ctx, t, `document.querySelector("[data-solved] .diff ins") !== null && document.querySelector(".run.replay")?.dataset.row !== undefined`)
	if !get[bool](ctx, t, tells) {
		t.Error("the search's fault is out of sight after the answer")
	}
	row := func() int { return get[int](ctx, t, `Number(document.querySelector(".run.replay").dataset.row)`) }
	seen := map[string]bool{}
	for at := row(); at > 0; at-- {
		do(ctx, t, click(`#transport [data-go="back"]`))
		until(ctx, t, fmt.Sprintf(`document.querySelector(".run.replay").dataset.row === "%d"`, at-1))
		seen[get[string](ctx, t, running)] = true
	}
	if !seen["4"] || !seen["6"] || !seen["11"] || !seen[""] || len(seen) != 4 {
		t.Errorf("lines that ran: %v", seen)
	}
	if !get[bool](ctx, t, `"lock/review-capture" in JSON.parse(localStorage.getItem("relock-progress")).items`) {
		t.Error("it is not noted as done")
	}
}
