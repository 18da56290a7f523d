package e2e_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"relock/web/link"
)

// another opens one more tab of a browser.
func another(ctx context.Context, t testing.TB) context.Context {
	t.Helper()
	return open(ctx, t)
}

// device opens a tab that knows nothing of the browser's others: on a device of
// its own.
func device(ctx context.Context, t testing.TB) context.Context {
	t.Helper()
	return open(ctx, t, chromedp.WithNewBrowserContext())
}

// open opens a tab whose steps end when ctx does. The tab itself stays until the test's end, and is closed
// while its messages are still heard: chromedp waits for ever, and all tabs with it, for a tab that goes on
// talking after its context was cancelled.
func open(ctx context.Context, t testing.TB, options ...chromedp.ContextOption) context.Context {
	t.Helper()
	tab, forget := chromedp.NewContext(context.WithoutCancel(ctx), options...)
	t.Cleanup(forget)
	if err := chromedp.Do(tab); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeTarget(tab, t) })
	steps, stop := context.WithCancel(tab)
	t.Cleanup(stop)
	context.AfterFunc(ctx, stop)
	return steps
}

// closeTarget closes a tab, and waits until the browser no longer has it.
func closeTarget(tab context.Context, t testing.TB) {
	t.Helper()
	tab, cancel := context.WithTimeout(tab, time.Minute)
	defer cancel()
	c := chromedp.FromContext(tab)
	id := c.Target.TargetID
	if _, err := cdp.Call(tab, c.Browser, target.CloseTarget, target.CloseTargetParams{TargetID: id}); err != nil { // the browser is gone
		return
	}
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		have, err := cdp.Call(tab, c.Browser, target.GetTargets, target.GetTargetsParams{})
		if err != nil || !slices.ContainsFunc(have.TargetInfos, func(i *target.Info) bool { return i.TargetID == id }) {
			return
		}
		select {
		case <-again.C:
		case <-tab.Done():
			t.Error("the tab does not close")
			return
		}
	}
}

const (
	lead    = `[...document.querySelectorAll("[data-hold][aria-pressed=true]")].map((b) => b.textContent).join(", ")`
	members = `(document.getElementById("members")?.textContent ?? "")`
	stands  = `(document.querySelector("#rows tr[aria-current] .t")?.textContent ?? "")`
	classAt = `document.getElementById("class-at").textContent`
	votes   = `document.getElementById("question-votes").textContent`
)

// makeRoom makes a room as a teacher would, and returns the host's tab, and the
// room's address.
func makeRoom(t testing.TB, url, from string) (host context.Context, room string) {
	t.Helper()
	host = tab(t)
	do(
		host, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/room/new?from="+from),
		click(`.room-new .primary`),
	)
	until(host, t, members+` !== ""`)
	return host, url + "/room/" + get[string](host, t, `document.querySelector("[data-room]").dataset.room`)
}

// join opens a room on a phone, and has it play a thread, "" for none.
func join(host context.Context, t testing.TB, room, thread string) context.Context {
	t.Helper()
	phone := device(host, t)
	do(phone, t, chromedp.EmulateViewport(360, 740), chromedp.Navigate(room), chromedp.WaitVisible(chromedp.CSS(`#claims`)))
	if thread != "" {
		do(phone, t, click(`[data-claim="`+thread+`"]`), chromedp.WaitVisible(chromedp.CSS(`[data-mine="`+thread+`"]`)))
	}
	return phone
}

