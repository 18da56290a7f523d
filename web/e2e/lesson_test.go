package e2e_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// ownLesson has a note, a place, and two questions.
const ownLesson = `title: {en: Mine, zh-CN: 我的课}
steps:
  - {example: lease-expiry, notes: "Welcome them."}
  - at: T2
    title: Who is next?
    hold: true
    question: {text: "Who gets in?", options: [A, B], right: 2}
    notes: Let them talk.
  - {example: mutex, title: A lock in one command}
`

// A host drops a lesson, and goes through it by the keyboard and from a phone;
// what was done is saved as one.
func TestAHostGoesThroughALesson(t *testing.T) {
	t.Parallel()
	base := serve(t)
	host := tab(t)
	do(host, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(base+"/room/new"), chromedp.WaitVisible(chromedp.CSS(`#lesson-text`)))
	_ = get[bool](host, t, `(() => {
		const data = new DataTransfer();
		data.items.add(new File([`+"`"+ownLesson+"`"+`], "mine.yaml"));
		document.getElementById("own-lesson").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
		return true;
	})()`)
	until(host, t, `document.getElementById("lesson-text").value.startsWith("title:")`)
	do(host, t, click(`#own-lesson button`))
	until(host, t, `document.querySelector("#lesson:not([hidden]) option:checked")?.textContent === "1 of 3: The lease ends before the work"`)
	room := base + "/room/" + get[string](host, t, `document.querySelector("[data-room]").dataset.room`)
	stage, phone := another(host, t), join(host, t, room, "A")
	do(stage, t, chromedp.EmulateViewport(1280, 720), chromedp.Navigate(room+"/stage"), chromedp.WaitVisible(chromedp.CSS(`.room-board`))) // the host's browser
	until(host, t, `document.getElementById("lesson-notes").textContent === "Welcome them."`)

	do(host, t, chromedp.KeyEvent("g"))
	until(stage, t, stands+` === "T2"`)
	until(host, t, `document.getElementById("lesson-next").textContent === "Next: ask" && document.getElementById("lesson-notes").textContent === "Let them talk."`)
	if shown := get[[]string](host, t, controlsInSight); len(shown) > 20 || !slices.Contains(shown, "Next: ask") || !slices.Contains(shown, "Ask") || !slices.Contains(shown, "I lead") || !slices.Contains(shown, "They play") {
		t.Errorf("a host has %d controls in sight: %q", len(shown), shown)
	}
	until(phone, t, `!document.getElementById("held").hidden`)
	do(stage, t, chromedp.KeyEvent(kb.PageDown)) // a presenter's remote
	until(phone, t, `document.getElementById("question-text").textContent === "Who gets in?"`)
	until(stage, t, `document.getElementById("question-text").textContent === "Who gets in?"`)
	do(phone, t, click(`[data-vote="1"]`))
	until(host, t, votes+` === "1 of 1 voted"`)
	if get[bool](stage, t, `document.body.textContent.includes("Let them talk") || document.getElementById("lesson") !== null`) {
		t.Error("the stage has what is for the host alone")
	}

	// From the host's phone.
	do(host, t, chromedp.EmulateViewport(390, 844))
	until(host, t, `document.getElementById("remote-next").checkVisibility() && document.getElementById("remote-next").textContent === "Next: reveal"`)
	do(host, t, click(`#remote-next`))
	until(stage, t, votes+` === "1 of 1 voted · 100% right"`)
	do(host, t, click(`#remote-next`))
	until(stage, t, `document.getElementById("asked").hidden && document.querySelectorAll("[data-cast]").length > 0 && !document.getElementById("title").textContent.includes("lease")`)
	until(host, t, `document.getElementById("lesson-next").getAttribute("aria-disabled") === "true"`)
	do(host, t, chromedp.EmulateViewport(1440, 900), chromedp.KeyEvent(kb.PageUp))
	until(stage, t, stands+` === "T2"`)

	_ = get[bool](host, t, `fetch(document.getElementById("save-lesson").href, {headers: {Accept: "application/json"}}).then((a) => a.json()).then((made) => { window.made = made.link; }) !== null`)
	until(host, t, `window.made !== undefined`)
	do(host, t, chromedp.Navigate(base+get[string](host, t, `window.made`)))
	until(host, t, `document.getElementById("lesson-text").value === location.hash.slice(1)`)
	do(host, t, click(`#own-lesson button`))
	until(host, t, `document.querySelectorAll("#lesson-steps option").length >= 3`)
}

