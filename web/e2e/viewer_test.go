package e2e_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	why      = `document.getElementById("why").textContent.trim()`
	cardSays = `document.querySelector("#stage .redis").innerText.replace(/\s+/g, " ")`
	luaLine  = `document.querySelector("[data-script]:not([hidden]) .lua-now")?.dataset.line ?? ""`
	luaNext  = `document.querySelector("[data-script]:not([hidden]) .lua-next")?.dataset.line ?? ""`
)

// onStage is what is written on the stage of a thread, in one of the places of its belief,
// or of its cord.
func onStage(thread, place string) string {
	return fmt.Sprintf(`document.querySelector('#stage [aria-label="Thread %s"] [data-slot="%s"]').textContent`+asRead, thread, place)
}

// believes is what a thread says of itself.
func believes(thread string) string { return onStage(thread, "says") }

// cordOf is how a thread is tied to the card: "open: not in Redis".
func cordOf(thread string) string {
	return fmt.Sprintf(`(() => {
		const i = document.querySelector('#stage [aria-label="Thread %s"]').dataset.who;
		const cord = document.querySelector('#stage [data-cord="' + i + '"]');
		const kind = ["none", "asks", "no", "ok", "two", "false", "open", "loose"].filter((name) => cord.classList.contains(name)).join();
		return [kind, cord.querySelector('[data-slot="tie"]').textContent].filter(Boolean).join(": ");
	})()`, thread)
}

// A thread that has called its last unlock and has no answer is shown neither inside nor
// believing.
func TestAThreadIsLeaving(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/mutex-unsafe-pause"))
	at(ctx, t, "at the start · 0 ms")
	do(ctx, t, chromedp.KeyEvent("e")) // its DEL has deleted B's key
	until(ctx, t, place+`.includes("T12")`)
	until(ctx, t, believes("A")+` !== "I am leaving"`)
	do(ctx, t, chromedp.KeyEvent(kb.ArrowLeft))
	until(ctx, t, place+`.includes("T11")`)
	until(ctx, t, believes("A")+` === "I am leaving" && `+onStage("A", "does")+` === "paused until 140 ms"`)
	until(ctx, t, believes("B")+` === "I hold the lock"`)
}

// A walk through a lease that runs out, without a mouse.
func TestTheLeaseRunsOutOnTheKeyboard(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/lease-expiry"))
	at(ctx, t, "at the start · 0 ms")
	press := func(keys ...string) {
		t.Helper()
		for _, k := range keys {
			do(ctx, t, chromedp.KeyEvent(k))
		}
	}
	has := func(expression, want string) {
		t.Helper()
		until(ctx, t, expression+`.includes(`+"`"+want+"`"+`)`)
	}

	press("1", "2", "w") // A acquires, B is refused, the lease runs out
	at(ctx, t, "3 of 3")
	has(`document.getElementById("alarm").textContent`, "The lease ran out")
	has(cardSays, "nobody holds it")
	has(believes("A"), "I hold the lock")
	has(onStage("A", "odd"), "nobody has told it")
	has(cordOf("A"), "open: not in Redis")

	press("u") // one move less, on a branch of its own
	at(ctx, t, "2 of 2")
	has(`document.querySelector("#branches [aria-pressed=true]").textContent`, "branch 1")
	press("b")
	at(ctx, t, "2 of 3")
	press("e")
	until(ctx, t, place+`.includes("T")`)
	has(`document.getElementById("alarm").textContent`, "two inside at once")
	has(why, "A and B are inside at once")

	press("i") // into the script that let B in
	has(place, ".1 ·")
	has(cardSays, "no key")
	if got := get[string](ctx, t, luaLine); got != "10" {
		t.Errorf("EXISTS is on line %s of lock.lua, want 10", got)
	}
	if got := get[string](ctx, t, luaNext); got != "14" {
		t.Errorf("then comes line %s, want 14: HINCRBY", got)
	}
	press(kb.ArrowRight)
	has(place, ".2 ·")
	has(cardSays, "for ever no expiry")
	press("o")
	until(ctx, t, `!`+place+`.includes(".2 ·")`)

	press("d")
	until(ctx, t, `!document.getElementById("compared").hidden && document.activeElement.id === "compared"`)
	press("\t") // to its close button
	press(kb.Enter)
	until(ctx, t, `document.getElementById("compared").hidden`)

	press("v")
	until(ctx, t, `document.getElementById("lanes-card").hidden`)
	press("f")
	until(ctx, t, `document.documentElement.dataset.theme === "stage"`)
	press("f", "v", "?")
	until(ctx, t, `document.getElementById("keys").open`)
	press(kb.Escape)
	until(ctx, t, `!document.getElementById("keys").open`)

	// The toolbar is one stop; arrows move within it and step nothing.
	do(ctx, t, chromedp.Focus(chromedp.CSS(`[data-go="play"]`)))
	before := get[string](ctx, t, place)
	press(kb.ArrowRight)
	until(ctx, t, `document.activeElement.dataset.go === "forward"`)
	if got := get[string](ctx, t, place); got != before {
		t.Errorf("an arrow in the toolbar went from %q to %q", before, got)
	}
	press(kb.End, "\t")
	until(ctx, t, `document.activeElement === document.querySelector("#film-menu > summary")`)
}

