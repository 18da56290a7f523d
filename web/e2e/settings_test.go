package e2e_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	settings  = `document.getElementById("place").textContent !== "" && !document.getElementById("setup").hidden && [...document.getElementById("setup").elements].filter((e) => e.name).map((e) => (e.selectedOptions?.[0].text ?? e.value).replace(/\s/g, "")).join(" ")`
	textbook  = "0ms 2 80ms 5 0ms 1 50ms 5 2 reentrant 200ms off 50ms"
	sentence  = `document.getElementById("why").innerText`
	runIsOver = sentence + `.startsWith("The run is over")`
	mistake   = `(document.querySelector("#setup span.mistake")?.innerText ?? "")`
	fields    = `JSON.stringify([...document.querySelectorAll("#setup :is(input, select, .hint)")].map((e) => [e.name, e.getBoundingClientRect().x, e.getBoundingClientRect().y]))`
)

// set writes into a setting with the keyboard, and leaves it.
func set(ctx context.Context, t testing.TB, name, value string) {
	t.Helper()
	do(ctx, t, chromedp.Focus(chromedp.CSS(`#setup [name="`+name+`"]`)))
	get[bool](ctx, t, `(document.activeElement.select?.(), true)`)
	do(ctx, t, chromedp.KeyEvent(value), chromedp.KeyEvent(kb.Tab))
}

func TestSettingsByTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/textbook"))
	until(ctx, t, settings+` === "`+textbook+`"`)
	if got := get[int](ctx, t, `[...document.querySelectorAll("main :is(a, button, input, select, summary)")].filter((e) => e.checkVisibility({visibilityProperty: true}) && (({right, bottom}) => right > 1 && bottom <= innerHeight)(e.getBoundingClientRect())).length`); got > 29 {
		t.Errorf("%d controls at the start, want 29 at most", got)
	}
	if got := get[string](ctx, t, `document.title + document.getElementById("title").innerText`); strings.Contains(got, "changed") {
		t.Errorf("the bundled scenario is called %q", got)
	}

	// Three threads, depth 3, 2 retries, 150 ms.
	do(ctx, t, chromedp.Focus(chromedp.CSS(`#setup [name="threads"]`)), chromedp.KeyEvent("3"))
	until(ctx, t, settings+` === "0ms 2 80ms 5 0ms 1 50ms 5 0ms 1 50ms 5 3 reentrant 200ms off 50ms"`)
	if got := get[string](ctx, t, `document.activeElement.name`); got != "threads" {
		t.Errorf("the focus went to %q", got)
	}
	set(ctx, t, "threads[0].depth", "3")
	until(ctx, t, settings+`.startsWith("0ms 3 ")`)
	set(ctx, t, "threads[2].retry.times", "2")
	until(ctx, t, settings+`.includes(" 2 3 reentrant")`)
	set(ctx, t, "lock.lease", "150")
	const all = "0ms 3 80ms 5 0ms 1 50ms 5 0ms 1 50ms 2 3 reentrant 150ms off 50ms"
	until(ctx, t, settings+` === "`+all+`"`)
	if got := get[string](ctx, t, `document.activeElement.name`); got != "lock.watchdog" {
		t.Errorf("the focus went to %q", got)
	}
	until(ctx, t, `document.querySelector("#head .key .set").innerText.includes("150")`)
	until(ctx, t, `document.getElementById("title").innerText.endsWith("(changed)") && document.title.includes("(changed)")`)

	// It is a link, and each change is taken back by Back: a thread taken away, too.
	do(ctx, t, chromedp.Reload())
	until(ctx, t, settings+` === "`+all+`"`)
	do(ctx, t, chromedp.Focus(chromedp.CSS(`#setup [name="threads"]`)), chromedp.KeyEvent("2"))
	until(ctx, t, settings+` === "0ms 3 80ms 5 0ms 1 50ms 5 2 reentrant 150ms off 50ms"`)
	do(ctx, t, chromedp.NavigateBack())
	until(ctx, t, settings+` === "`+all+`"`)
	do(ctx, t, chromedp.NavigateBack())
	until(ctx, t, settings+` === "0ms 3 80ms 5 0ms 1 50ms 5 0ms 1 50ms 2 3 reentrant 200ms off 50ms"`)
}