// A class in an item of the kind break sees the goal and how far it is; a host
// asks something of his own.
func TestAGoalAndAQuestionOfTheHostsOwn(t *testing.T) {
	t.Parallel()
	host, room := makeRoom(t, serve(t), "lease/outlast")
	stage, phone := another(host, t), join(host, t, room, "A")
	do(stage, t, chromedp.EmulateViewport(1280, 720), chromedp.Navigate(room+"/stage"), chromedp.WaitVisible(chromedp.CSS(`#goal`)))
	until(stage, t, `document.getElementById("goal").textContent.includes("0 moves, 0 of them") && document.getElementById("goal").textContent.includes("It cannot be done with fewer than")`)
	until(phone, t, `document.getElementById("goal").checkVisibility() && document.getElementById("goal").textContent.includes("0 moves, 0 of them")`)
	do(phone, t, click(`[data-step="A"]`))
	until(stage, t, `document.getElementById("goal").textContent.includes("1 moves")`)
	until(phone, t, `document.getElementById("goal").textContent.includes("1 moves")`)
	until(host, t, `document.getElementById("goal").textContent.includes("1 moves")`)

	do(host, t, inMenu("#more", `[data-dialog="own-question"]`), chromedp.WaitVisible(chromedp.CSS(`#own-text`)))
	do(host, t, chromedp.SendKeys(chromedp.CSS(`#own-text`), "Who is late?"), click(`#own-threads`), click(`#own-form .primary`))
	until(host, t, `document.getElementById("own-problem").textContent.startsWith("Begin only the right option")`)
	_ = get[bool](host, t, `(document.getElementById("own-options").value = "A\n* B") !== ""`)
	do(host, t, click(`#own-form .primary`))
	until(stage, t, `document.getElementById("question-text").textContent === "Who is late?"`)
	do(phone, t, click(`[data-vote="1"]`))
	until(host, t, votes+` === "1 of 1 voted"`)
	do(host, t, click(`#reveal`))
	until(stage, t, votes+` === "1 of 1 voted · 100% right"`)
}

// Watchers on a laptop see lanes and table, and a phone loads nothing of them; the
// stage's labels can be read from the last row.
func TestWhoWatchesOnALaptopSeesTheLanes(t *testing.T) {
	t.Parallel()
	host, room := makeRoom(t, serve(t), "lease-expiry")
	laptop, phone, stage := device(host, t), join(host, t, room, ""), another(host, t)
	do(laptop, t, chromedp.EmulateViewport(1366, 768), chromedp.Navigate(room), chromedp.WaitVisible(chromedp.CSS(`#claims`)))
	for n := 1; n <= 5; n++ {
		do(host, t, chromedp.KeyEvent(kb.ArrowRight))
		until(host, t, stands+` === "T`+string(rune('0'+n))+`"`)
	}
	const line = `document.querySelector("#lanes [data-cursor]")`
	until(laptop, t, `document.getElementById("lanes").checkVisibility() && document.querySelectorAll("#rows tr[id]").length === 5 && document.querySelectorAll("#lanes [data-step]").length === 5`)
	until(laptop, t, `parseFloat(`+line+`.getAttribute("x")) === parseFloat(document.querySelector('#lanes [data-step="5"]').getAttribute("data-x"))`)
	if at := get[string](laptop, t, `getComputedStyle(document.querySelector("#lanes .lane-name")).fontWeight + getComputedStyle(document.querySelector("#lanes .lane-bar")).fillOpacity`); at != "7000.26" {
		t.Errorf("the lanes are drawn with %s", at)
	}
	if get[bool](laptop, t, `document.documentElement.scrollWidth > innerWidth`) {
		t.Error("the page scrolls sideways")
	}
	do(host, t, chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent("a"))
	until(laptop, t, `document.body.classList.contains("asking")`)
	until(laptop, t, `parseFloat(`+line+`.getAttribute("x")) === parseFloat(document.querySelector('#lanes [data-step="4"]').getAttribute("data-x")) && getComputedStyle(document.querySelector("#lanes .lane-later")).fillOpacity === "1"`)
	if told := get[string](laptop, t, `[...document.querySelectorAll("#lanes .lanes-run text, #rows tr")].filter((e) => e.getClientRects().length > 0 && (e.matches("tr") ? /T5|210/ : /T5|200|210/).test(e.textContent)).map((e) => e.textContent).join()`); told != "" {
		t.Errorf("while it is asked the page tells %s", told)
	}
	if get[bool](phone, t, `performance.getEntriesByType("resource").some(({name}) => /lanes/.test(name)) || document.getElementById("lanes").checkVisibility()`) {
		t.Error("a phone loads the lanes")
	}
	do(stage, t, chromedp.EmulateViewport(1920, 1080), chromedp.Navigate(room+"/stage"), chromedp.WaitVisible(chromedp.CSS(`.lanes .lane-name`)))
	until(stage, t, `document.querySelector(".lanes .lane-at") !== null`)
	const least = `Math.min(...[...document.querySelectorAll(".lanes text")].filter((e) => e.textContent.trim()).map((e) => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a))`
	if px := get[float64](stage, t, least); px < 24 {
		t.Errorf("the smallest label of the stage's lanes has %v px", px)
	}
	if !get[bool](stage, t, `document.querySelector(".lanes .lane-at").getBoundingClientRect().bottom < document.querySelector(".lanes-box").getBoundingClientRect().bottom`) {
		t.Error("the lanes' axis is cut off")
	}
}