// Single keys can be switched off, and then do nothing.
func TestSingleKeysCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.Navigate(url+"/play/two-threads"))
	at(ctx, t, "at the start")
	do(ctx, t, chromedp.KeyEvent("?"))
	until(ctx, t, `document.getElementById("keys").open`)
	do(ctx, t, click("#single-keys"), chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("1"))
	do(ctx, t, click(`[data-go="forward"]`))
	at(ctx, t, "1 of 1") // the button's step alone
}

// Pointing at a row shows what Redis held there, and changes nothing.
func TestPointingAtARowPreviewsIt(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(played(t, url, "late-write-without-a-token")))
	until(ctx, t, place+`.startsWith("11 of 11")`)
	until(ctx, t, showing(11))
	point(ctx, t, "#row-1 td")
	until(ctx, t, previewing+` && `+showing(1)+` && document.getElementById("looking").textContent === "You look at T1"`)
	point(ctx, t, "#verdict")
	until(ctx, t, `!`+previewing+` && `+showing(11))
	do(ctx, t, click("#row-1 .t"))
	until(ctx, t, place+`.startsWith("1 of 11 · T1")`)
}

// A run has an address to be given away, at the step that you are at, on a
// button, by its key, and on the stage beside the transport.
func TestShareARun(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(
		ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/edit"),
		click(`#scenario button[value="run"]`), chromedp.WaitVisible(chromedp.CSS(`.run[data-ended="true"]`)),
		click("#row-8 .t"), click(`.run-side [data-dialog="share"]`), chromedp.WaitVisible(chromedp.CSS("#share-link")),
	)
	page := get[string](ctx, t, `location.origin + location.pathname`)
	until(ctx, t, `document.getElementById("share-link").value === `+strconv.Quote(page+"#row-8"))
	do(ctx, t, click("#share-here"))
	until(ctx, t, `document.getElementById("share-link").value === `+strconv.Quote(page))
	do(ctx, t, click("#qr"))
	until(ctx, t, `document.getElementById("qr-code").naturalWidth > 0 && !document.getElementById("qr-reach").hidden`)
	do(ctx, t, click("#qr-fill"), chromedp.WaitVisible(chromedp.CSS("#qr-screen img")), chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent(kb.Escape))
	until(ctx, t, `!document.querySelector("dialog[open]")`)
	const inDock = `[data-dialog="share"]`
	if get[bool](ctx, t, `document.querySelector('.console `+inDock+`').checkVisibility()`) {
		t.Error("the stage's button is there without the stage")
	}
	get[any](ctx, t, `document.activeElement.blur()`)
	do(ctx, t, chromedp.KeyEvent("f"), inMenu("#film-menu", inDock), chromedp.WaitVisible(chromedp.CSS("#share-link")), chromedp.KeyEvent(kb.Escape))
	get[any](ctx, t, `document.activeElement.blur()`)
	do(ctx, t, chromedp.KeyEvent("s"), chromedp.WaitVisible(chromedp.CSS("#share-link")))
}

// All of a run can be read where scripts are off.
func TestARunWithoutScripts(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(
		ctx, t,
		chromedp.Navigate(url+"/edit"),
		click(`#scenario button[value="run"]`),
		chromedp.WaitVisible(chromedp.CSS(`.run[data-ended="true"]`)),
	)
	address := get[string](ctx, t, `location.href`)
	if _, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	do(ctx, t, chromedp.Navigate("about:blank"), chromedp.Navigate(address))
	if rows := get[[]string](ctx, t, texts); len(rows) != 15 || !strings.HasPrefix(rows[0], "T1 0 ms lock: acquired") {
		t.Errorf("rows without scripts: %q", rows)
	}
	if shown := get[string](ctx, t, `[...document.querySelectorAll(".needs-script")].filter(e => e.offsetParent !== null).map(e => e.className).join()`); shown != "" {
		t.Errorf("%s does nothing here, and is shown", shown)
	}
	if !get[bool](ctx, t, `document.querySelector(".lanes-run").getBoundingClientRect().height > 50`) {
		t.Error("no lanes without scripts")
	}
	if href := get[string](ctx, t, `document.querySelector(".paper").checkVisibility() ? document.querySelector(".paper a").getAttribute("href") : ""`); !strings.HasSuffix(href, "/export?format=md") {
		t.Errorf("the reasons are at %q without scripts", href)
	}
	for _, thread := range []string{"A", "B"} {
		if got := get[string](ctx, t, believes(thread)); got != "Done" {
			t.Errorf("at the end %s says %q", thread, got)
		}
	}
	if got := get[string](ctx, t, cardSays); !strings.Contains(got, "nobody holds it no key") {
		t.Errorf("at the end the card says %q", got)
	}
	do(ctx, t, chromedp.EmulateViewport(360, 740), chromedp.Navigate(url+"/"))
	const resource = `document.querySelector("#stage [data-slot=resource]")`
	if got := get[string](ctx, t, resource+saidIn); !strings.HasPrefix(got, "counter 0") || get[bool](ctx, t, `(({scrollHeight, clientHeight}) => scrollHeight > clientHeight + 1)(document.getElementById("stage"))`) {
		t.Errorf("on the front page the resource is %q, or not all of the stage is in view", got)
	}
}

