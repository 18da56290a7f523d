package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"relock/engine/scenario"
	"relock/web/link"
	"relock/web/runs"
)

// until waits for a JavaScript expression to be true. It asks now and then, and not
// with each frame, which would have the page drawn for it.
func until(ctx context.Context, t testing.TB, expression string) {
	t.Helper()
	var err error
	for range 5 { // a page may take the place of the one that was polled
		_, err = chromedp.Run(ctx, chromedp.Poll[bool](`document.body !== null && (`+expression+`)`, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(time.Minute)))
		if err == nil || !strings.Contains(err.Error(), "Cannot find context") && !strings.Contains(err.Error(), "navigated or closed") {
			break
		}
	}
	if err != nil {
		t.Fatalf("%s: %v; the page stands at %q and says %q", expression, err, get[string](ctx, t, place), get[string](ctx, t, problem))
	}
}

const (
	// place is where the page stands, "6 of 6 · T6 · 150 ms".
	place   = `(["count", "when"].map((part) => document.querySelector("#place ." + part)?.textContent).filter(Boolean).join(" · "))` + asRead
	problem = `(document.getElementById("problem")?.textContent ?? "")` + asRead

	asRead = `.replaceAll("\u00a0", " ")` // one does not see which space it is that stands before a unit
)

func at(ctx context.Context, t testing.TB, want string) {
	t.Helper()
	until(ctx, t, place+`.startsWith("`+want+`")`)
}

// saidIn is what is written in an element, as a person reads it.
const saidIn = `.innerText.replace(/\s+/g, " ").trim()`

func TestStepGoBackAndTryTheOtherOrder(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/lease-expiry"))
	at(ctx, t, "at the start · 0 ms")
	do(ctx, t, click(moveOf("A")))
	at(ctx, t, "1 of 1 · T1 · 0 ms")
	do(ctx, t, click(moveOf("B")))
	at(ctx, t, "2 of 2 · T2 · 10 ms")
	if got := get[string](ctx, t, theMove("A")+saidIn); got != "A ends its work at 300 ms · unlock" {
		t.Errorf("what A would do: %q", got)
	}
	if !get[bool](ctx, t, theMove("A")+`.getAttribute("aria-disabled") === "true"`) {
		t.Error("A can be stepped though B moves first")
	}
	do(ctx, t, chromedp.KeyEvent("e"))
	at(ctx, t, "7 of 7 · T7 · 210 ms")
	until(ctx, t, `document.getElementById("alarm").textContent.includes("two inside at once")`)

	// Back, and another order: both branches stay.
	for range 5 {
		do(ctx, t, click(`[data-go="back"]`))
	}
	at(ctx, t, "2 of 7 · T2")
	if got := get[int](ctx, t, `document.querySelectorAll("#rows tr.future:not([hidden])").length`); got != 5 {
		t.Errorf("%d rows lie in the future, want 5", got)
	}
	do(ctx, t, click("#tab-redis"), click("#to-expiry"))
	at(ctx, t, "3 of 3")
	do(ctx, t, click(`[data-dialog="strike"]`), chromedp.WaitVisible(chromedp.CSS("#fault-do")), chromedp.SetValue(chromedp.CSS("#fault-do"), "crash"), click(`#strike button[value="strike"]`))
	at(ctx, t, "4 of 4")
	until(ctx, t, `document.querySelector("#rows tr[aria-current] .note")?.textContent.includes("the process dies")`)
	do(ctx, t, click("#compare"), chromedp.WaitVisible(chromedp.CSS("#compared table")))
	if got := get[string](ctx, t, `document.querySelector("#compared .hint").textContent.trim()`); !strings.HasPrefix(got, "T1 to T2 are equal.") {
		t.Errorf("comparison: %q", got)
	}
	do(ctx, t, click("#branch-0"))
	at(ctx, t, "4 of 7")
	if got := get[string](ctx, t, problem); got != "" {
		t.Errorf("the page complains: %q", got)
	}
}