// Whoever is faster than the server loses nothing: what is changed while a change is on its way is kept, and sent then.
func TestSettingsChangedWhileOthersAreOnTheirWay(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/textbook"))
	until(ctx, t, settings+` === "`+textbook+`"`)
	get[bool](ctx, t, `(() => {
		const put = (name, value) => { const field = document.querySelector('#setup [name="' + name + '"]'); field.value = value; field.dispatchEvent(new Event("change", {bubbles: true})); };
		const real = fetch, was = location.hash;
		let asked = 0, let2 = null;
		window.fetch = async (...of) => {
			const answer = await real(...of);
			if (++asked === 2) { await new Promise((resolve) => { let2 = resolve; setTimeout(resolve, 3000); }); }
			return answer;
		};
		const when = (is, then) => is() ? then() : requestAnimationFrame(() => when(is, then));
		put("threads[0].depth", "3");
		when(() => location.hash !== was, () => {
			put("threads[1].retry.times", "2");
			when(() => document.getElementById("title").textContent.includes("changed"), () => { put("lock.lease", "150"); let2?.(); });
		});
		return true;
	})()`)
	until(ctx, t, settings+` === "0ms 3 80ms 5 0ms 1 50ms 2 2 reentrant 150ms off 50ms" && document.querySelector("#head .key .set").innerText.includes("150")`)
}

// What is typed as an answer comes is sent when its field is left: the answer does not count it as its own.
func TestWhatIsTypedAsAnAnswerComesIsSent(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/textbook"))
	until(ctx, t, settings+` === "`+textbook+`"`)
	get[bool](ctx, t, `(() => {
		const real = fetch, held = new Promise((resolve) => { window.letGo = resolve; });
		window.fetch = async (...of) => { const answer = await real(...of); await held; return answer; };
		return true;
	})()`)
	set(ctx, t, "threads[0].depth", "3")
	do(ctx, t, chromedp.Focus(chromedp.CSS(`#setup [name="lock.lease"]`)))
	get[bool](ctx, t, `(document.activeElement.select(), true)`)
	do(ctx, t, chromedp.KeyEvent("150"))
	get[bool](ctx, t, `(letGo(), true)`)
	until(ctx, t, `document.querySelector("#head").innerText.includes("3 levels")`)
	if got := get[string](ctx, t, `document.activeElement.name + " " + document.activeElement.value`); got != "lock.lease 150" {
		t.Errorf("what is being typed: %q", got)
	}
	do(ctx, t, chromedp.KeyEvent(kb.Tab))
	until(ctx, t, settings+` === "0ms 3 80ms 5 0ms 1 50ms 5 2 reentrant 150ms off 50ms" && document.querySelector("#head .key .set").innerText.includes("150")`)
}

func TestAMistakeInASettingIsBesideItsField(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/textbook"))
	until(ctx, t, settings+` === "`+textbook+`"`)
	places, was := get[string](ctx, t, fields), get[string](ctx, t, `history.length + document.getElementById("head").innerText`)
	set(ctx, t, "lock.lease", kb.Backspace) // nothing is no value
	if got := get[string](ctx, t, settings); got != textbook {
		t.Errorf("a field that was emptied: %s", got)
	}
	set(ctx, t, "threads[0].depth", "33")
	until(ctx, t, mistake+`.includes("a whole number from 1 to 16")`)
	if !get[bool](ctx, t, `(([a, b]) => b.left < a.right && b.top >= a.bottom && b.top < a.bottom + 8)(["[aria-invalid]", ".mistake"].map((s) => document.querySelector("#setup td " + s).getBoundingClientRect()))`) {
		t.Error("it is not beside the field")
	}
	if got := get[string](ctx, t, `document.getElementById(document.querySelector('#setup [name="threads[0].depth"]').getAttribute("aria-describedby").trim()).innerText`); !strings.Contains(got, "from 1 to 16") {
		t.Errorf("the field is described by %q", got)
	}
	if got := get[string](ctx, t, fields); got != places {
		t.Errorf("fields have moved:\n%s\n%s", places, got)
	}
	set(ctx, t, "threads[1].work", "soon") // both are wrong now
	until(ctx, t, `document.querySelectorAll("#setup span.mistake").length === 2`)
	if got := get[string](ctx, t, `history.length + document.getElementById("head").innerText`); got != was {
		t.Errorf("something has changed: %s", got)
	}
	set(ctx, t, "threads[1].work", "60")
	until(ctx, t, `document.querySelectorAll("#setup span.mistake").length === 1`)
	set(ctx, t, "threads[0].depth", "3")
	until(ctx, t, settings+` === "0ms 3 80ms 5 0ms 1 60ms 5 2 reentrant 200ms off 50ms"`)
	until(ctx, t, mistake+` === "" && document.querySelector("#head").innerText.includes("3 levels")`)
}