// Every row can be stood at, also where one decision has made several; only
// where a decision is over can one act.
func TestEveryRowCanBeStoodAt(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/lease-expiry"))
	at(ctx, t, "at the start")
	do(ctx, t, chromedp.KeyEvent(kb.End))
	at(ctx, t, "10 of 10 · T10")
	do(ctx, t, click("#row-9 .t"))
	at(ctx, t, "9 of 10 · T9")
	if got := get[string](ctx, t, theMove("A")+saidIn); got != "A after T10" {
		t.Errorf("A's step inside of a decision says %q", got)
	}
	do(ctx, t, chromedp.KeyEvent("1"))
	until(ctx, t, problem+`.includes("This decision is not over")`)
	do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
	at(ctx, t, "10 of 10 · T10")

	// A pressed button keeps the focus, even if it cannot be pressed again.
	do(ctx, t, chromedp.KeyEvent(kb.Home), chromedp.Focus(chromedp.CSS(moveOf("A"))), chromedp.KeyEvent(kb.Enter))
	at(ctx, t, "1 of 10")
	if !get[bool](ctx, t, `document.activeElement === `+theMove("A")+` && document.activeElement.getAttribute("aria-disabled") === "true"`) {
		t.Error("the focus is lost after a step")
	}
}

func TestTheQRCodeIsAPicture(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.Navigate(url+"/play/lease-expiry"))
	at(ctx, t, "at the start")
	do(ctx, t, inMenu("#more", `[data-dialog="share"]`), chromedp.WaitVisible(chromedp.CSS("#qr")), click("#qr"))
	until(ctx, t, `document.getElementById("qr-code").naturalWidth > 0`)
}

// standsInSight tells whether the current row is, between the head of the
// table and what stands below it.
const standsInSight = `(() => {
	const row = document.querySelector("#rows [aria-current]")?.getBoundingClientRect();
	const box = document.getElementById("scroll").getBoundingClientRect();
	const head = document.getElementById("head").getBoundingClientRect();
	const end = Math.min(box.bottom, document.querySelector(".foot").getBoundingClientRect().top);
	return Boolean(row) && row.top >= Math.max(box.top, head.bottom < box.bottom ? head.bottom : 0) - 1 && Math.min(row.bottom, row.top + 40) <= end + 1;
})()`

// With four threads no column hides behind another on a laptop, and the row of
// the end is in sight, below the stage and the sentence: in a high window with others before it.
func TestFourThreadsAreInSightAtTheEnd(t *testing.T) {
	const whole = `(() => { const top = document.getElementById("head").getBoundingClientRect().bottom - 1, bottom = document.getElementById("scroll").getBoundingClientRect().bottom + 1;
		return [...document.querySelectorAll("#rows tr:not([hidden])")].map((r) => r.getBoundingClientRect()).filter((r) => r.top >= top && r.bottom <= bottom).length; })()`
	t.Parallel()
	ctx, url := tab(t), serve(t)
	sizes := [][3]int64{{1366, 768, 1}, {1920, 1080, 3}}
	if !testing.Short() {
		sizes = append(sizes, [][3]int64{{1440, 900, 1}, {768, 1000, 1}}...)
	}
	for _, size := range sizes {
		do(ctx, t, chromedp.EmulateViewport(size[0], size[1]), chromedp.Navigate(url+"/play/fair"))
		at(ctx, t, "at the start · 0 ms")
		do(ctx, t, chromedp.KeyEvent(kb.End))
		at(ctx, t, "15 of 15")
		until(ctx, t, `document.querySelector(".ending") && !document.querySelector(".ending").hidden && document.getElementById("stage").checkVisibility()`)
		until(ctx, t, standsInSight)
		if hidden := get[int](ctx, t, `(() => { const s = document.getElementById("scroll"); return s.scrollWidth - s.clientWidth; })()`); hidden > 0 {
			t.Errorf("%d px wide: %d px of the table are out of sight", size[0], hidden)
		}
		if rows := get[int64](ctx, t, whole); rows < size[2] {
			t.Errorf("%d px wide: %d rows are in sight", size[0], rows)
		}
	}
}