// Branches stay when the page is loaded again, by the names that they had, and
// nowhere but at their address.
func TestBranchesStayWhenThePageIsLoadedAnew(t *testing.T) {
	t.Parallel()
	const labels = `[...document.querySelectorAll("#branches [aria-pressed]")].map((b) => b.textContent + (b.getAttribute("aria-pressed") === "true" ? "!" : "")).join()`
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/lease-expiry"))
	at(ctx, t, "at the start · 0 ms")
	do(ctx, t, chromedp.KeyEvent("e"))
	at(ctx, t, "7 of 7 · T7 · 210 ms")
	do(ctx, t, click("#tab-redis"))
	for range 2 { // the first is dropped again
		do(ctx, t, toTheStart, click("#by button"))
		at(ctx, t, "1 of 1 · 50 ms")
		if get[string](ctx, t, labels) == "main,branch 1 from T0!" {
			do(ctx, t, click("#drop"))
			until(ctx, t, labels+` === "main!"`)
		}
	}
	const want = "main!,branch 2 from T0"
	do(ctx, t, click("#branch-0"), click(`[data-go="forward"]`))
	at(ctx, t, "2 of 7 · T2")
	until(ctx, t, labels+` === "`+want+`"`)
	until(ctx, t, `(JSON.parse(sessionStorage.getItem("relock-branches") ?? "{}").link ?? "") === location.hash.slice(1) && location.hash.endsWith("~2")`)
	do(ctx, t, chromedp.Reload())
	at(ctx, t, "2 of 7 · T2")
	until(ctx, t, labels+` === "`+want+`"`)
	do(ctx, t, click("#branch-1"))
	at(ctx, t, "1 of 1 · 50 ms")
	if got := get[string](ctx, t, problem); got != "" {
		t.Errorf("the page complains: %q", got)
	}
	// Another address is another session.
	do(ctx, t, chromedp.Navigate(url+"/play/lease-expiry"))
	at(ctx, t, "at the start · 0 ms")
	if got := get[string](ctx, t, labels); !strings.HasPrefix(got, "main!") || strings.Contains(got, ",") {
		t.Errorf("branches of another session: %q", got)
	}
}

// A link with autoplay plays what it opens, once, to the first broken rule.
func TestWatchItBreak(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.Navigate(url+"/play/lease-expiry?autoplay=1"))
	at(ctx, t, "1 of 1 · T1")
	do(ctx, t, chromedp.SetValue(chromedp.CSS("#speed"), "120"))
	at(ctx, t, "7 of 7 · T7")
	until(ctx, t, `!location.search.includes("autoplay") && document.querySelector('[data-go="play"]').innerText.trim() === "Go on"`)
}

// TestAClickInTheTransportLeavesTheArrowsToStep plays and pauses with the
// mouse and goes on with the keyboard.
func TestAClickInTheTransportLeavesTheArrowsToStep(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/lease-expiry"))
	at(ctx, t, "at the start · 0 ms")
	do(ctx, t, click(`[data-go="forward"]`))
	at(ctx, t, "1 of 1 · T1")
	do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
	at(ctx, t, "2 of 2 · T2")
	// A step by its button, which keeps the focus, leaves the row in sight.
	for n := range 3 {
		do(ctx, t, click(moveOf("B")))
		at(ctx, t, fmt.Sprintf("%d of %d", n+3, n+3))
	}
	until(ctx, t, `(() => { const r = document.querySelector("#rows tr[aria-current]").getBoundingClientRect(), b = document.getElementById("scroll").getBoundingClientRect(); return r.bottom <= b.bottom + 1 && r.top >= b.top })()`)
	// E finds the broken rule behind one, too.
	do(ctx, t, chromedp.KeyEvent(kb.End))
	at(ctx, t, "10 of 10")
	do(ctx, t, chromedp.KeyEvent("e"))
	at(ctx, t, "7 of 10 · T7")
}

func TestStepWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.Navigate(url+"/play/two-threads"))
	at(ctx, t, "at the start · 0 ms")
	for _, c := range []struct{ key, want string }{
		{"2", "1 of 1 · T1"},           // B first
		{"1", "2 of 2 · T2"},           // then A
		{kb.ArrowLeft, "1 of 2 · T1"},  // left
		{kb.ArrowRight, "2 of 2 · T2"}, // right
		{kb.ArrowRight, "3 of 3 · T3"}, // right, one further
		{kb.Home, "0 of 3 · 0 ms"},     // home
	} {
		do(ctx, t, chromedp.KeyEvent(c.key))
		until(ctx, t, place+`.includes("`+c.want+`")`)
	}
	do(ctx, t, chromedp.KeyEvent(kb.End))
	until(ctx, t, `document.querySelector('[data-go="end"]').getAttribute("aria-disabled") === "true"`)
	if got := get[string](ctx, t, `document.querySelector("#row-1 .acting").dataset.thread`); got != "B" {
		t.Errorf("first to move was %s, want B", got)
	}
}