func TestAClassGoesThroughALesson(t *testing.T) {
	t.Parallel()
	host, room := makeRoom(t, serve(t), "lease-expiry")
	stage := tab(t) // another browser: of nobody who leads
	do(stage, t, chromedp.EmulateViewport(1280, 720), chromedp.Navigate(room+"/stage"), chromedp.WaitVisible(chromedp.CSS(`.room-board`)))
	do(stage, t, chromedp.WaitVisible(chromedp.CSS(`#join-code`))) // nobody is in
	a, b := join(host, t, room, "A"), join(host, t, room, "B")
	until(stage, t, `!document.getElementById("join").open`)
	do(a, t, click(`#lost`))
	until(host, t, members+` === "2 here · 1 lost"`)
	do(a, t, click(`#lost`))
	until(host, t, members+` === "2 here"`)
	name := strings.TrimSuffix(strings.TrimPrefix(get[string](a, t, `document.getElementById("me").textContent`), "You are "), ".")
	until(stage, t, `document.querySelector('[data-cast="A"] [data-by]').textContent === "`+name+`"`)

	// Each is a thread.
	do(a, t, click(`[data-step="A"]`))
	until(stage, t, stands+` === "T1"`)
	until(a, t, `document.querySelector('[data-mine="A"] [data-knows]').textContent.includes("acquired")`)
	until(a, t, `document.querySelector('[data-mine="A"] [data-belief]').textContent === "I hold the lock, once."`)
	until(b, t, classAt+` === "The class is at T1." && document.getElementById("class-why").textContent.trim().startsWith("A has the lock")`)
	until(b, t, `document.getElementById("status").textContent.includes("A has the lock")`)
	do(a, t, click(`[data-step="A"]`))
	until(a, t, `document.getElementById("problem").textContent.startsWith("works until")`)
	do(b, t, click(`[data-step="B"]`))
	until(stage, t, stands+` === "T2"`)
	until(host, t, stands+` === "T2"`)

	// All are asked. The test learns the right answer by asking before.
	until(host, t, `document.getElementById("coming").textContent !== ""`)
	do(host, t, chromedp.KeyEvent("a"))
	until(host, t, `document.getElementById("asked").dataset.state === "open" && document.getElementById("coming").textContent === ""`) // it would be told
	do(host, t, chromedp.KeyEvent("r"))
	until(host, t, `document.querySelector(".options .right") !== null`)
	right := get[string](host, t, `String([...document.querySelectorAll(".options li")].findIndex((li) => li.classList.contains("right")))`)
	wrong := map[bool]string{true: "1", false: "0"}[right == "0"]
	do(host, t, chromedp.KeyEvent("c"))
	for _, tab := range []context.Context{host, a} {
		until(tab, t, `document.getElementById("asked").hidden`)
	}
	do(host, t, chromedp.KeyEvent("a"))
	until(stage, t, `!document.getElementById("asked").hidden`)
	until(a, t, `document.getElementById("status").textContent.startsWith("A question: ")`)
	do(a, t, click(`[data-step="A"]`))
	until(a, t, `document.getElementById("problem").textContent.startsWith("First the question")`)
	do(a, t, click(`[data-vote="`+right+`"]`))
	do(b, t, click(`[data-vote="`+wrong+`"]`))
	until(stage, t, votes+` === "2 of 2 voted"`)
	if get[bool](stage, t, `document.querySelector(".options :is(.bar, .count)") !== null`) {
		t.Error("votes are seen before they are revealed")
	}
	do(host, t, click(`#clock`))
	until(a, t, `/^·\s(60|59|58)\ss$/.test(document.getElementById("question-clock").textContent)`)
	until(stage, t, `/^·\s5[0-8]\ss$/.test(document.getElementById("question-clock").textContent)`) // it runs
	do(host, t, click(`#reveal`))
	until(stage, t, `document.querySelector(".options .count") !== null && `+votes+` === "2 of 2 voted"`)
	if get[bool](stage, t, `document.querySelector(".options .right, .options .is-right") !== null`) {
		t.Error("half of them are to talk, and who is right is shown")
	}
	until(stage, t, `document.getElementById("question-advice").textContent.includes("neighbour")`)
	do(host, t, click(`#again`))
	until(b, t, `document.querySelector('.option[aria-pressed="true"]') === null && document.querySelector("[data-vote]") !== null`)
	for _, phone := range []context.Context{a, b} {
		do(phone, t, click(`[data-vote="`+right+`"]`))
	}
	until(host, t, votes+` === "2 of 2 voted"`)
	do(host, t, chromedp.KeyEvent("r"))
	until(stage, t, votes+` === "2 of 2 voted · 100% right"`)
	counts := get[string](stage, t, `[...document.querySelectorAll(".options li")].map((li) => li.querySelector(".count").textContent + (li.classList.contains("right") ? "!" : "")).sort().join()`)
	if !strings.HasSuffix(counts, "0 first 0,0 first 1,2 first 1!") {
		t.Errorf("the second vote beside the first: %s", counts)
	}
	until(b, t, `document.getElementById("status").textContent.startsWith("The votes: ")`)

	// The run goes on, and shows it.
	do(host, t, chromedp.KeyEvent("c"), chromedp.KeyEvent(kb.ArrowRight))
	until(stage, t, `document.getElementById("asked").hidden && `+stands+` === "T3"`)

	// Back, and another order: both branches stay, and all are on the new one.
	do(host, t, chromedp.KeyEvent(kb.ArrowLeft))
	until(stage, t, stands+` === "T2"`)
	do(host, t, inMenu("#more", "#beside"), click("#tab-redis"), click(`#to-expiry`))
	until(host, t, `document.querySelectorAll("#branches [aria-pressed]").length === 2`)
	until(stage, t, `document.querySelector("#rows tr[aria-current] .happened")?.textContent.includes("lease ran out")`)
}

// canonical is an address's link as the server writes it: the page writes it
// again when it has opened, and compresses otherwise.
func canonical(t *testing.T, address string) string {
	t.Helper()
	_, text, _ := strings.Cut(address, "#")
	state, err := link.Decode(text)
	if err != nil {
		t.Fatal(address, ": ", err)
	}
	if text, err = link.Encode(state); err != nil {
		t.Fatal(err)
	}
	return text
}

