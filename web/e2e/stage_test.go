package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"relock/lessons/lessonstest"
	"relock/web/film"
	"relock/web/page"
	"relock/web/templates"
	"relock/web/words"
)

// plain is the markup of a stage without what says nothing: the order of classes and
// attributes, and white space.
const plain = `((stage) => {
	const flat = (text) => text.replace(/\s+/g, " ").trim();
	const of = (node) => node.nodeType === Node.TEXT_NODE ? flat(node.data) :
		"<" + [node.localName, ...[...node.attributes].map((a) => a.name + "=" + (a.name === "class" ? a.value.split(/\s+/).sort().join(" ") : a.value)).sort()].join(" ") + ">" +
		[...node.childNodes].map(of).join("") + "</>";
	stage.normalize();
	return of(stage);
})`

// The script draws the stage as the server does: at each row of a run, from the first to
// the last and back; and where one comes in, it is the server's own.
func TestTheScriptDrawsTheStageOfTheServer(t *testing.T) {
	t.Parallel()
	ctx, server := tab(t), serve(t)
	names := []string{
		"two-threads.yaml", "late-write-without-a-token.yaml", "lease-expiry.yaml", "lost-replies.yaml", "fair.yaml", "fenced-two-masters.yaml",
		"forgotten-unlock.yaml", "heartbeat.yaml", "no-lock-over-buying.yaml", "redlock-two-nodes-down.yaml", "flash-sale-local-locks.yaml",
	}
	if !testing.Short() {
		names = lessonstest.Names(t)
	}
	for i, name := range names {
		l := words.All()[i%len(words.All())]
		sc := lessonstest.Scenario(t, name)
		address := started(t, server, lessonstest.Text(t, name)) + "?lang=" + l.Code()
		do(ctx, t, chromedp.Navigate("about:blank"), chromedp.Navigate(address))
		until(ctx, t, place+` !== ""`)
		var rows []struct {
			Step   int
			Stage  film.Stage
			Broken string
		}
		text := get[string](ctx, t, `JSON.stringify(JSON.parse(document.getElementById("film").textContent).rows)`)
		if err := json.Unmarshal([]byte(text), &rows); err != nil || len(rows) == 0 {
			t.Fatalf("%s: %d rows: %v", name, len(rows), err)
		}
		shown, standing := film.NewScenario(l, sc), page.Before(l, sc)
		want := []string{stageOf(t, l, shown, standing)}
		for _, r := range rows {
			want = append(want, stageOf(t, l, shown, standing.After(&film.Row{Stage: r.Stage, Broken: r.Broken})))
		}
		list, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		get[bool](ctx, t, fmt.Sprintf(`(() => {
			window.made = %s.map((html) => { const box = document.createElement("template"); box.innerHTML = html; return %s(box.content.firstElementChild); });
			window.drawnAt = (row) => { const is = %[2]s(document.getElementById("stage")); return is === made[row] ? "" : is + "\nwant\n" + made[row]; };
			return true;
		})()`, list, plain))
		served := fmt.Sprintf(`%s(new DOMParser().parseFromString(%%s, "text/html").getElementById("stage"))`, plain)
		html, err := json.Marshal(fetched(t, address))
		if err != nil {
			t.Fatal(err)
		}
		if !get[bool](ctx, t, fmt.Sprintf(served, html)+fmt.Sprintf(` === made[%d]`, len(rows))) {
			t.Errorf("%s: the page does not come with the stage of its last row", name)
		}
		same := func(row int) {
			t.Helper()
			if diff := get[string](ctx, t, fmt.Sprintf(`drawnAt(%d)`, row)); diff != "" {
				t.Errorf("%s, T%d: %s", name, row, diff)
			}
		}
		do(ctx, t, chromedp.KeyEvent(kb.Home))
		until(ctx, t, `document.querySelector('[data-go="back"]').getAttribute("aria-disabled") === "true"`)
		same(0)
		// A page of a long run comes with its first rows and its last.
		for row := 1; row <= len(rows) && row <= 40 && rows[row-1].Step == row; row++ {
			do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
			until(ctx, t, fmt.Sprintf(`document.querySelector("#rows tr[aria-current]")?.dataset.step === "%d"`, row))
			same(row)
		}
		do(ctx, t, chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.End))
		until(ctx, t, `document.querySelector('[data-go="end"]').getAttribute("aria-disabled") === "true"`)
		same(len(rows))
	}
}

