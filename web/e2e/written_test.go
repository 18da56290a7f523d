package e2e_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

const saidOver = `(document.getElementById("told")?.textContent ?? "")` + asRead

// A form that is sent while the server is away stays with all that is in it, and the page says
// what to do; the same press sends it once the server is back.
func TestWhatIsWrittenStaysWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	const own = "return 4711"
	for _, c := range []struct{ path, field, button, there string }{
		{"/edit?example=two-threads", "#yaml", `#scenario .primary`, `location.pathname === "/play"`},
		{"/learn/tokens/write-a-token", "textarea", ".writing .primary", `document.querySelector("textarea")?.value.includes("` + own + `") && document.querySelector("#feedback, .mistake") !== null`},
		{"/room/new", "#lesson-text", "#own-lesson button", `document.title.startsWith("No room can be made of that")`},
	} {
		ctx := tab(t)
		line, url := newBadLine(t, serveOwn(t))
		do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+c.path), chromedp.WaitReady(chromedp.CSS(c.field)))
		until(ctx, t, `document.readyState === "complete" && performance.getEntriesByType("resource").some((r) => r.name.includes("leaving"))`)
		get[bool](ctx, t, `(() => {
			const field = document.querySelector("`+c.field+`");
			for (let fold = field.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
			field.value += "\n# `+own+`";
			return field.dispatchEvent(new Event("input", { bubbles: true }));
		})()`)
		line.Cut()
		do(ctx, t, click(c.button))
		until(ctx, t, saidOver+`.startsWith("The server does not answer; what you wrote is still here.")`)
		if got := get[string](ctx, t, `document.querySelector("`+c.field+`").value`); !strings.Contains(got, own) {
			t.Errorf("%s has %q", c.path, got)
		}
		line.Mend()
		do(ctx, t, click(c.button))
		until(ctx, t, c.there)
	}
}

// What was changed in the editor while the server was away, in the text or in a field, is there
// again for who went and came back.
func TestTheEditorKeepsWhatTheServerDidNotGet(t *testing.T) {
	t.Parallel()
	ctx := tab(t)
	line, url := newBadLine(t, serve(t))
	do(ctx, t, chromedp.Navigate(url+"/edit?example=two-threads"))
	live(ctx, t)
	write(ctx, t, "lease: 200ms", "lease: 1s")
	shows(ctx, t, `document.getElementById("f-lock-lease").value === "1s"`)
	line.Cut()
	do(ctx, t, chromedp.Focus(chromedp.CSS("#f-threads-1-depth")), chromedp.KeyEvent("3"))
	shows(ctx, t, status+`.startsWith("The server does not answer")`)
	line.Mend()
	do(ctx, t, chromedp.Navigate("about:blank"), chromedp.NavigateBack())
	shows(ctx, t, yaml+`.includes("depth: 3") && `+yaml+`.includes("lease: 1s")`)
}

// A thread that was removed comes back by the button that has the focus then.
func TestRemovingAThreadCanBeUndone(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.Navigate(url+"/edit?example=two-threads"))
	live(ctx, t)
	do(ctx, t, chromedp.Focus(chromedp.CSS("#f-threads-1-depth")), chromedp.KeyEvent("3"))
	do(ctx, t, chromedp.Focus(chromedp.CSS(`button[value="remove-thread-1"]`)), chromedp.KeyEvent("\r"))
	shows(ctx, t, `!`+yaml+`.includes("name: B") && document.activeElement.textContent === "Undo"`)
	do(ctx, t, chromedp.KeyEvent("\r"))
	shows(ctx, t, yaml+`.includes("- name: B\n    depth: 3") && document.activeElement.value === "remove-thread-1" && !document.body.innerText.includes("Undo")`)
}

// Three megabytes that are pasted into a field do not come in, and the page says so at once.
func TestATextThatIsTooLongIsNotTaken(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	for path, field := range map[string]string{"/edit?example=two-threads": "#yaml", "/room/new": "#lesson-text", "/learn/tokens/write-a-token": "textarea"} {
		do(ctx, t, chromedp.Navigate(url+path), chromedp.WaitReady(chromedp.CSS(field)))
		until(ctx, t, `document.readyState === "complete" && performance.getEntriesByType("resource").some((r) => r.name.includes("leaving"))`)
		if !get[bool](ctx, t, `(() => {
			const field = document.querySelector("`+field+`");
			const clipboardData = new DataTransfer();
			clipboardData.setData("text/plain", "x".repeat(3 << 20));
			window.pasted = performance.now();
			return !field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
		})()`) {
			t.Errorf("%s takes it", path)
		}
		until(ctx, t, saidOver+`.startsWith("That text is too long: it has 3,072 KiB, and a field may have 64.") && (window.took ??= performance.now() - pasted) > 0`)
		if took := get[float64](ctx, t, "took"); took > 1000 {
			t.Errorf("%s: it says so after %.0f ms", path, took)
		}
	}
}