// A host takes the class to another scenario in the same room: stage and phones
// go along without being loaded again, in each one's language; who has stepped
// alone hears of it, and all is taken home.
func TestAHostTakesTheClassToAnotherScenario(t *testing.T) {
	t.Parallel()
	host, room := makeRoom(t, serve(t), "lease-expiry")
	stage := another(host, t)
	phone, audience := join(host, t, room, "A"), device(host, t)
	do(stage, t, chromedp.EmulateViewport(1280, 720), chromedp.Navigate(room+"/stage?lang=zh-CN"), chromedp.WaitVisible(chromedp.CSS(`.room-board`)))
	do(audience, t, chromedp.EmulateViewport(360, 740), chromedp.Navigate(room+"?lang=zh-CN"), chromedp.WaitVisible(chromedp.CSS(`#claims`)))
	do(audience, t, click(`#so-far summary`))
	for _, tab := range []context.Context{host, stage, phone, audience} {
		_ = get[bool](tab, t, `window.same = true`)
	}
	do(host, t, chromedp.KeyEvent(kb.ArrowRight))
	until(audience, t, `document.querySelectorAll("#rows tr[id]").length === 1`)
	until(host, t, members+` === "2 here"`)
	alone := device(host, t)
	do(alone, t, chromedp.EmulateViewport(1280, 720), chromedp.Navigate(room+"?lang=en"), chromedp.WaitVisible(chromedp.CSS(`#own`)))
	until(alone, t, classAt+` === "The class is at T1."`)
	do(alone, t, click(`#own`))
	until(alone, t, `document.querySelector(".room-back a")?.textContent === "Back to the class (T1)"`)
	own := get[string](alone, t, `location.href`)

	// By the keyboard: find it, choose it, and close the question.
	do(host, t, chromedp.KeyEvent("a"))
	until(host, t, `document.getElementById("asked").dataset.state === "open"`)
	do(host, t, chromedp.KeyEvent("s"), chromedp.WaitVisible(chromedp.CSS(`#scenes`)))
	do(host, t, chromedp.SendKeys(chromedp.CSS(`#scenes-filter`), kb.Backspace+"one user buys more"))
	until(host, t, `[...document.querySelectorAll("#scenes [data-open]")].filter((b) => b.checkVisibility()).length === 1`)
	do(host, t, chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS(`#scenes-sure`)))
	if get[string](stage, t, `String(document.querySelectorAll("[data-cast]").length)`) != "2" {
		t.Error("the class goes on while a question is open, and nobody was asked")
	}
	do(host, t, click(`#scenes-go`))
	until(host, t, `!document.getElementById("scenes").open && document.querySelectorAll("[data-cast]").length === 3`)
	for tab, title := range map[context.Context]string{host: "one user buys", stage: "拼团", phone: "one user buys", audience: "拼团"} {
		until(tab, t, `document.querySelector("h1").textContent.includes("`+title+`") && document.title.includes("`+title+`")`)
	}
	until(host, t, `document.querySelectorAll("#choices .t0, #choices .t1, #choices .t2").length === 3 && document.querySelectorAll("#stage [data-who]").length === 3 && document.querySelectorAll("#rail .thread-card").length === 3`)
	until(stage, t, `document.querySelectorAll("[data-cast]").length === 3 && document.getElementById("asked").hidden && document.querySelectorAll("#rows tr[id]").length === 0`)
	until(stage, t, `document.querySelector(".lanes-names").textContent.includes("C") && document.querySelectorAll(".lanes-run [data-step]").length === 0`)
	until(phone, t, `document.getElementById("went-on").textContent.endsWith(": you are A there, too.") && document.querySelector('[data-mine="A"]').checkVisibility()`)
	until(audience, t, `document.getElementById("went-on").checkVisibility() && document.querySelectorAll("#rows tr[id]").length === 0 && document.querySelectorAll("#head th").length === 5`)
	do(phone, t, click(`[data-step="A"]`))
	until(phone, t, `document.getElementById("went-on").hidden`)
	for _, tab := range []context.Context{host, stage} {
		until(tab, t, stands+` === "T1"`)
	}
	until(host, t, `document.querySelectorAll(".lanes-run [data-step]").length === 1`)
	until(audience, t, `document.querySelectorAll("#rows tr[id]").length === 1 && document.getElementById("went-on").hidden`)
	until(alone, t, `document.querySelector(".room-back").textContent.includes("The class has gone on to")`)
	if got := get[string](alone, t, `location.href`); canonical(t, got) != canonical(t, own) {
		t.Errorf("who steps alone is taken from %s to %s", own, got)
	}

	// On a phone, from a link; the new branches are counted from main.
	do(host, t, chromedp.EmulateViewport(390, 844), click(`#remote-ask`))
	until(phone, t, `!document.getElementById("asked").hidden`)
	until(host, t, `document.getElementById("remote-ask").textContent === "Reveal"`)
	do(host, t, click(`#remote-ask`))
	until(host, t, `document.getElementById("remote-ask").textContent === "Vote again"`)
	do(host, t, click(`#close-question`))
	until(phone, t, `document.getElementById("asked").hidden`)
	do(host, t, inMenu("#more", `[data-dialog=scenes]`))
	do(host, t, chromedp.SendKeys(chromedp.CSS(`#scenes-link`), own+kb.Enter))
	until(phone, t, classAt+` === "The class is at T1."`)
	until(phone, t, `document.querySelector("h1").textContent.includes("lease")`)
	until(stage, t, stands+` === "T1" && document.querySelectorAll("[data-cast]").length === 2`)
	until(host, t, stands+` === "T1" && document.querySelectorAll("[data-cast]").length === 2`)
	do(host, t, chromedp.EmulateViewport(1440, 900), chromedp.KeyEvent(kb.ArrowLeft))
	until(stage, t, `document.querySelector(".lanes-run [data-later]").getAttribute("display") !== "none" && document.querySelector("#rows tr[aria-current]") === null`)
	do(host, t, inMenu("#more", "#beside"), click("#tab-redis"), click(`#to-event`))
	until(host, t, `document.querySelector("#branches [aria-pressed='true']")?.textContent.startsWith("branch 1 ")`)
	for _, tab := range []context.Context{host, stage, phone, audience} {
		if !get[bool](tab, t, `window.same === true`) {
			t.Error("a page was loaded again")
		}
	}

	// At the end: of each scenario its branches, and what one can still do.
	do(host, t, inMenu("#more", `[data-dialog=room]`), click(`#end`), click(`#end-now`))
	for tab, again := range map[context.Context]string{host: "/scenarios", phone: "/room"} {
		until(tab, t, `document.querySelector("#gone-ways a")?.getAttribute("href") === "`+again+`"`)
		until(tab, t, `[...document.querySelectorAll("#gone-links .of-scene")].map((li) => li.querySelectorAll("a").length).join() === "1,1,2"`)
	}
}