func TestARunAtItsEndRunsToItsNewEnd(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/lease-expiry"))
	until(ctx, t, place+`.includes("at the start")`)
	do(ctx, t, chromedp.KeyEvent(kb.End))
	until(ctx, t, runIsOver)
	before := get[string](ctx, t, `document.getElementById("rows").innerText`)

	// From the menu, by the keyboard: the focus goes in, and back.
	do(ctx, t, chromedp.Focus(chromedp.CSS("#more summary")), chromedp.KeyEvent("\r"), chromedp.Focus(chromedp.CSS("#more [data-setup]")), chromedp.KeyEvent("\r"))
	until(ctx, t, `document.activeElement.closest("#setup.over") !== null`)
	do(ctx, t, chromedp.KeyEvent(kb.Escape))
	until(ctx, t, `document.getElementById("setup").hidden && document.activeElement.closest("#more") !== null`)
	do(ctx, t, click("#head .key .set"), click(".setup-close"))
	until(ctx, t, `document.getElementById("setup").hidden && document.activeElement.closest("#more") !== null`)

	do(ctx, t, click("#head .key .set"))
	set(ctx, t, "lock.lease", "400")
	until(ctx, t, `document.querySelector("#head .key .set").innerText.includes("400") && `+runIsOver)
	after := get[string](ctx, t, `document.getElementById("rows").innerText`)
	if before == after || get[bool](ctx, t, `document.getElementById("setup").hidden`) {
		t.Errorf("the table after is that before, or the settings are shut:\n%s", after)
	}
	do(ctx, t, chromedp.NavigateBack())
	until(ctx, t, `document.querySelector("#head .key .set").innerText.includes("100") || document.querySelector("#head .key .set").innerText.includes("200")`)
	until(ctx, t, `document.getElementById("rows").innerText === `+strconv.Quote(before))
}

// What somebody did stays where it fits; the page says what does not.
func TestAScenarioKeepsTheMovesThatFit(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/textbook"))
	until(ctx, t, place+`.includes("at the start")`)
	do(ctx, t, chromedp.KeyEvent(kb.End))
	until(ctx, t, runIsOver)
	// Each move is packed into the link after it was made: the last one is there once it stays as it is.
	until(ctx, t, `((now) => { const stays = now.length > 10 && window.before === now; window.stays = stays ? (window.stays ?? 0) + 1 : 0; window.before = now; return window.stays > 25; })(document.getElementById("edit").hash)`)
	do(ctx, t, chromedp.Navigate(url+"/edit"+get[string](ctx, t, `(document.getElementById("edit").hash)`)))
	live(ctx, t)
	until(ctx, t, yaml+`.includes("schedule:")`)
	do(ctx, t, click("#f-threads-0-depth"))
	get[bool](ctx, t, `(document.activeElement.select(), true)`)
	do(ctx, t, chromedp.KeyEvent("1"))
	shows(ctx, t, yaml+`.includes("depth: 1")`)
	do(ctx, t, click(`button[value="step"]`))
	until(ctx, t, `location.pathname === "/play" && `+problem+`.includes("no longer fit the scenario and are dropped: the run has ended")`)
	until(ctx, t, settings+` === "0ms 1 80ms 5 0ms 1 50ms 5 2 reentrant 200ms off 50ms"`)
}

// Another lock goes without what it does not have, and the page says so.
func TestAnotherLockInTheSettings(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/redlock-clock-jump"))
	until(ctx, t, settings+`.includes("redlock")`)
	do(ctx, t, chromedp.Focus(chromedp.CSS(`#setup [name="lock.protocol"]`)), chromedp.KeyEvent("mutex"))
	until(ctx, t, settings+`.includes(" mutex ") && `+problem+`.startsWith("Left out, because it does not fit what you have chosen: ")`)
}

func TestSettingsOnAPhoneInChinese(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(390, 844), chromedp.Navigate(url+"/play/textbook?lang=zh-CN"))
	until(ctx, t, settings+` === "`+textbook+`"`)
	const small = `[...document.querySelectorAll("#setup :is(input, select)")].filter((e) => e.checkVisibility() && (e.getBoundingClientRect().height < 44 || e.getBoundingClientRect().right > innerWidth)).length`
	if n := get[int](ctx, t, small); n > 0 || get[bool](ctx, t, `document.documentElement.scrollWidth > innerWidth`) {
		t.Errorf("%d fields are small, or the page scrolls sideways", n)
	}
	set(ctx, t, "threads[1].start", "0 秒")
	until(ctx, t, mistake+`.includes("带单位的时间")`)
	if get[bool](ctx, t, `(({left, right}) => left < 0 || right > innerWidth)(document.querySelector("#setup span.mistake").getBoundingClientRect())`) {
		t.Error("the mistake is cut off")
	}
	set(ctx, t, "threads[1].start", "5")
	until(ctx, t, settings+` === "0ms 2 80ms 5 5ms 1 50ms 5 2 reentrant 200ms off 50ms"`)
	do(ctx, t, click(moveOf("A")), click("#more summary"), click("#more [data-setup]"))
	until(ctx, t, `(({top, bottom}) => top >= 0 && bottom <= innerHeight)(document.getElementById("setup").getBoundingClientRect()) && document.activeElement.closest("#setup") !== null`)
	if n := get[int](ctx, t, small); n > 0 {
		t.Errorf("%d fields are small", n)
	}
	do(ctx, t, click(".setup-close"))
	until(ctx, t, `document.getElementById("setup").hidden`)
}