// Who opens a run that is over stands at its end, which is in sight in the
// table's box; and who goes to the other language stays at the row.
func TestARunStandsInSight(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(
		ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/edit"),
		click(`#scenario button[value="run"]`), chromedp.WaitVisible(chromedp.CSS(`.run[data-ended="true"]`)),
	)
	do(ctx, t, chromedp.Reload(), chromedp.WaitVisible(chromedp.CSS(`.run[data-ended="true"]`)))
	until(ctx, t, standsInSight+` && document.querySelector("#rows [aria-current]").id === "row-15"`)
	if y := get[float64](ctx, t, `scrollY`); y != 0 {
		t.Errorf("the page is scrolled by %v", y)
	}
	for _, size := range [][2]int64{{1440, 900}, {360, 740}} {
		do(ctx, t, chromedp.EmulateViewport(size[0], size[1]))
		get[any](ctx, t, `document.querySelector("#row-8 .t").click()`)
		until(ctx, t, place+`.includes("T8")`)
		to := map[string]string{"en": "zh-CN", "zh-CN": "en"}[get[string](ctx, t, `document.documentElement.lang`)]
		get[any](ctx, t, `document.querySelector('a[hreflang="`+to+`"]').click()`)
		until(ctx, t, `document.documentElement.lang === "`+to+`" && document.readyState === "complete"`)
		until(ctx, t, standsInSight+` && document.querySelector("#rows [aria-current]").id === "row-8"`)
	}
}

// On paper each row has its reason below it, and on the screen none has.
func TestPaperKeepsReasonsAndBeliefs(t *testing.T) {
	t.Parallel()
	const reasons = `[...document.querySelectorAll("#rows .print-why")].filter((tr) => getComputedStyle(tr).display !== "none").map((tr) => tr.innerText.trim())`
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.Navigate(url+"/play/lease-expiry"))
	at(ctx, t, "at the start · 0 ms")
	do(ctx, t, chromedp.KeyEvent(kb.End))
	at(ctx, t, "10 of 10")
	get[any](ctx, t, `dispatchEvent(new Event("beforeprint"))`)
	if got := get[[]string](ctx, t, reasons); len(got) > 0 {
		t.Errorf("on the screen: %q", got)
	}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
		t.Fatal(err)
	}
	got := get[[]string](ctx, t, reasons)
	if len(got) != 10 || !strings.HasPrefix(got[6], "A and B are inside at once") {
		t.Errorf("on paper: %q", got)
	}
	if text := get[string](ctx, t, `document.querySelector("#row-7").innerText`); !strings.Contains(text, "believes it holds the lock") {
		t.Errorf("on paper: %q", text)
	}
	get[any](ctx, t, `dispatchEvent(new Event("afterprint"))`)
	if n := get[int](ctx, t, `document.querySelectorAll(".print-why").length`); n > 0 {
		t.Errorf("%d reasons stay in the page", n)
	}
}

// On a narrow phone nothing of where you are hides behind the buttons beside it, and the
// head of the page is one line in each language.
func TestANarrowPhoneHasRoom(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	for _, lang := range []string{"en", "zh-CN"} {
		do(ctx, t, chromedp.EmulateViewport(360, 740), chromedp.Navigate("about:blank"), chromedp.Navigate(url+"/play/two-threads?lang="+lang))
		until(ctx, t, place+`.includes("0 ms")`)
		do(ctx, t, chromedp.KeyEvent(kb.End))
		until(ctx, t, place+`.endsWith("T15 · 351 ms")`)
		if hidden := get[[]string](ctx, t, `(() => {
			const beside = [...document.querySelectorAll("#transport button, #film-menu > summary, #choices .move")].map((e) => e.getBoundingClientRect());
			const covers = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
			const parts = [...document.querySelectorAll("#place .when > span")].map((e) => [e.textContent, e.getBoundingClientRect()]);
			return parts.filter(([, r]) => r.width === 0 || r.left < 0 || r.right > innerWidth || r.bottom > innerHeight || beside.some((b) => covers(b, r))).map(([text]) => text);
		})()`); len(hidden) > 0 {
			t.Errorf("%s: of the place %q hide behind something", lang, hidden)
		}
		if height := get[float64](ctx, t, `document.querySelector(".top").getBoundingClientRect().height`); height > 60 {
			t.Errorf("%s: the head is %v px high", lang, height)
		}
	}
}