// stageOf is a stage as the server draws it.
func stageOf(t testing.TB, l words.Language, sc film.Scenario, at page.Standing) string {
	t.Helper()
	html, err := templates.Text(l, templates.Stage(sc, at))
	if err != nil {
		t.Fatal(err)
	}
	return html
}

// Nothing on the page lies on something else: on a projector with the tools open, in a
// low window with many lanes, and where each move says what becomes of it.
func TestNothingLiesOnSomethingElse(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	const apart = `((...boxes) => boxes.every((a, i) => boxes.slice(i + 1).every((b) => a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1)))`
	const box = `((e) => e.getBoundingClientRect())`
	open := func(name string, wide, high int64) {
		do(ctx, t, chromedp.EmulateViewport(wide, high), chromedp.Navigate("about:blank"), chromedp.Navigate(url+"/play/"+name), chromedp.WaitVisible(chromedp.CSS(moveOf("A"))), chromedp.KeyEvent("e"))
		until(ctx, t, place+`.includes("T") && document.querySelector("#lanes-card .lane-at") !== null`)
	}
	const clear = `[...document.querySelectorAll(".lane-at, [data-pill]")].every((e) => ` + box + `(e).bottom <= ` + box + `(document.getElementById("scroll")).top)`
	for _, name := range []string{"fair", "mutex-late-release", "fenced-fail-over", "mutex-redis-full"} {
		open(name, 1366, 768)
		do(ctx, t, chromedp.KeyEvent(kb.End))
		if !get[bool](ctx, t, clear) {
			t.Errorf("%s: the table lies on the lanes' axis", name)
		}
		if !get[bool](ctx, t, `((pill) => [...document.querySelectorAll(".lane-at")].filter((e) => e.checkVisibility({visibilityProperty: true})).every((e) => `+apart+`(pill, `+box+`(e))))(`+box+`(document.querySelector("[data-pill]")))`) {
			t.Errorf("%s: the clock lies on a number of the axis", name)
		}
	}

	host, _ := makeRoom(t, url, "mutex-late-release")
	do(host, t, chromedp.EmulateViewport(1366, 768), chromedp.KeyEvent(kb.ArrowRight))
	until(host, t, stands+` === "T1" && document.querySelector(".lane-at") !== null`)
	if !get[bool](host, t, clear) {
		t.Error("the table of a host's page lies on the lanes' axis")
	}

	open("long-pause", 1440, 900)
	do(ctx, t, click("#explore"))
	until(ctx, t, `document.querySelector(".move .outlook") !== null`)
	if got := get[string](ctx, t, `[...document.querySelectorAll(".move:has(.outlook) > *")].filter((e) => { const lines = e.clientHeight / parseFloat(getComputedStyle(e).lineHeight); return e.clientHeight > 0 && Math.abs(lines - Math.round(lines)) > .1; }).map((e) => e.textContent).join("; ")`); got != "" {
		t.Errorf("what becomes of a move leaves half a line for %q", got)
	}

	open("lease-expiry", 1440, 900)
	do(ctx, t, chromedp.KeyEvent("f"), chromedp.KeyEvent("t"))
	until(ctx, t, `document.documentElement.dataset.theme === "stage" && document.getElementById("side").checkVisibility()`)
	if !get[bool](ctx, t, apart+`(...[...document.querySelectorAll("#stage > :is(.who, .redis)")].map(`+box+`)) && [...document.querySelectorAll("#stage .who")].every((e) => `+box+`(e).width > 150)`) {
		t.Error("on a projector the beliefs lie on each other while the tools are open")
	}
}