// An impossible move is grey, says why, and does nothing when tried.
func TestAFaultThatWouldChangeNothingSaysWhy(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/lease-expiry"))
	at(ctx, t, "at the start · 0 ms")
	button := func(fault string) string { // "crash A", or "evict"
		do, thread, _ := strings.Cut(fault, " ")
		return fmt.Sprintf(`document.querySelector('[data-strike*="\\"%s\\""][data-strike*="\\"%s"]')`, do, thread)
	}
	grey := func(fault string) bool {
		return get[bool](ctx, t, button(fault)+`.getAttribute("aria-disabled") === "true"`)
	}
	is := func(when string, want map[string]string) {
		t.Helper()
		for fault, why := range want {
			if title := get[string](ctx, t, button(fault)+".title"+asRead); grey(fault) != (why != "") || why != "" && title != why {
				t.Errorf("%s: %s is grey: %t, and says %q; want %q", when, fault, grey(fault), title, why)
			}
		}
	}
	is("at the start", map[string]string{"crash A": "", "evict": "There is no key that Redis could evict.", "clock-jump": "There is no key with an expiry."})
	do(ctx, t, click("#tab-redis"), chromedp.Evaluate[chromedp.Void](button("evict")+".focus()"), chromedp.KeyEvent(kb.Enter))
	until(ctx, t, problem+` === "There is no key that Redis could evict."`)
	if !get[bool](ctx, t, button("evict")+" === document.activeElement") {
		t.Error("the grey button has lost the focus")
	}
	do(ctx, t, chromedp.Evaluate[chromedp.Void]("document.activeElement.blur()"), chromedp.KeyEvent("1"))
	at(ctx, t, "1 of 1 · T1")
	is("A has the lock", map[string]string{"crash A": "", "pause A": "", "lose-reply A": "", "evict": "", "clock-jump": ""})
	do(ctx, t, chromedp.KeyEvent("x1"))
	at(ctx, t, "2 of 2")
	is("A is paused", map[string]string{"crash A": "", "pause A": "A is paused until 300 ms.", "pause B": ""})
	do(ctx, t, chromedp.KeyEvent("x1"))
	until(ctx, t, problem+` === "A is paused until 300 ms."`)
	do(ctx, t, chromedp.Evaluate[chromedp.Void](button("crash A")+".click()"))
	at(ctx, t, "3 of 3")
	is("A is gone", map[string]string{"crash A": "A has ended.", "pause A": "A has ended.", "lose-reply A": "A has ended.", "crash B": "", "evict": ""})
	do(ctx, t, chromedp.Evaluate[chromedp.Void](button("crash A")+".click()"))
	until(ctx, t, problem+` === "A has ended."`)
	at(ctx, t, "3 of 3")

	// The dialog says it before the button is used, which then does nothing.
	do(ctx, t, click(`[data-dialog="strike"]`), chromedp.WaitVisible(chromedp.CSS("#fault-do")))
	until(ctx, t, `document.getElementById("strike-why").textContent === "A has ended."`)
	do(ctx, t, click(`#strike button[value="strike"]`))
	if !get[bool](ctx, t, `document.getElementById("strike").open`) {
		t.Error("the dialog is gone")
	}
	at(ctx, t, "3 of 3")
	choose := `document.getElementById("fault-thread").value = "B"; document.getElementById("fault-thread").dispatchEvent(new Event("input", {bubbles: true}))`
	do(ctx, t, chromedp.Evaluate[chromedp.Void](choose))
	until(ctx, t, `document.getElementById("strike-why").textContent === ""`)
	do(ctx, t, click(`#strike button[value="strike"]`))
	at(ctx, t, "4 of 4")

	// In the past the reasons are those of then.
	do(ctx, t, chromedp.KeyEvent(kb.Home))
	at(ctx, t, "0 of 4")
	is("back at the start", map[string]string{"crash A": "", "pause A": "", "evict": "There is no key that Redis could evict."})
	do(ctx, t, chromedp.KeyEvent("e"))
	until(ctx, t, `document.querySelector('[data-go="end"]').getAttribute("aria-disabled") === "true"`)
	is("at the end", map[string]string{"crash B": "The run has ended here. Step back to act.", "evict": "The run has ended here. Step back to act."})
}

