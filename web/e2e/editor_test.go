package e2e_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	yaml   = `document.getElementById("yaml").value`
	status = `document.getElementById("editor-status").textContent`
	active = `(document.activeElement.name || document.activeElement.value || "")`
)

// shows waits for a JavaScript expression to be true on the editor's page.
func shows(ctx context.Context, t *testing.T, expression string) {
	t.Helper()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(stepLimit/8))); err != nil {
		t.Fatalf("%s: %v; the page says %q, its YAML\n%s", expression, err, get[string](ctx, t, status), get[string](ctx, t, yaml))
	}
}

// live waits for the editor's script.
func live(ctx context.Context, t *testing.T) {
	t.Helper()
	shows(ctx, t, `document.querySelector(".editor.live") !== null`)
}

// write makes the YAML another one, as typing does.
func write(ctx context.Context, t *testing.T, from, to string) {
	t.Helper()
	get[bool](ctx, t, `(() => {
		const text = document.getElementById("yaml");
		text.value = text.value.replace(`+"`"+from+"`, `"+to+"`"+`);
		return text.dispatchEvent(new Event("input", {bubbles: true}));
	})()`)
}

func TestFormAndYAMLFollowEachOther(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/edit?example=two-threads"))
	live(ctx, t)

	// A field changes the YAML; the caret stays in the field.
	do(ctx, t, chromedp.Focus(chromedp.CSS("#f-threads-1-depth")), chromedp.KeyEvent("3"))
	shows(ctx, t, yaml+`.includes("- name: B\n    depth: 3")`)
	if got := get[string](ctx, t, active); got != "threads[1].depth" {
		t.Errorf("the focus went to %q", got)
	}
	do(ctx, t, chromedp.KeyEvent("3"))
	shows(ctx, t, yaml+`.includes("depth: 33")`)
	shows(ctx, t, `document.getElementById("f-threads-1-depth").getAttribute("aria-invalid") === "true"`)
	shows(ctx, t, `document.getElementById(document.getElementById("f-threads-1-depth").getAttribute("aria-describedby").trim()).textContent.includes("a whole number from 1 to 16")`)
	do(ctx, t, chromedp.KeyEvent(kb.Backspace))
	shows(ctx, t, status+` === "This scenario can be run."`)
	if !strings.HasPrefix(get[string](ctx, t, yaml), "# The article's own test.") {
		t.Error("what stands above the scenario is gone")
	}

	// The YAML changes the form; a mistake is at its line and at its field.
	write(ctx, t, "lease: 200ms", "lease: 1s")
	shows(ctx, t, `document.getElementById("f-lock-lease").value === "1s"`)
	write(ctx, t, "lease: 1s", "lease: 1")
	shows(ctx, t, `document.querySelector("#yaml-lines li:nth-child(7)").className === "wrong"`)
	shows(ctx, t, `document.getElementById("f-lock-lease-mistake").textContent.includes("a time with a unit from 1ms to 1h")`)
	do(ctx, t, click(`#yaml-mistakes button`))
	if got := get[string](ctx, t, `(() => { const e = document.activeElement; return e.value.slice(e.selectionStart, e.selectionEnd); })()`); got != "  lease: 1" {
		t.Errorf("the way to the line leads to %q", got)
	}
	do(ctx, t, click(`#yaml-mistakes a`))
	if got := get[string](ctx, t, active); got != "lock.lease" {
		t.Errorf("the way to the field leads to %q", got)
	}

	// A text that is no YAML leaves the form as it was, and out of reach.
	write(ctx, t, "lease: 1", "lease: [")
	shows(ctx, t, `document.getElementById("editor-form").inert && document.getElementById("f-lock-lease").value === "1"`)
	write(ctx, t, "lease: [", "lease: 2s")
	shows(ctx, t, `!document.getElementById("editor-form").inert && document.getElementById("f-lock-lease").value === "2s"`)
}

func TestFaultsByTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.Navigate(url+"/edit?example=two-threads"))
	live(ctx, t)
	do(ctx, t, chromedp.Focus(chromedp.CSS(`button[value="add-fault"]`)), chromedp.KeyEvent("\r"))
	shows(ctx, t, active+` === "faults[0].do"`)
	do(ctx, t, chromedp.KeyEvent("clock"))
	shows(ctx, t, yaml+`.includes("{time: 100ms, do: clock-jump, by: 1s}")`)
	shows(ctx, t, `document.getElementById("f-faults-0-by") !== null && document.getElementById("f-faults-0-at") === null`)
	if got := get[string](ctx, t, active); got != "faults[0].do" {
		t.Errorf("the focus went to %q", got)
	}
	do(ctx, t, chromedp.Focus(chromedp.CSS(`button[value="remove-fault-0"]`)), chromedp.KeyEvent("\r"))
	shows(ctx, t, `!`+yaml+`.includes("\nfaults")`)

	// Tab leaves the text.
	do(ctx, t, chromedp.Focus(chromedp.CSS("#yaml")), chromedp.KeyEvent("\t"))
	if get[string](ctx, t, active) == "yaml" {
		t.Error("Tab is trapped in the text")
	}
}

// drop drops a file on the page.
func drop(name, content string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](`(() => {
		const data = new DataTransfer();
		data.items.add(new File([` + "`" + content + "`" + `], "` + name + `"));
		document.querySelector(".editor").dispatchEvent(new DragEvent("drop", {bubbles: true, cancelable: true, dataTransfer: data}));
	})()`)
}

// leads does what leads to another page, and waits for that.
func leads(ctx context.Context, t *testing.T, step chromedp.Action[chromedp.Void]) {
	t.Helper()
	if _, err := chromedp.RunResponse(ctx, step); err != nil {
		t.Fatal(err)
	}
}