// Several phones play one thread: what most of them want is done.
func TestATablePlaysAThread(t *testing.T) {
	t.Parallel()
	host, room := makeRoom(t, serve(t), "lease-expiry")
	one, two := join(host, t, room, "A"), join(host, t, room, "A")
	until(one, t, `document.querySelector('[data-mine="A"] [data-wishes]').textContent.startsWith("2 of you play this thread")`)
	do(one, t, click(`[data-step="A"]`))
	until(two, t, `document.querySelector('[data-mine="A"] [data-wishes]').textContent.startsWith("1 of 2 want to step")`)
	const pressed = `[...document.querySelectorAll('[data-mine="A"] [aria-pressed="true"]')].map((b) => b.textContent).join()` + asRead
	until(one, t, pressed+` === "Take my step"`)
	if got := get[string](two, t, pressed); got != "" {
		t.Errorf("what another one wishes is marked: %s", got)
	}
	until(host, t, `document.querySelector('[data-cast="A"] [data-doing]').textContent.startsWith("1 of 2 want to step")`)
	do(two, t, click(`[data-mine="A"] [data-do="pause"]`))
	until(two, t, pressed+` === "I am slow: 300 ms"`)
	tie := `document.querySelector('[data-cast="A"] [data-doing]').textContent === "1 of 2 want: to be slow; 1 of 2 want to step · a tie: the host decides"`
	until(host, t, tie)
	stage := another(host, t) // in the host's browser
	do(stage, t, chromedp.EmulateViewport(1280, 720), chromedp.Navigate(room+"/stage"))
	until(stage, t, tie)
	const controls = `[...document.querySelectorAll("button, select, input, summary")].filter((e) => e.checkVisibility()).map((e) => e.id || e.className || e.textContent).join()`
	until(stage, t, `document.querySelector('[data-cast="A"] [data-decide] button') !== null`)
	if shown := get[string](stage, t, controls); shown != "room-code" {
		t.Errorf("the projector shows what is for the host alone: %s", shown)
	}
	do(stage, t, chromedp.KeyEvent("t"), chromedp.WaitVisible(chromedp.CSS(`[data-cast="A"] [data-decide] button`)))
	do(host, t, click(`[data-cast="A"] [data-decide] button:last-child`)) // to step
	until(host, t, stands+` === "T1" && document.querySelector('[data-cast="A"] [data-decide]').hidden`)
}