// A host can lead a lesson from a phone: its steps have long titles.
func TestALessonFitsAHostsPhone(t *testing.T) {
	t.Parallel()
	base := serve(t)
	host := tab(t)
	do(host, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(base+"/room/new"), click(`form:has([name="lesson"][type="hidden"]) button`))
	until(host, t, `document.querySelector("#lesson:not([hidden]) option:checked") !== null`)
	for _, width := range []int64{320, 360, 390} {
		do(host, t, chromedp.EmulateViewport(width, 720))
		if wide := get[int64](host, t, `document.documentElement.scrollWidth`); wide > width {
			t.Errorf("%d px wide in a window of %d", wide, width)
		}
	}
}

// Watchers on a phone have the stage, as the projector has it, at the class's place,
// without anything that gives the answer away. Players of a thread have none.
func TestWhoWatchesOnAPhoneSeesTheStage(t *testing.T) {
	t.Parallel()
	host, room := makeRoom(t, serve(t), "lease-expiry")
	watcher, player, stage := join(host, t, room, ""), join(host, t, room, "A"), another(host, t)
	do(watcher, t, chromedp.EmulateViewport(390, 844))
	zh := join(host, t, room+"?lang=zh-CN", "")
	do(zh, t, chromedp.EmulateViewport(390, 844))
	do(stage, t, chromedp.EmulateViewport(1280, 720), chromedp.Navigate(room+"/stage"), chromedp.WaitVisible(chromedp.CSS(`#stage`)))
	const shown = `[...document.querySelectorAll("#stage [data-slot], #stage .cord, #stage .redis")].map((e) => [e.dataset.slot, e.className, e.hidden, e.children.length === 0 ? e.textContent : ""].join("|")).join("\n") + document.getElementById("stage").className`
	same := func(when string) {
		t.Helper()
		want := get[string](stage, t, shown)
		until(watcher, t, `(`+shown+`) === `+strconv.Quote(want))
		for _, phone := range []context.Context{watcher, zh} {
			if wide := get[int64](phone, t, `document.documentElement.scrollWidth`); wide > 390 {
				t.Errorf("%s: %d px wide in a window of 390", when, wide)
			}
		}
	}
	same("at the start")
	for n := 1; n <= 5; n++ {
		do(host, t, chromedp.KeyEvent(kb.ArrowRight))
		row := "T" + strconv.Itoa(n)
		until(stage, t, stands+` === "`+row+`"`)
		until(watcher, t, classAt+` === "The class is at `+row+`."`)
		same(row)
		if why := get[string](stage, t, `document.getElementById("why").innerText.trim()`); why == "" || why != get[string](watcher, t, `document.getElementById("class-why").innerText.trim()`) {
			t.Errorf("%s: the projector says %q", row, why)
		}
	}
	do(host, t, chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent("a"))
	until(stage, t, `document.body.classList.contains("asking")`)
	until(watcher, t, `document.body.classList.contains("asking")`)
	same("T4, asked")
	if told := get[string](watcher, t, `[...document.querySelectorAll("#stage .who > :not(.name), #stage .cord, #class-why, #stage .broken-rule")].map((e) => (e.dataset.is ?? "") + e.textContent.trim()).join("")`); told != "" {
		t.Errorf("while it is asked the stage tells %q", told)
	}
	do(host, t, chromedp.KeyEvent("r"), chromedp.KeyEvent("c"))
	until(watcher, t, `!document.body.classList.contains("asking") && document.querySelector('#stage [data-who="0"]').dataset.is === "holds"`)
	same("T4, closed")

	// In the next scenario, too, whose threads are others.
	do(host, t, chromedp.KeyEvent("s"), click(`#scenes [data-open="fair"]`))
	until(stage, t, `document.querySelectorAll("#stage .who").length === 4`)
	same("another scenario")
	if get[bool](player, t, `document.getElementById("stage").checkVisibility()`) {
		t.Error("who plays a thread sees what Redis holds")
	}
}
