package e2e_test

import (
	"encoding/json"
	"fmt"
	"strconv"
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
		"<" + [node.localName, ...[...node.attributes].map((a) => a.name + "=" + (a.name === "class" ? a.value.split(/\s+/).sort().join(" ") : flat(a.value))).sort()].join(" ") + ">" +
		[...node.childNodes].map(of).join("") + "</>";
	stage.normalize();
	return of(stage);
})`

// The script draws the stage as the server does: at each row of a run, from the first to
// the last and back; and where one comes in, it is the server's own.
func TestTheScriptDrawsTheStageOfTheServer(t *testing.T) {
	t.Parallel()
	ctx, server := tab(t), serve(t)
	names := []string{ // of each shape one
		"late-write-without-a-token.yaml", "fair.yaml", "fenced-two-masters.yaml", "heartbeat.yaml", "redlock-two-nodes-down.yaml", "flash-sale-local-locks.yaml",
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
			window.walk = async (steps) => {
				const wrong = [];
				for (const step of steps) {
					document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
					while (document.querySelector("#rows tr[aria-current]")?.dataset.step !== String(step)) await new Promise((done) => setTimeout(done));
					const diff = drawnAt(step);
					if (diff) wrong.push("T" + step + ": " + diff);
				}
				return wrong;
			};
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
		var steps []string
		for row := 1; row <= len(rows) && row <= 40 && rows[row-1].Step == row; row++ {
			steps = append(steps, strconv.Itoa(row))
		}
		wrong, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](`walk([`+strings.Join(steps, ", ")+`])`, chromedp.EvalAwaitPromise))
		if err != nil || len(steps) < 2 {
			t.Fatalf("%s, %d steps: %v", name, len(steps), err)
		}
		for _, diff := range wrong {
			t.Errorf("%s, %s", name, diff)
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
	const clear = `[...document.querySelectorAll(".lane-at, [data-pill]")].every((e) => [...document.querySelectorAll("#scroll, #side")].every((card) => ` + apart + `(` + box + `(e), ` + box + `(card))))`
	names := []string{"fair", "mutex-late-release"}
	if !testing.Short() {
		names = append(names, "fenced-fail-over", "mutex-redis-full")
	}
	for _, name := range names {
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

	// No word of a belief is broken.
	const whole = `[...document.querySelectorAll("#stage .who :is(span, b, [data-slot=says])")].flatMap((e) => e.firstChild?.data ? [...e.firstChild.data.matchAll(/\S+/g)].map((word) => [e.firstChild, word.index, word.index + word[0].length]) : []).every(([text, from, to]) => {
		const range = document.createRange();
		range.setStart(text, from);
		range.setEnd(text, to);
		return range.getClientRects().length <= 1;
	})`
	open("lease-expiry", 1440, 900)
	do(ctx, t, chromedp.KeyEvent("f"), chromedp.KeyEvent("t"))
	until(ctx, t, `document.documentElement.dataset.theme === "stage" && document.getElementById("side").checkVisibility()`)
	if !get[bool](ctx, t, apart+`(...[...document.querySelectorAll("#stage > :is(.who, .redis)")].map(`+box+`)) && `+whole) {
		t.Error("on a projector the beliefs lie on each other while the tools are open")
	}
}

// walked steps a run of the page from before its first row to its last, and tells by how many
// pixels what stands still has moved, and what was out of sight on the way.
const walked = `(async () => {
	const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
	const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
	const byId = (id) => document.getElementById(id), box = (e) => e.getBoundingClientRect();
	const card = byId("scroll"), lanes = byId("lanes-card"), side = byId("side"), place = byId("place"), moves = byId("choices"), foot = place.closest(".foot");
	const inside = (e, within) => { const r = box(e); return r.height > 0 && within.every(([top, bottom]) => r.top >= top - 1 && r.bottom <= bottom + 1); };
	const bare = (e) => { const r = box(e); return e.contains(document.elementFromPoint(r.left + 12, (r.top + r.bottom) / 2)); };
	const rows = () => [box(document.querySelector("#head th")).bottom, Math.min(box(card).bottom, innerHeight)];
	const stands = {"the stage": byId("stage-box"), "the sentence": byId("sentence"), "the table": card, "the dock": foot, "Play": document.querySelector("[data-go=play]"), "what saves it": byId("saved")};
	const edges = {}, told = {Steps: 0, Rows: 0, InSight: 0, Moves: {}, RowsHidden: [], LinesHidden: [], Cut: [], FaultsHidden: [], Place: [], Lines: 0, LanesCut: 0, Sideways: 0, DockScrolls: 0};
	press("Home");
	await frame();
	for (let last = null; place.textContent !== last;) {
		last = place.textContent;
		told.Steps++;
		for (const part in stands) if (stands[part].checkVisibility()) (edges[part] ??= []).push(box(stands[part]));
		told.LanesCut = Math.max(told.LanesCut, lanes.scrollHeight - lanes.clientHeight);
		told.Sideways = Math.max(told.Sideways, card.scrollWidth - card.clientWidth, document.documentElement.scrollWidth - innerWidth);
		const row = document.querySelector("#rows tr[aria-current]");
		if (row && !(inside(row, [rows()]) && bare(row))) told.RowsHidden.push(last);
		const ran = [...document.querySelectorAll("#lua .lua-now")].filter((line) => line.checkVisibility());
		told.Lines += ran.length > 0 ? 1 : 0;
		if (ran.length > 0 && !ran.some((line) => inside(line, [line.closest(".lua-scroll"), side].map(box).map((b) => [b.top, b.bottom])) && bare(line))) told.LinesHidden.push(last);
		for (const e of foot.querySelectorAll(".move, .move *, .nodes-of, .nodes-of *, #ending .button, #ending .button *, #place, #place *, .tape button")) {
			if (e.clientWidth > 0 && !e.closest("svg") && (e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight) || e.matches("b, small") && e.getClientRects().length > 0 && box(e).height > 25) told.Cut.push(last + ": " + e.textContent);
		}
		if (moves.children.length < 8) told.DockScrolls = Math.max(told.DockScrolls, moves.scrollWidth - moves.clientWidth);
		const fault = moves.querySelector(".fault-move");
		if (fault && box(fault).width > 0 && (box(fault).right > box(moves).right + 1 || box(fault).left < box(moves).left)) told.FaultsHidden.push(last);
		if (new Set([...place.children].filter((e) => e.textContent).map((e) => box(e).top)).size !== 2) told.Place.push(last);
		press("ArrowRight");
		await frame();
	}
	const all = [...document.querySelectorAll("#rows tr")].filter((tr) => tr.checkVisibility() && !tr.matches(".space, .ran"));
	told.Rows = all.length;
	told.InSight = all.filter((tr) => inside(tr, [rows()])).length;
	for (const part in edges) told.Moves[part] = Math.max(...["top", "right", "bottom", "left"].map((side) => Math.max(...edges[part].map((at) => at[side])) - Math.min(...edges[part].map((at) => at[side]))));
	return told;
})()`

// stepped is what walked tells.
type stepped struct {
	Steps, Rows, InSight            int
	Lines                           int                // steps with a line that ran
	Moves                           map[string]float64 // px
	RowsHidden, LinesHidden         []string           // where the current row, or the line that ran, is out of sight
	Cut, FaultsHidden, Place        []string           // what of the dock is cut; where its faults are out of sight, and its place is not in two lines
	LanesCut, Sideways, DockScrolls float64            // px; the dock's with fewer than eight buttons
}

// Over a run nothing moves but what it tells: stage, sentence, table and dock stand where they
// stood; the current row and the line of Lua that ran are in sight at every step; and no word
// of the dock is cut, in either language. The lanes are whole, but for those of ten threads:
// they scroll, and none lies in a shade.
func TestOverARunNothingMovesAndNothingIsOutOfSight(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	const tenThreads = "no-lock-lost-update"
	names := []string{ // of each shape one, and the longest words
		"textbook", "late-inner-unlock-naive", "redsync", "redlock-two-nodes-down", "flash-sale-local-locks", "fail-over",
	}
	if !testing.Short() {
		names = names[:0]
		for _, file := range lessonstest.Names(t) {
			if name := strings.TrimSuffix(file, ".yaml"); name != tenThreads {
				names = append(names, name)
			}
		}
	}
	languages, lines := words.All(), 0
	for n, size := range [][2]int64{{1366, 768}, {1440, 900}} {
		for i, name := range names {
			if testing.Short() && n != i%2 {
				continue // each at one of them
			}
			l := languages[(i/2+n)%len(languages)]
			where := fmt.Sprintf("%s at %d×%d, %s", name, size[0], size[1], l.Code())
			do(ctx, t, chromedp.EmulateViewport(size[0], size[1]), chromedp.Navigate("about:blank"), chromedp.Navigate(fmt.Sprintf("%s/play/%s?lang=%s", url, name, l.Code())), chromedp.WaitVisible(chromedp.CSS("#choices .move")), chromedp.KeyEvent(kb.End))
			until(ctx, t, `document.querySelector('[data-go="end"]').getAttribute("aria-disabled") === "true" && `+place+`.includes("T")`)
			got, err := chromedp.Run(ctx, chromedp.Evaluate[stepped](walked, chromedp.EvalAwaitPromise))
			if err != nil {
				t.Fatal(where, ": ", err)
			}
			lines += got.Lines
			for what, px := range got.Moves {
				if px > .5 {
					t.Errorf("%s: %s moves by %.1f px", where, what, px)
				}
			}
			if len(got.Moves) < 5 || got.DockScrolls > 0 || got.LanesCut > 0 || got.Sideways > 0 {
				t.Errorf("%s: %d parts are in sight; the dock scrolls by %.0f px, %.0f px of the lanes are cut, %.0f px are reached sideways", where, len(got.Moves), got.DockScrolls, got.LanesCut, got.Sideways)
			}
			for what, list := range map[string][]string{"the current row is out of sight": got.RowsHidden, "the line that ran is out of sight": got.LinesHidden, "the dock cuts a word": got.Cut, "the dock's faults are out of sight": got.FaultsHidden, "the place is not in two lines": got.Place} {
				if len(list) > 0 {
					t.Errorf("%s: %s at %d of %d steps: %q", where, what, len(list), got.Steps, list)
				}
			}
			if got.Steps < 3 || name == "textbook" && (got.Rows != 9 || got.InSight != 9) {
				t.Errorf("%s: %d of %d rows are in sight after %d steps", where, got.InSight, got.Rows, got.Steps)
			}
			t.Logf("%s: %d of %d rows in sight, %d lines ran", where, got.InSight, got.Rows, got.Lines)
		}
	}
	if lines == 0 {
		t.Error("no line of a script ran")
	}

	do(ctx, t, chromedp.EmulateViewport(1366, 768))
	do(ctx, t, chromedp.Navigate("about:blank"), chromedp.Navigate(url+"/play/"+tenThreads), chromedp.WaitVisible(chromedp.CSS("#choices .move")), chromedp.KeyEvent(kb.ArrowRight))
	until(ctx, t, place+`.includes("T1") && document.querySelector("#lanes-card .lane-at") !== null`)
	if !get[bool](ctx, t, `((card) => {
		card.scrollTop = card.scrollHeight;
		return card.scrollTop > 20 && [card, card.querySelector(".lanes-box")].every((e) => getComputedStyle(e).backgroundImage === "none");
	})(document.getElementById("lanes-card"))`) {
		t.Error("the lanes of ten threads do not scroll, or lie in a shade")
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