// A host hands threads on, sends away and lets in, allows and ends.
func TestAHostLeadsPeople(t *testing.T) {
	t.Parallel()
	host, room := makeRoom(t, serve(t), "lease-expiry")
	phone := join(host, t, room, "")
	do(host, t, chromedp.EmulateViewport(360, 740), inMenu("#more", `[data-dialog=people]`), chromedp.WaitVisible(chromedp.CSS(`#people-list [data-key^=give]`)))
	do(host, t, click(`#deal`), chromedp.WaitVisible(chromedp.CSS(`#people-list [data-key="free A"]`)))
	do(phone, t, chromedp.WaitVisible(chromedp.CSS(`[data-mine="A"]`)))
	do(host, t, click(`#people-list [data-key="free A"]`))
	until(host, t, `document.querySelector('#people-list [data-key="free A"]') === null`)
	do(host, t, chromedp.SetValue(chromedp.CSS(`#people-list [data-key^=give]`), "B"))
	_ = get[bool](host, t, `document.querySelector("#people-list [data-key^=give]").dispatchEvent(new Event("change"))`)
	do(phone, t, chromedp.WaitVisible(chromedp.CSS(`[data-mine="B"]`)))
	until(phone, t, `document.getElementById("status").textContent === "You play B now."`)

	// Another's thread is handed over; a screen is offered none.
	second, screen := join(host, t, room, ""), tab(t)
	do(screen, t, chromedp.Navigate(room+"/stage"))
	until(host, t, `[...document.querySelectorAll("#people-list li")].some((e) => e.textContent === "A stagea screen, not a personSend away: A stage")`)
	until(host, t, `document.querySelectorAll("#people-list [data-key^=give]").length === 2`)
	_ = get[bool](host, t, `(() => {
		const offer = [...document.querySelectorAll("#people-list option")].find((o) => o.value.startsWith("B, from "));
		offer.parentElement.value = offer.value;
		return offer.parentElement.dispatchEvent(new Event("change"));
	})()`)
	do(second, t, chromedp.WaitVisible(chromedp.CSS(`[data-mine="B"]`)))
	until(phone, t, `document.getElementById("status").textContent === "You no longer play B."`)
	do(second, t, click(`#leave`))
	do(phone, t, click(`[data-claim="B"]`), chromedp.WaitVisible(chromedp.CSS(`[data-mine="B"]`)))
	if get[bool](phone, t, `document.querySelector('[data-mine="B"] [data-do="crash"]').checkVisibility()`) {
		t.Error("a player can crash where no host allows it")
	}
	do(host, t, click(`#people form > .row:last-child button`), click(`#remote-hold [data-hold="true"]`))
	do(phone, t, chromedp.WaitVisible(chromedp.CSS(`#held`)), click(`[data-step="B"]`))
	until(phone, t, `document.getElementById("problem").textContent.startsWith("The host is leading now")`)
	until(host, t, lead+` === "I lead, I lead" && `+members+`.endsWith("the host leads")`)
	do(host, t, click(`#remote-hold [data-hold="false"]`))
	until(host, t, lead+` === "They play, They play"`)
	until(phone, t, `document.getElementById("held").hidden`)
	do(host, t, inMenu("#more", `[data-dialog=room]`))
	do(host, t, click(`[data-allow="crash"]`))
	do(phone, t, chromedp.WaitVisible(chromedp.CSS(`[data-mine="B"] [data-do="crash"]`)))
	do(host, t, chromedp.KeyEvent(kb.Escape), inMenu("#more", `[data-dialog=people]`))
	do(host, t, click(`#people-list [data-key^=remove]`))
	until(phone, t, `document.getElementById("gone-why").textContent.startsWith("A host has sent you away")`)
	do(host, t, click(`#people-list [data-key^=restore]`), chromedp.WaitVisible(chromedp.CSS(`#people-list [data-key^=remove]`)))
	do(phone, t, click(`#gone-ways a`))
	until(phone, t, `document.getElementById("claims")?.checkVisibility()`)
	do(host, t, click(`#people form > .row:last-child button`), inMenu("#more", `[data-dialog=room]`))
	do(host, t, click(`[data-switch="reserve"]`))
	until(phone, t, `document.getElementById("claims-kept").checkVisibility()`)
	do(phone, t, click(`[data-claim="B"]`))
	until(phone, t, `document.getElementById("problem").textContent.startsWith("The host gives the threads here")`)
	do(host, t, click(`[data-switch="reserve"]`))
	until(phone, t, `document.getElementById("claims-kept").hidden`)
	do(host, t, click(`#end`), click(`#end-now`))
	until(phone, t, `document.getElementById("gone-why").textContent.startsWith("The room has ended")`)
	until(host, t, `document.getElementById("gone-why").textContent.startsWith("The room has ended")`)
}