// TestEachThingThatTheRailOffersIsDone goes to outcomes, lets time pass,
// compares locks and branches, and follows a link that is put into the address.
func TestEachThingThatTheRailOffersIsDone(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/lease-expiry"))
	at(ctx, t, "at the start · 0 ms")
	const status = `document.getElementById("status").textContent`
	do(ctx, t, chromedp.SetValue(chromedp.CSS("#outcome-thread"), "B"), click("#tab-redis"), click("#outcome button"))
	until(ctx, t, place+`.startsWith("2 of 2 · T2")`)
	do(ctx, t, click("#to-event"))
	at(ctx, t, "3 of 3")
	do(ctx, t, toTheStart, click("#outcome button"))
	at(ctx, t, "2 of 3 · T2") // it is here already
	do(ctx, t, chromedp.KeyEvent(kb.End))
	until(ctx, t, `document.querySelector('[data-go="end"]').getAttribute("aria-disabled") === "true"`)
	do(ctx, t, click("#outcome button")) // which is grey, and says why
	until(ctx, t, problem+`.startsWith("The run has ended here")`)

	do(ctx, t, inMenu("#more", `[data-dialog="locks"]`), chromedp.WaitVisible(chromedp.CSS("#locks-form [name=lock]")))
	if own := get[string](ctx, t, `[...document.querySelectorAll("#locks-form [name=lock]:checked")].map((b) => b.value).join()`); own == "" || strings.Contains(own, ",") {
		t.Errorf("the scenario's own lock is %q", own)
	}
	do(ctx, t, click(`#locks-form [name=lock]:not(:checked)`), click(`#locks-form [value="compare"]`), chromedp.WaitVisible(chromedp.CSS("#compared table")))
	until(ctx, t, `document.activeElement.id === "compared"`)
	do(ctx, t, click("#close-compared"))
	until(ctx, t, `document.getElementById("compared").hidden && document.activeElement === document.querySelector("#more > summary")`)

	do(ctx, t, chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`), chromedp.KeyEvent("u"))
	until(ctx, t, `document.querySelectorAll("#branches [aria-pressed]").length === 2`)
	until(ctx, t, status+`.includes("A branch from here")`)
	do(ctx, t, chromedp.KeyEvent("d"), chromedp.WaitVisible(chromedp.CSS("#compared table")))
	do(ctx, t, chromedp.KeyEvent("b"))
	until(ctx, t, `document.getElementById("branch-0").getAttribute("aria-pressed") === "true"`)
	do(ctx, t, click("#drop"))
	until(ctx, t, `document.getElementById("compared").hidden && document.getElementById("branches").hidden && document.activeElement.closest("#transport") !== null`)

	other, err := scenario.Parse([]byte("title: Another one\nthreads: [{name: C}, {name: D}, {name: E}]"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := link.Encode(link.Contents{Scenario: other})
	if err != nil {
		t.Fatal(err)
	}
	do(ctx, t, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`location.hash = %q; undefined`, text)))
	until(ctx, t, `document.getElementById("title").textContent === "Another one" && document.querySelectorAll("#stage [data-who]").length === 3 && document.querySelectorAll("#rail .thread-card").length === 3 && document.getElementById("rows").children.length === 0`)
	at(ctx, t, "at the start · 0 ms")
	do(ctx, t, chromedp.KeyEvent("3"))
	at(ctx, t, "1 of 1 · T1")
	if got := get[string](ctx, t, problem); got != "" {
		t.Errorf("the page complains: %q", got)
	}
}

func TestLinksInTheBrowser(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.Navigate(url+"/play/lease-expiry"))
	at(ctx, t, "at the start · 0 ms")
	do(ctx, t, chromedp.KeyEvent("e"))
	at(ctx, t, "7 of 7")
	do(ctx, t, click(`[data-go="back"]`))
	at(ctx, t, "6 of 7 · T6")
	until(ctx, t, `location.hash.endsWith("~6")`)
	link := get[string](ctx, t, `location.hash`)
	if len(link) > 400 {
		t.Errorf("the link has %d characters", len(link))
	}
	do(ctx, t, chromedp.Navigate("about:blank"), chromedp.Navigate(url+"/play"+link))
	at(ctx, t, "6 of 7 · T6")

	do(ctx, t, inMenu("#more", `[data-dialog="share"]`), chromedp.WaitVisible(chromedp.CSS("#share-link")), click("#shorten"))
	until(ctx, t, `document.getElementById("share-link").value.includes("/s/")`)
	short := get[string](ctx, t, `document.getElementById("share-link").value`)
	do(ctx, t, click("#copy-embed"))
	until(ctx, t, `/^(Copied|Press)/.test(document.getElementById("share-note").textContent)`)
	if got := get[string](ctx, t, `getSelection().toString() || document.getElementById("embed-code").value.slice(document.getElementById("embed-code").selectionStart, document.getElementById("embed-code").selectionEnd)`); !strings.HasPrefix(got, "<iframe ") {
		t.Errorf("what is selected to be copied is %q", got)
	}
	do(ctx, t, chromedp.Navigate("about:blank"), chromedp.Navigate(short))
	at(ctx, t, "6 of 7 · T6")

	for bad, want := range map[string]string{
		"#v2" + link[3:]: "Unknown link format",
		link[:60]:        "incomplete",
		link[:60] + "~3": "incomplete",
	} {
		do(ctx, t, chromedp.Navigate("about:blank"), chromedp.Navigate(url+"/play"+bad))
		until(ctx, t, problem+`.includes("`+want+`")`)
		at(ctx, t, "at the start · 0 ms")
	}
}

func TestPlacesOnThePageAreNoLinks(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/lease-expiry"))
	at(ctx, t, "at the start · 0 ms")
	do(ctx, t, chromedp.KeyEvent("e"))
	at(ctx, t, "7 of 7")
	do(ctx, t, chromedp.Focus(chromedp.CSS(".skip")), chromedp.KeyEvent(kb.Enter))
	until(ctx, t, `document.activeElement.id === "main"`)
	at(ctx, t, "7 of 7")
	// Back and the same again is no branch.
	do(ctx, t, click(`[data-go="back"]`), click(`[data-go="back"]`), click(`[data-go="back"]`))
	at(ctx, t, "4 of 7")
	do(ctx, t, click(moveOf("B")))
	at(ctx, t, "5 of 7")
	if n := get[int](ctx, t, `document.querySelectorAll("#branches [aria-pressed]").length`); n != 1 {
		t.Errorf("%d branches, want 1", n)
	}
	odds := []string{"#%E0%A4%A"}
	if !testing.Short() {
		odds = append(odds, "#main", "#v1.z.%E0%A4%A~1")
	}
	for _, odd := range odds {
		do(ctx, t, chromedp.Navigate("about:blank"), chromedp.Navigate(url+"/play"+odd))
		at(ctx, t, "at the start · 0 ms")
	}
}

// lasting is an address that stays free while nobody listens: its port is none
// of those that the system gives away, to other tests' connections too.
func lasting(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	for range 100 {
		l, err := lc.Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(10_000)))
		if err == nil {
			defer func() { _ = l.Close() }()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

// build builds the real program, once for all tests, where TestMain says.
var build = sync.OnceValues(func() (binary string, err error) {
	binary = filepath.Join(ours, "playground")
	out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, "relock/cmd/playground").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return binary, nil
})

// built is the real program.
func built(t *testing.T) (binary string) {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// program starts the real program on address, and returns when it answers: on
// a busy machine that takes a while.
func program(t *testing.T, binary, address string, flags ...string) *exec.Cmd {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"serve", "-addr", address}, flags...)...)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for time.Since(began) < time.Minute {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
			return cmd
		}
		time.Sleep(20 * time.Millisecond) // between two attempts to reach a process that is starting
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	t.Fatalf("the program does not answer: %s", said.String())
	return nil
}

func TestTheServerIsKilledInMidSession(t *testing.T) {
	t.Parallel()
	ctx := tab(t)
	binary := built(t)
	address := lasting(t)
	first := program(t, binary, address)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate("http://"+address+"/play/lease-expiry"))
	at(ctx, t, "at the start · 0 ms")
	do(ctx, t, chromedp.KeyEvent("e"))
	at(ctx, t, "7 of 7")
	do(ctx, t, click("#tab-redis"), toTheStart, click("#by button"))
	until(ctx, t, `document.getElementById("branch-1") !== null`)
	do(ctx, t, click("#branch-0"), click(`[data-go="forward"]`))
	at(ctx, t, "2 of 7 · T2")
	const all = `[...document.querySelectorAll("#rows tr:not([hidden], .fold)")].map((r) => r.textContent)` // also what only the current row shows
	before := get[[]string](ctx, t, all)

	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	until(ctx, t, problem+`.includes("The connection is lost")`)
	do(ctx, t, click(`[data-go="back"]`)) // what is here needs no server
	at(ctx, t, "1 of 7 · T1")
	second := program(t, binary, address)
	defer func() {
		_ = second.Process.Kill()
		_ = second.Wait()
	}()
	until(ctx, t, problem+` === ""`)
	at(ctx, t, "1 of 7 · T1")
	if after := get[[]string](ctx, t, all); strings.Join(after, "\n") != strings.Join(before, "\n") {
		t.Errorf("rows before\n%q\nand after\n%q", before, after)
	}
	do(ctx, t, toTheEnd)
	until(ctx, t, place+`.includes("10 of 10 · T10")`)
	do(ctx, t, click("#branch-1"))
	until(ctx, t, place+`.endsWith("1 of 1 · 50 ms")`)
}

// holding keeps the last frame of each command in held until release is called.
const holding = `(() => {
	let held = (window.held = []);
	const Plain = WebSocket;
	window.WebSocket = class extends Plain {
		set onmessage(take) {
			super.onmessage = (event) => held && JSON.parse(event.data).done ? held.push(() => take(event)) : take(event);
		}
	};
	window.release = () => { const due = held; held = null; due.forEach((go) => go()); };
})()`

func TestAClickWhileItIsBeingOpenedCounts(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: holding}); err != nil {
		t.Fatal(err)
	}
	do(ctx, t, chromedp.Navigate(url+"/play/lease-expiry"))
	until(ctx, t, `window.held.length > 0`)
	do(ctx, t, toTheEnd)
	get[any](ctx, t, `release()`)
	at(ctx, t, "10 of 10 · T10")
}

func TestNothingScrollsSidewaysWhileStepping(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.Navigate(url+"/play/lost-replies"))
	at(ctx, t, "at the start · 0 ms")
	do(ctx, t, chromedp.KeyEvent(kb.End))
	until(ctx, t, `document.querySelector('[data-go="end"]').getAttribute("aria-disabled") === "true"`)
	for _, width := range []int64{320, 360, 768, 1440, 1920} {
		do(ctx, t, chromedp.EmulateViewport(width, 800))
		drawn(ctx, t)
		if over := get[int](ctx, t, `document.documentElement.scrollWidth - window.innerWidth`); over > 0 {
			t.Errorf("%d px wide: the page is %d px wider", width, over)
		}
	}
}

// A long run shows how far it has come, and is read out only when it is over.
func TestALongRunShowsHowFarItIs(t *testing.T) {
	long(t)
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.Navigate(url+"/play/no-lock-lost-update"))
	at(ctx, t, "at the start")
	do(ctx, t, chromedp.Evaluate[chromedp.Void](`{
		window.places = [], window.said = [];
		for (const [id, list] of [["place", places], ["status", said]]) {
			new MutationObserver(() => list.push(document.getElementById(id).textContent)).observe(document.getElementById(id), { childList: true });
		}
	}`), chromedp.KeyEvent(kb.End))
	until(ctx, t, place+`.startsWith("1,011 of 1,011")`)
	if !get[bool](ctx, t, `places.some((p) => /^running … T[1-9]/.test(p))`) {
		t.Errorf("shown were %s", get[string](ctx, t, `places.join("; ")`))
	}
	if said := get[string](ctx, t, `said.join("; ")`); strings.Count(said, "running") != 1 {
		t.Errorf("said was %s", said)
	}
}

// TestWhereOneStandsIsInSight walks to the end of a run of four threads, back
// into its last script, and to a comparison, in windows of several sizes.
func TestWhereOneStandsIsInSight(t *testing.T) {
	t.Parallel()
	// The sentence tells where you are, and so does the row.
	const seen = `(() => {
		const foot = document.querySelector(".foot").getBoundingClientRect().top;
		const hits = (e) => { const r = e.getBoundingClientRect(); return r.top >= 0 && e.contains(document.elementFromPoint(r.left + 4, Math.min(r.top + 4, foot - 1))) };
		const row = document.querySelector("#rows tr[aria-current]");
		return hits(document.getElementById("why")) || hits(row.querySelector(".time"));
	})()`
	ctx, url := tab(t), serve(t)
	sizes := [][2]int64{{320, 568}, {640, 360}, {900, 700}, {1440, 660}} // each way to lay out the page
	if !testing.Short() {
		sizes = append(sizes, [][2]int64{{360, 740}, {768, 1024}, {1440, 900}, {1920, 1080}}...)
	}
	for _, size := range sizes {
		do(ctx, t, chromedp.EmulateViewport(size[0], size[1]), chromedp.Navigate("about:blank"), chromedp.Navigate(url+"/play/fair"))
		at(ctx, t, "at the start · 0 ms")
		if size[0] > 1200 && get[int](ctx, t, overWindow) != 0 {
			t.Errorf("%v: the film does not fill the window, or the footer does not begin below it", size)
		}
		do(ctx, t, chromedp.KeyEvent(kb.End))
		at(ctx, t, "15 of 15")
		for _, key := range []string{kb.ArrowLeft, "i", kb.ArrowRight} {
			do(ctx, t, chromedp.KeyEvent(key))
			if !get[bool](ctx, t, seen) {
				t.Errorf("%v: where you are is out of sight after %q", size, key)
			}
		}
		do(ctx, t, chromedp.KeyEvent("o"), chromedp.KeyEvent("u"))
		at(ctx, t, "13 of 13")
		do(ctx, t, chromedp.KeyEvent("d"), chromedp.WaitVisible(chromedp.CSS("#compared table")))
		until(ctx, t, `document.activeElement.id === "compared" && document.elementFromPoint(innerWidth / 2, document.getElementById("compared").getBoundingClientRect().top + 10)?.closest("#compared") !== null`)
	}
}

// A decision that asks a node which is down leaves no event, and is no place
// to stand on: the faults before the first decision are.
func TestEachPressShowsAnotherRow(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/redlock-two-nodes-down"))
	at(ctx, t, "2 of 2 · T2 · 0 ms")
	if !get[bool](ctx, t, theMove("A")+`.getAttribute("aria-disabled") === "false"`) {
		t.Error("after what came before the first decision nobody can act")
	}
	do(ctx, t, chromedp.KeyEvent(kb.Home))
	at(ctx, t, "0 of 2")
	for n := 1; n <= 9; n++ {
		do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
		at(ctx, t, fmt.Sprintf("%d of %d · T%d · ", n, max(n, 2), n))
	}
	do(ctx, t, chromedp.KeyEvent(kb.End))
	at(ctx, t, "29 of 29 · T29")
	for n := 28; n >= 25; n-- {
		do(ctx, t, chromedp.KeyEvent(kb.ArrowLeft))
		at(ctx, t, fmt.Sprintf("%d of 29 · T%d · ", n, n))
	}
	do(ctx, t, chromedp.KeyEvent(kb.Home))
	at(ctx, t, "0 of 29")
	for n := 1; n <= 9; n++ {
		do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
		at(ctx, t, fmt.Sprintf("%d of 29 · T%d · ", n, n))
	}

	// Stepping a thread by hand shows something new with each press, too.
	do(ctx, t, chromedp.Navigate(url+"/play/redlock-two-nodes-down?by-hand"))
	at(ctx, t, "2 of 2 · T2 · 0 ms")
	for n := 3; n <= 5; n++ {
		do(ctx, t, click(moveOf("A")))
		at(ctx, t, fmt.Sprintf("%d of %d · T%d · ", n, n, n))
	}
	for n := 4; n >= 2; n-- {
		do(ctx, t, chromedp.KeyEvent("u"))
		at(ctx, t, fmt.Sprintf("%d of %d · T%d · ", n, n, n))
	}
}

// TestNobodyMovesInsideOfAScript stands between two commands of one: what is
// atomic is not for anybody to come between.
func TestNobodyMovesInsideOfAScript(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/two-threads"))
	at(ctx, t, "at the start · 0 ms")
	do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
	at(ctx, t, "1 of 1 · T1 ·")
	do(ctx, t, chromedp.KeyEvent("i"))
	at(ctx, t, "1 of 1 · T1.1 ·")
	do(ctx, t, chromedp.KeyEvent("2"))
	until(ctx, t, problem+`.includes("Redis runs a script whole: step out of it (O), then act.")`)
	at(ctx, t, "1 of 1 · T1.1 ·")
	do(ctx, t, chromedp.KeyEvent("o"), chromedp.KeyEvent("2"))
	at(ctx, t, "2 of 2 · T2 ·")
}

// A late copy has its own button, which says when it arrives, and a person can ask for
// one.
func TestALateCopyIsDelivered(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play/late-unlock"))
	at(ctx, t, "at the start · 0 ms")
	for i, thread := range []string{"A", "B", "B", "A"} {
		do(ctx, t, click(moveOf(thread)))
		at(ctx, t, fmt.Sprintf("%[1]d of %[1]d", i+1))
	}
	const deliver = `[...document.querySelectorAll('#choices [data-option="A false true"]')].map((o) => o.innerText.replace(/\s+/g, " ")).join()`
	if got, want := get[string](ctx, t, deliver), "A's late copy at 85 ms · unlock"; got != want {
		t.Errorf("under way: %q, want %q", got, want)
	}
	for i, thread := range []string{"B", "A", "A"} {
		do(ctx, t, click(moveOf(thread)))
		at(ctx, t, fmt.Sprintf("%[1]d of %[1]d", i+5))
	}
	do(ctx, t, click(`#choices [data-option="A false true"]`))
	at(ctx, t, "8 of 8 · T8 · 85 ms")
	until(ctx, t, `document.querySelector("#rows tr[aria-current]")?.innerText.includes("late copy of unlock, level 1")`)
	until(ctx, t, `document.querySelectorAll(".lanes-run .lane-late").length === 1`)
	if got := get[string](ctx, t, deliver); got != "" {
		t.Errorf("still under way: %q", got)
	}
	if got := get[string](ctx, t, believes("A")); got != "I hold the lock" {
		t.Errorf("A believes: %q", got)
	}
	do(ctx, t, click("#tab-redis"), click(`[data-dialog="strike"]`), chromedp.WaitVisible(chromedp.CSS("#fault-do")), chromedp.SetValue(chromedp.CSS("#fault-do"), "late-copy"))
	do(ctx, t, chromedp.Evaluate[chromedp.Void](`document.getElementById("fault-do").dispatchEvent(new Event("input", { bubbles: true })); undefined`))
	if got, want := get[string](ctx, t, `[...document.querySelectorAll("#strike-form [data-part]:not([hidden])")].map((p) => p.dataset.part).join()`), "thread,at,for"; got != want {
		t.Errorf("the dialog asks for %q, want %q", got, want)
	}
	do(ctx, t, chromedp.SetValue(chromedp.CSS("#fault-at"), "unlock"), click(`#strike button[value="strike"]`))
	until(ctx, t, theMove("A")+`.innerText.includes("⚡ late copy") && `+theMove("A")+`.title.includes("waiting to strike: late-copy (unlock)")`)
	if got := get[string](ctx, t, problem); got != "" {
		t.Errorf("the page complains: %q", got)
	}
}

// stepping opens a scenario of a test's own at its start.
func stepping(ctx context.Context, t testing.TB, url, yaml string) {
	t.Helper()
	sc, err := scenario.Parse([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	text, err := link.Encode(link.Contents{Scenario: sc})
	if err != nil {
		t.Fatal(err)
	}
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/play#"+text))
	at(ctx, t, "at the start · 0 ms")
}

// Nodes that a thread asks at once are asked in the order that a person wants.
func TestNodesThatAreAskedAtOnceAreSteppedOneByOne(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	stepping(ctx, t, url, "lock: {protocol: redsync, nodes: 3, lease: 300ms, watchdog: off}\nthreads: [{name: A, work: 50ms}]")
	const asked = `[...document.querySelectorAll('#choices [data-option^="A true false "]')]`
	do(ctx, t, click(moveOf("A")))
	until(ctx, t, asked+`.length === 3`)
	if got := get[string](ctx, t, asked+`[2].ariaLabel`); got != "A asks node 3, SET" {
		t.Errorf("a button is called %q", got)
	}
	_ = get[any](ctx, t, asked+`[2].click()`)
	at(ctx, t, "1 of 1 · T1")
	until(ctx, t, asked+`.length === 2`)
	if got := get[string](ctx, t, `document.querySelector("#rows tr[aria-current] .command").innerText.replace(/\s+/g, " ")`); !strings.HasPrefix(got, "node 3 SET") {
		t.Errorf("what ran: %q", got)
	}
	if got := get[string](ctx, t, problem); got != "" {
		t.Errorf("the page complains: %q", got)
	}
}

// The number of a last call is labelled, and not taken for a hold.
func TestTheNumberOfTheLastCallIsLabelled(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	stepping(ctx, t, url, "lock: {protocol: reentrant-sequenced, lease: 200ms, watchdog: off}\nthreads: [{name: A, depth: 2, work: 50ms}, {name: B}]")
	do(ctx, t, click(moveOf("A")))
	at(ctx, t, "1 of 1 · T1")
	do(ctx, t, click(moveOf("B")))
	at(ctx, t, "2 of 2 · T2")
	do(ctx, t, click(moveOf("A")))
	at(ctx, t, "3 of 3 · T3")
	for what, c := range map[string]struct{ expression, want string }{
		"the hash in the table":          {`document.querySelector("#rows tr[aria-current] .hash").innerText.replace(/\s+/g, " ")`, "A { 0678…102: 2, #A: 2 }"},
		"the card":                       {`document.querySelector("#stage [data-slot=raw]").innerText.replace(/\s+/g, " ")`, "HASH { 0678…102: 2, #A: 2 }"},
		"who holds":                      {`document.querySelector("#stage .redis .held").innerText.replace(/\s+/g, " ")`, "A holds it, ×2"},
		"what a reply that is a list is": {`document.querySelectorAll("#rows tr[aria-current] .reply")[0].innerText`, "1 1"},
	} {
		if got := get[string](ctx, t, c.expression); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

// A page that finds no room says why, asks seldom, and gets in with a click once there is
// some.
func TestAPageWithoutRoomSaysWhy(t *testing.T) {
	t.Parallel()
	limits := runs.DefaultLimits()
	limits.SteppingAddress = 1
	server := serveWithin(t, limits)
	first, second := tab(t), tab(t)
	do(first, t, chromedp.Navigate(server+"/play/lease-expiry"))
	at(first, t, "at the start")
	do(second, t, chromedp.Navigate(server+"/play/lease-expiry"))
	until(second, t, problem+`.includes("-max-stepping-per-address=1") && `+problem+`.includes("a click asks at once")`)
	do(first, t, chromedp.Navigate("about:blank"))
	until(second, t, `document.body.click() || `+place+`.startsWith("at the start")`)
	until(second, t, problem+` === "" && !document.querySelector(".play").classList.contains("lost")`)
}

// No choice of the dialog is wider than a phone.
func TestTheFaultDialogFitsAPhone(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(360, 740), chromedp.Navigate(url+"/play/two-masters"))
	until(ctx, t, place+`.endsWith("0 ms")`)
	do(ctx, t, chromedp.Evaluate[chromedp.Void](`document.querySelector('[data-dialog="strike"]').click()`))
	until(ctx, t, `document.getElementById("strike").open`)
	wide := get[[]string](ctx, t, `(() => {
		const list = document.getElementById("fault-do");
		return [...list.options].filter((o) => {
			list.value = o.value;
			list.dispatchEvent(new Event("input", { bubbles: true }));
			const dialog = document.getElementById("strike");
			return dialog.scrollWidth > dialog.clientWidth;
		}).map((o) => o.value);
	})()`)
	if len(wide) > 0 {
		t.Errorf("wider than the dialog: %s", wide)
	}
}