func TestDropAFileOnTheEditor(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.Navigate(url+"/edit"))
	live(ctx, t)
	do(ctx, t, drop("mine.json", `{"title":"Mine","threads":[{"name":"Z","depth":4}]}`))
	shows(ctx, t, yaml+` === "title: Mine\nthreads: [{name: Z, depth: 4}]\n"`)
	shows(ctx, t, `document.getElementById("f-threads-0-depth").value === "4"`)

	leads(ctx, t, click(`#scenario button[value="run"]`))
	const trace = `(() => { const r = new XMLHttpRequest(); r.open("GET", location.pathname + "/trace", false); r.send(); return r.responseText; })()`
	shows(ctx, t, trace+`.includes('"thread":"","kind":"end"')`)
	do(ctx, t, chromedp.Navigate(get[string](ctx, t, "location.href"))) // with all rows
	lines := get[string](ctx, t, trace)
	ran := get[[]string](ctx, t, texts)
	do(ctx, t, chromedp.Navigate(url+"/edit"))
	live(ctx, t)
	leads(ctx, t, drop("mine.jsonl", strings.ReplaceAll(lines, `\`, `\\`)))
	do(ctx, t, chromedp.WaitVisible(chromedp.CSS(`.run[data-ended="true"]`)))
	if got := get[string](ctx, t, "location.pathname"); !strings.HasPrefix(got, "/traces/") {
		t.Errorf("the trace is shown at %s", got)
	}
	if got := get[[]string](ctx, t, texts); strings.Join(got, "\n") != strings.Join(ran, "\n") || len(got) == 0 {
		t.Errorf("the trace shows %q, the run %q", got, ran)
	}

	spans, err := os.ReadFile("../../engine/outside/logs/testdata/example.otlp.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	do(ctx, t, chromedp.Navigate(url+"/edit"))
	live(ctx, t)
	leads(ctx, t, drop("spans.jsonl", string(spans)))
	shows(ctx, t, `document.body.textContent.includes("Read from spans of OpenTelemetry")`)
}

func TestALinkOpensInTheEditor(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.Navigate(url+"/play/lease-expiry"))
	at(ctx, t, "at the start")
	do(ctx, t, click(`[data-go="forward"]`))
	at(ctx, t, "1 of 1")
	until(ctx, t, `location.hash.endsWith("~1")`)
	link := get[string](ctx, t, "location.hash")
	do(ctx, t, chromedp.Navigate(url+"/edit"+link))
	live(ctx, t)
	shows(ctx, t, yaml+`.startsWith("title: The lease ends before the work\n")`)
	shows(ctx, t, `document.getElementById("f-lock-watchdog").value === "off"`)
	shows(ctx, t, yaml+`.includes("schedule: [0]")`)
}

func TestTheEditorFitsAPhone(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	for _, language := range []string{"en", "zh"} {
		for _, width := range []int64{360, 768, 1440} {
			do(ctx, t, chromedp.EmulateViewport(width, 800), chromedp.Navigate(url+"/edit?example=redlock-cut-off&lang="+language))
			live(ctx, t)
			for _, open := range []string{"", `document.querySelectorAll("details.more, #picker").forEach((d) => { d.open = true; })`} {
				if open != "" {
					get[any](ctx, t, open)
				}
				if over := get[int](ctx, t, `document.documentElement.scrollWidth - window.innerWidth`); over > 0 {
					t.Errorf("%s, %d px wide: the page is %d px wider", language, width, over)
				}
			}
		}
	}
}

// TestWhatIsWrittenStays goes to the other language and to a run and back.
func TestWhatIsWrittenStays(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/edit?example=lease-expiry"))
	live(ctx, t)
	write(ctx, t, "lease: 200ms", "lease: 777ms")
	shows(ctx, t, `document.getElementById("f-lock-lease").value === "777ms"`)
	do(ctx, t, click(`a[hreflang="zh-CN"]`), chromedp.WaitVisible(chromedp.CSS(`html[lang="zh-CN"] .editor.live`)))
	shows(ctx, t, `document.getElementById("f-lock-lease").value === "777ms"`)
	live(ctx, t)
	do(ctx, t, click(`button[value="run"]`), chromedp.WaitVisible(chromedp.CSS(`.run`)))
	do(ctx, t, chromedp.NavigateBack(), chromedp.WaitVisible(chromedp.CSS(`.editor.live`)))
	shows(ctx, t, `location.pathname === "/edit" && document.getElementById("f-lock-lease")?.value === "777ms"`)
	// Another scenario is that one.
	do(ctx, t, chromedp.Navigate(url+"/edit?example=two-threads"))
	live(ctx, t)
	shows(ctx, t, `document.getElementById("f-lock-lease").value === "200ms"`)
}

// TestMenusClose opens the list of scenarios and leaves it in three ways.
func TestMenusClose(t *testing.T) {
	t.Parallel()
	const open = `document.getElementById("picker").open`
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/edit"))
	live(ctx, t)
	for name, leave := range map[string]chromedp.Action[chromedp.Void]{
		"Escape":        chromedp.KeyEvent(kb.Escape),
		"a click aside": click("h1"),
		"the focus":     chromedp.Focus(chromedp.CSS("#yaml")),
	} {
		do(ctx, t, click("#picker > summary"))
		shows(ctx, t, open)
		do(ctx, t, leave)
		if get[bool](ctx, t, open) {
			t.Errorf("%s leaves the menu open", name)
		}
	}
}

// No field of the lock stands alone in its line.
func TestTheLocksFieldsStandBesideEachOther(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/edit"))
	live(ctx, t)
	alone := get[[]string](ctx, t, `(() => {
		const lines = {};
		for (const id of ["protocol", "key", "lease", "watchdog"].map((name) => "f-lock-" + name)) {
			(lines[Math.round(document.getElementById(id).getBoundingClientRect().top)] ??= []).push(id);
		}
		return Object.values(lines).filter((line) => line.length < 2).flat();
	})()`)
	if len(alone) > 0 {
		t.Errorf("alone in their lines: %v", alone)
	}
}