// A member who steps alone finds the way back; a reloaded page is the same member.
func TestAPhoneGoesItsOwnWayAndComesBack(t *testing.T) {
	t.Parallel()
	host, room := makeRoom(t, serve(t), "lease-expiry")
	phone := join(host, t, room, "B")
	me := get[string](phone, t, `document.getElementById("me").textContent`)
	do(host, t, chromedp.KeyEvent(kb.ArrowRight))
	until(phone, t, classAt+` === "The class is at T1."`)
	do(phone, t, click(`#own`))
	until(phone, t, `document.querySelector(".room-back") !== null`)
	at(phone, t, "1 of 1 · T1")
	do(phone, t, click(`#choices .move[aria-disabled="false"]`))
	at(phone, t, "2 of 2 · T2")
	do(host, t, chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
	until(host, t, stands+` === "T3"`)
	until(phone, t, `document.querySelector(".room-back a").textContent === "Back to the class (T3)"`)
	do(phone, t, click(`.room-back a`))
	until(phone, t, `document.querySelector('[data-mine="B"]')?.checkVisibility()`)
	until(phone, t, classAt+` === "The class is at T3."`)
	if got := get[string](phone, t, `document.getElementById("me").textContent`); got != me {
		t.Errorf("%q came back as %q", me, got)
	}
	do(phone, t, click(`#so-far summary`))
	until(phone, t, `document.querySelectorAll("#rows tr[id]").length === 3 && `+stands+` === "T3"`)
	do(phone, t, click(`#rename`))
	until(phone, t, `document.getElementById("me").textContent !== "`+me+`"`)

	// Another tab of the device takes over, as the same member; who was sent away
	// is, whatever he opens.
	me = get[string](phone, t, `document.getElementById("me").textContent`)
	second := another(phone, t)
	do(second, t, chromedp.EmulateViewport(360, 740), chromedp.Navigate(room), chromedp.WaitVisible(chromedp.CSS(`[data-mine="B"]`)))
	until(phone, t, `document.getElementById("gone-why").textContent.startsWith("This room is open in another of your tabs")`)
	if got := get[string](second, t, `document.getElementById("me").textContent`); got != me {
		t.Errorf("a second tab of %q is %q", me, got)
	}
	until(host, t, members+` === "1 here"`)
	do(host, t, inMenu("#more", `[data-dialog=people]`), click(`#people-list [data-key^=remove]`))
	until(second, t, `document.getElementById("gone-why").textContent.startsWith("A host has sent you away")`)
	third := another(phone, t)
	do(third, t, chromedp.EmulateViewport(360, 740), chromedp.Navigate(room))
	until(third, t, `document.getElementById("gone-why").textContent.startsWith("A host has sent you away")`)
}

// Two clicks from a scenario to a room; and a wrong code says what is wrong.
func TestDoorsOfARoom(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.Navigate(url+"/play/lease-expiry"))
	at(ctx, t, "at the start")
	do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
	at(ctx, t, "1 of 1 · T1")
	do(ctx, t, inMenu("#more", "#room"))
	until(ctx, t, `document.querySelector(".room-new .primary") !== null`)
	do(ctx, t, click(`.room-new .primary`))
	until(ctx, t, stands+` === "T1"`) // where one stood
	code := get[string](ctx, t, `document.querySelector("[data-room]").dataset.room`)
	do(ctx, t, chromedp.Navigate(url+"/room"), chromedp.SendKeys(chromedp.CSS(`#code`), strings.ToLower(code)+kb.Enter))
	until(ctx, t, `document.getElementById("claims")?.checkVisibility()`)
	do(ctx, t, chromedp.Navigate(url+"/room?code=ABCDEF"), chromedp.WaitVisible(chromedp.CSS(`#problem`)))
	if got := get[string](ctx, t, `document.getElementById("code").value`); got != "ABCDEF" {
		t.Errorf("what was typed is %q now", got)
	}
}

// All parts of a room, in every look, and in both languages, at rest and in use.
func TestAxeFindsNothingInARoom(t *testing.T) {
	t.Parallel()
	host, room := makeRoom(t, serve(t), "lease-expiry")
	phone := join(host, t, room, "A")
	stage := another(host, t)
	lookAt := func(part string, ctx context.Context, selector string) {
		t.Helper()
		for _, f := range findingsIn(ctx, t, selector) {
			t.Errorf("%s: %s: %s\n  %s", part, f.ID, f.Help, strings.Join(f.Nodes, "\n  "))
		}
	}
	look := func(part string, ctx context.Context) {
		t.Helper()
		lookAt(part, ctx, ":root")
	}
	dressed := func(part string, ctx context.Context, path, theme, language string) {
		t.Helper()
		do(ctx, t, chromedp.Navigate(room+path+"?theme="+theme+"&lang="+language))
		until(ctx, t, members+` !== ""`)
		look(strings.Join([]string{part, theme, language}, " "), ctx)
	}
	do(stage, t, chromedp.EmulateViewport(1280, 720), chromedp.Navigate(room+"/stage"))
	do(phone, t, click(`[data-step="A"]`))
	until(host, t, stands+` === "T1"`)
	if !testing.Short() { // below it is dark, and in Chinese
		look("host", host)
	}
	for _, dialog := range []string{"people", "scenes", "room", "join"} {
		do(host, t, inMenu("#more", `[data-dialog=`+dialog+`]`), chromedp.WaitVisible(chromedp.CSS(`#`+dialog)))
		lookAt("dialog "+dialog, host, "#"+dialog)
		do(host, t, chromedp.KeyEvent(kb.Escape))
	}
	do(host, t, inMenu("#more", "#explore"), chromedp.WaitVisible(chromedp.CSS(`#explorer`)))
	lookAt("explorer", host, "#explorer")
	do(host, t, click(`#close-explorer`))
	do(host, t, chromedp.KeyEvent("a"))
	until(phone, t, `document.querySelector("[data-vote]") !== null`)
	do(phone, t, click(`[data-vote="0"]`))
	until(host, t, votes+`.startsWith("1 of 1")`)
	look("phone, voted", phone)
	do(host, t, chromedp.KeyEvent("r"))
	until(phone, t, `document.querySelector(".options .bar") !== null`)
	clothes := map[string]string{"light": "en", "dark": "zh-CN", "stage": "en"}
	if testing.Short() {
		clothes = map[string]string{"dark": "zh-CN"} // so far all was light, and in English
	}
	for theme, language := range clothes {
		dressed("host", host, "/host", theme, language)
		dressed("stage", stage, "/stage", theme, language)
		dressed("phone", phone, "", theme, language)
	}
}