// On a laptop the stage and the sentence of a run keep their height from before its first
// row to its last, so that nothing below them moves; and the lanes are whole. Those of ten
// threads are not: they scroll, and an edge lies in shadow while there is more beyond it.
func TestAStageKeepsItsHeightOverARun(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1366, 768))
	names := []string{ // the highest of each shape
		"mutex-self-deadlock", "two-masters", "over-buying-lease-ends", "notify", "redlock-restart-without-data", "flash-sale-local-locks", "no-lock-flash-sale",
	}
	const tenThreads = "no-lock-lost-update"
	if !testing.Short() {
		names = names[:0]
		for _, name := range lessonstest.Names(t) {
			if name = strings.TrimSuffix(name, ".yaml"); name != tenThreads {
				names = append(names, name)
			}
		}
	}
	type span struct{ Stage, Sentence, Cut float64 } // px
	const walked = `(async () => {
		const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
		const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
		const place = () => document.getElementById("place").textContent;
		const high = {stage: [], sentence: []}, lanes = document.getElementById("lanes-card");
		let cut = 0;
		press("Home");
		await frame();
		for (let last = null; place() !== last;) {
			last = place();
			for (const id in high) high[id].push(document.getElementById(id).getBoundingClientRect().height);
			cut = Math.max(cut, lanes.scrollHeight - lanes.clientHeight);
			press("ArrowRight");
			await frame();
		}
		const grows = (all) => Math.max(...all) - Math.min(...all);
		return {Stage: grows(high.stage), Sentence: grows(high.sentence), Cut: cut};
	})()`
	for i, name := range names {
		address := fmt.Sprintf("%s/play/%s?lang=%s", url, name, words.All()[i%len(words.All())].Code())
		do(ctx, t, chromedp.Navigate("about:blank"), chromedp.Navigate(address), chromedp.WaitVisible(chromedp.CSS("#choices .move")), chromedp.KeyEvent(kb.End))
		until(ctx, t, `document.querySelector('[data-go="end"]').getAttribute("aria-disabled") === "true" && `+place+`.includes("T")`)
		got, err := chromedp.Run(ctx, chromedp.Evaluate[span](walked, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatal(name, ": ", err)
		}
		if got.Stage > 1 || got.Sentence > 1 || got.Cut > 0 {
			t.Errorf("%s: the stage grows by %.1f px, the sentence by %.1f, and %.0f px of the lanes are cut", name, got.Stage, got.Sentence, got.Cut)
		}
	}

	do(ctx, t, chromedp.Navigate("about:blank"), chromedp.Navigate(url+"/play/"+tenThreads), chromedp.WaitVisible(chromedp.CSS("#choices .move")), chromedp.KeyEvent(kb.ArrowRight))
	until(ctx, t, place+`.includes("T1") && document.querySelector("#lanes-card .lane-at") !== null`)
	if !get[bool](ctx, t, `((card) => {
		const style = getComputedStyle(card), clear = (e) => getComputedStyle(e).backgroundColor === "rgba(0, 0, 0, 0)";
		return card.scrollHeight > card.clientHeight + 20 && style.overflowY === "auto" && /local.*scroll/.test(style.backgroundAttachment) && parseFloat(style.borderBottomWidth) > 0 && clear(card.querySelector(".lanes-box"));
	})(document.getElementById("lanes-card"))`) {
		t.Error("the lanes of ten threads do not scroll, or nothing shows that they do")
	}
}

// On a laptop that shows a class what it is asked, the lanes of four threads are whole
// below the answers.
func TestAQuestionLeavesTheLanesWhole(t *testing.T) {
	t.Parallel()
	host, room := makeRoom(t, serve(t), "fair")
	stage := another(host, t)
	do(stage, t, chromedp.EmulateViewport(1366, 768), chromedp.Navigate(room+"/stage"), chromedp.WaitVisible(chromedp.CSS(`.room-board`)))
	for n := 1; n <= 6; n++ {
		do(host, t, chromedp.KeyEvent(kb.ArrowRight))
		until(host, t, fmt.Sprintf(`%s === "T%d"`, stands, n))
	}
	do(host, t, chromedp.KeyEvent("a"))
	until(stage, t, `document.body.classList.contains("asking") && document.querySelector("#lanes-card .lane-at") !== null && document.querySelectorAll(".question .options li").length > 1`)
	if got := get[string](stage, t, `((card) => card.scrollHeight <= card.clientHeight && card.getBoundingClientRect().bottom <= innerHeight ? "" : card.scrollHeight + " px of lanes in " + card.clientHeight + ", down to " + card.getBoundingClientRect().bottom)(document.getElementById("lanes-card"))`); got != "" {
		t.Error(got)
	}
}