// Nothing of a room scrolls sideways, on a phone or a projector.
func TestNothingOfARoomScrollsSideways(t *testing.T) {
	t.Parallel()
	host, room := makeRoom(t, serve(t), "lease-expiry")
	do(host, t, chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent("a"))
	until(host, t, `!document.getElementById("asked").hidden`)
	phone, stage := join(host, t, room, "B"), another(host, t)
	do(phone, t, click(`#so-far summary`))
	until(phone, t, `document.querySelector("#rows tr") !== null`)
	do(stage, t, chromedp.EmulateViewport(1280, 720), chromedp.Navigate(room+"/stage"), chromedp.WaitVisible(chromedp.CSS(`#asked`)))
	for _, one := range []struct {
		part   string
		ctx    context.Context
		widths []int64
	}{{"host", host, []int64{360, 768, 1440}}, {"phone", phone, []int64{320, 360, 412}}, {"stage", stage, []int64{1024, 1280, 1920}}} {
		for _, width := range one.widths {
			do(one.ctx, t, chromedp.EmulateViewport(width, 720))
			if wide := get[int64](one.ctx, t, `document.documentElement.scrollWidth`); wide > width {
				t.Errorf("%s: %d px wide in a window of %d", one.part, wide, width)
			}
		}
	}
	// The wall shows what is asked, the rows so far, the lanes, and the key.
	for _, size := range [][2]int64{{1280, 720}, {1920, 1080}} {
		do(stage, t, chromedp.EmulateViewport(size[0], size[1]))
		for _, part := range []string{"#asked", "#scroll", "#lanes-card", "#stage .redis"} {
			if !get[bool](stage, t, `(() => { const b = document.querySelector("`+part+`").getBoundingClientRect(); return b.height > 100 && b.top >= 0 && b.bottom <= innerHeight; })()`) {
				t.Errorf("%d × %d: %s is not in sight on the stage", size[0], size[1], part)
			}
		}
	}
}

// The server is killed in mid-lesson: everybody is back where they were, and
// what was pressed meanwhile is done once.
func TestTheServerIsKilledInMidLesson(t *testing.T) {
	t.Parallel()
	binary, address, folder := built(t), lasting(t), t.TempDir()
	first := program(t, binary, address, "-rooms", folder)
	host, room := makeRoom(t, "http://"+address, "lease-expiry")
	phone := join(host, t, room, "A")
	me := get[string](phone, t, `document.getElementById("me").textContent`)
	do(phone, t, click(`[data-step="A"]`))
	until(host, t, stands+` === "T1"`)
	do(host, t, chromedp.KeyEvent("a"))
	until(phone, t, `document.querySelector("[data-vote]") !== null`)

	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	until(phone, t, `document.querySelector(".room-phone").classList.contains("lost")`)
	until(host, t, `document.querySelector(".room-board").classList.contains("lost")`)
	second := program(t, binary, address, "-rooms", folder)
	t.Cleanup(func() {
		_ = second.Process.Kill()
		_ = second.Wait()
	})
	for _, tab := range []context.Context{host, phone} {
		until(tab, t, `document.querySelector(".lost") === null && !document.getElementById("asked").hidden`)
	}
	if got := get[string](phone, t, `document.getElementById("me").textContent`); got != me {
		t.Errorf("%q came back as %q", me, got)
	}
	do(phone, t, click(`[data-vote="0"]`))
	until(host, t, votes+` === "1 of 1 voted"`)
	do(host, t, chromedp.KeyEvent("r"))
	until(host, t, `document.getElementById("asked").dataset.state === "revealed"`)
	do(host, t, chromedp.KeyEvent("c"), chromedp.KeyEvent(kb.ArrowRight))
	until(phone, t, classAt+` === "The class is at T2."`)
}

// A host has the same at hand as somebody who steps alone: run to something, take a move
// back, compare, and other locks. All follow the run and the cut.
func TestAHostRunsCutsAndCompares(t *testing.T) {
	t.Parallel()
	host, room := makeRoom(t, serve(t), "lease-expiry")
	stage := another(host, t)
	do(stage, t, chromedp.EmulateViewport(1280, 720), chromedp.Navigate(room+"/stage?theme=light"), chromedp.WaitVisible(chromedp.CSS(`.room-board`)))
	do(host, t, chromedp.KeyEvent(kb.End))
	const last = "T10"
	until(host, t, stands+` === "`+last+`"`)
	until(stage, t, stands+` === "`+last+`"`)
	do(host, t, chromedp.KeyEvent("u"))
	until(host, t, `document.querySelector('#branches [aria-pressed="true"]')?.textContent.startsWith("branch 1")`)
	until(host, t, stands+` !== "`+last+`"`)
	until(stage, t, stands+` === "`+get[string](host, t, stands)+`"`)
	do(host, t, click(`#compare`), chromedp.WaitVisible(chromedp.CSS(`#compared h2`)))
	if is := get[string](host, t, `document.querySelector("#compared h2").textContent`); is != "branch 1 and main" {
		t.Errorf("compared are %q", is)
	}
	do(host, t, click(`#close-compared`), inMenu("#more", `[data-dialog=locks]`), click(`#locks [value=fenced]`), click(`#locks .primary`), chromedp.WaitVisible(chromedp.CSS(`#compared h2`)))
	do(host, t, chromedp.KeyEvent("e"))
	until(host, t, `document.querySelector("#rows tr[aria-current] .violation, #rows tr[aria-current] .violations") !== null`)
	if get[bool](stage, t, `document.getElementById("compared")?.checkVisibility() ?? false`) {
		t.Error("the stage shows what the host compares")
	}
}

// A host searches every order beside the class: the shares at the choices are on the
// host's page, and the class sees nothing of it.
func TestAHostSearchesEveryOrder(t *testing.T) {
	t.Parallel()
	host, room := makeRoom(t, serve(t), "lease-expiry")
	stage := another(host, t)
	do(stage, t, chromedp.EmulateViewport(1280, 720), chromedp.Navigate(room+"/stage"), chromedp.WaitVisible(chromedp.CSS(`.room-board`)))
	do(host, t, inMenu("#more", "#explore"), chromedp.WaitVisible(chromedp.CSS(`#space [data-dot]`)))
	until(host, t, theMove("A")+`.querySelector(".outlook")?.textContent === "30 of 36 break"`)
	do(host, t, click(moveOf("A")))
	until(stage, t, stands+` === "T1"`)

	// The class follows to what breaks the rule, and to a state of the space.
	const lost = `document.querySelector("#rows tr[aria-current] [data-lost]")`
	do(host, t, click(`[data-example="mutual-exclusion"]`))
	until(host, t, `document.querySelector('#branches [aria-pressed="true"]')?.textContent.startsWith("branch 1 ") && `+lost+`?.dataset.lost === "from here on every order breaks a rule"`)
	until(stage, t, stands+` === "`+get[string](host, t, stands)+`"`)
	do(host, t, chromedp.Focus(chromedp.CSS(`#space [data-dot="0"]`)), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
	dot := get[string](host, t, `document.activeElement.dataset.dot`)
	do(host, t, chromedp.KeyEvent(kb.Enter))
	until(host, t, `document.querySelector('#space [data-dot="`+dot+`"]').getAttribute("aria-current") === "true"`)
	until(stage, t, stands+` === "`+get[string](host, t, stands)+`"`)
	if get[bool](stage, t, `document.querySelector("#explore, #explorer, .outlook, [data-lost]") !== null`) {
		t.Error("the stage shows what the host has searched")
	}
	for _, width := range []int64{360, 768, 1440} {
		do(host, t, chromedp.EmulateViewport(width, 740))
		if wide := get[int64](host, t, `document.documentElement.scrollWidth`); wide > width {
			t.Errorf("with the explorer the page is %d px wide in a window of %d", wide, width)
		}
	}
	// A question has its place beside the run all the same.
	do(host, t, chromedp.EmulateViewport(1440, 900), click(`#ask`))
	until(host, t, `!document.getElementById("asked").hidden`)
	if high := get[float64](host, t, `document.querySelector(".board").getBoundingClientRect().height`); high > 500 {
		t.Errorf("the run is %.0f px high beside the question", high)
	}
	do(host, t, click(`#close-explorer`))
	until(host, t, `!document.getElementById("explorer").checkVisibility() && document.activeElement.closest("#more") !== null`)
	if got := get[string](host, t, problem); got != "" {
		t.Errorf("the page complains: %q", got)
	}
}
