package e2e_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"relock/engine/outside/box"
	"relock/lessons"
	"relock/web"
	"relock/web/runs"
)

// serveOwn is serve with a box for locks of one's own.
func serveOwn(t *testing.T) string {
	t.Helper()
	b, err := box.New(box.Options{})
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("scripts cannot be walled in on this machine: ", err)
		}
		t.Skip("scripts cannot be walled in on this machine: ", err)
	}
	s, err := web.New(web.Config{Log: slog.New(slog.DiscardHandler), Limits: runs.DefaultLimits(), Scenarios: lessons.Scenarios(), Box: b})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		h.Close()
		_ = b.Close()
	})
	return h.URL
}

// photograph keeps a picture of the page where OWN_PICTURES says.
func photograph(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	dir := os.Getenv("OWN_PICTURES")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	_ = os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600)
}

// script makes a script of the form another one, as typing does.
func script(call, text string) string {
	return `(() => {
		const text = document.querySelector('textarea[name="lock.scripts.` + call + `"]');
		text.focus();
		text.value = ` + "`" + text + "`" + `;
		return text.dispatchEvent(new Event("input", {bubbles: true}));
	})()`
}

// A newcomer writes an unlock that deletes without looking, is shown what breaks,
// mends it, and is told that nothing does.
func TestWriteALockOfOnesOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lang, rule, sound, wrong string }{
		{"en", "nother's lock released", "None of the ", "this is not Lua"},
		{"zh-CN", "误删别人的锁", "没有一种违反规则", "这不是 Lua"},
	} {
		t.Run(c.lang, func(t *testing.T) {
			t.Parallel()
			if c.lang != "en" {
				long(t)
			}
			ctx, url := tab(t), serveOwn(t)
			do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/edit?example=two-threads&lang="+c.lang))
			live(ctx, t)
			const line = `document.querySelector('[name="lock.scripts.unlock"]').closest(".lua-edit").querySelector("li.wrong")?.textContent`
			get[bool](ctx, t, `(() => {
				const lock = document.getElementById("f-lock-protocol");
				lock.value = "own";
				return lock.dispatchEvent(new Event("change", {bubbles: true}));
			})()`)
			shows(ctx, t, yaml+`.includes("like: reentrant") && document.querySelector(".coloured .k") !== null`)

			// If it is not Lua, the page says so, at its line.
			get[bool](ctx, t, script("unlock", "redis.call('DEL', KEYS[1])\nreturn if\n"))
			shows(ctx, t, `document.querySelector("#yaml-mistakes li")?.textContent.includes("`+c.wrong+`") && document.getElementById("editor-status").classList.contains("wrong")`)
			shows(ctx, t, line+` === "2"`)
			const field = `document.querySelector('[name="lock.scripts.unlock"]')`
			shows(ctx, t, field+`.ariaInvalid === "true" && document.getElementById(`+field+`.getAttribute("aria-errormessage")).textContent.includes("`+c.wrong+`")`)
			photograph(ctx, t, "typed-"+c.lang)
			do(ctx, t, click("#judge"))
			shows(ctx, t, `document.getElementById("judged-count").textContent.includes("`+c.wrong+`")`)
			shows(ctx, t, line+` === "2"`)

			get[bool](ctx, t, script("unlock", "redis.call('DEL', KEYS[1])\nreturn 1\n"))
			shows(ctx, t, yaml+`.includes("return 1") && !`+field+`.hasAttribute("aria-invalid")`)
			do(ctx, t, click("#judge"))
			shows(ctx, t, `document.querySelector("#judged .broken-rules")?.textContent.includes("`+c.rule+`")`)
			shows(ctx, t, `document.querySelector('#judged a[href^="/play#v"]') !== null && document.querySelector(".judged-count.bad") !== null`)
			photograph(ctx, t, "own-"+c.lang)

			get[bool](ctx, t, script("unlock", mended))
			shows(ctx, t, yaml+`.includes("counted at zero")`)
			do(ctx, t, click("#judge"))
			shows(ctx, t, `document.getElementById("judged").textContent.includes("`+c.sound+`") && document.getElementById("judged-count").textContent.startsWith("0 of ")`)
			photograph(ctx, t, "mended-"+c.lang)

			// Within other bounds nothing is compared, and a link has them all.
			do(ctx, t, chromedp.Navigate(url+"/edit?lang="+c.lang+"&delays=0&faults=1&kinds=pause"+get[string](ctx, t, `document.querySelector("#judged-link a").hash`)))
			shows(ctx, t, `document.getElementById("judged-count").textContent !== "" && [...document.querySelectorAll("#judge-kinds :checked")].map((b) => b.value).join() === "pause"`)
			get[bool](ctx, t, `document.querySelector('[name="judge-faults"][value="0"]').click() ?? true`)
			do(ctx, t, click("#judge"))
			shows(ctx, t, `document.getElementById("judged").textContent.includes("`+c.sound+`") && !document.getElementById("judged-count").textContent.includes("before")`)
			if c.lang == "en" {
				do(ctx, t, chromedp.EmulateViewport(360, 740))
				photograph(ctx, t, "own-360")
			}
		})
	}
}

// mended is the reentrant lock's unlock, in few lines.
const mended = `-- counted at zero
local count = redis.call('HGET', KEYS[1], ARGV[1])
if not count or tonumber(count) < tonumber(ARGV[2]) - 1 then
  return 0
end
if ARGV[2] == '1' then
  redis.call('DEL', KEYS[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] - 1)
end
return 1
`

// Tab indents a script, the browser takes that back, and after Esc it leaves.
func TestTabInAScript(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serveOwn(t)
	do(ctx, t, chromedp.Navigate(url+"/edit?example=two-threads"))
	live(ctx, t)
	write(ctx, t, "protocol: reentrant", "protocol: own\n  scripts: {lock: return 0, unlock: return 0}")
	shows(ctx, t, `document.querySelector(".coloured textarea") !== null`)
	const of = `document.querySelector('[name="lock.scripts.lock"]')`
	do(ctx, t, chromedp.Focus(chromedp.CSS(`[name="lock.scripts.lock"]`)), chromedp.KeyEvent(kb.Home), chromedp.KeyEvent("\t"))
	shows(ctx, t, of+`.value.startsWith("  return 0")`)
	get[bool](ctx, t, `document.execCommand("undo")`)
	shows(ctx, t, of+`.value.startsWith("return 0")`)
	do(ctx, t, chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("\t"))
	if got := get[string](ctx, t, active); got == "lock.scripts.lock" {
		t.Error("after Esc, Tab does not leave the script")
	}
}

// A lock that is pasted is called as it works, each script's arguments beside it. Of one that its
// writer calls otherwise nothing is said but how it works: no count, and no line that nobody reached.
func TestArgumentsOfPastedScripts(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serveOwn(t)
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/lab/script"))
	live(ctx, t)
	get[bool](ctx, t, script("lock", "if redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[1]) then return 1 end\nreturn 0\n"))
	shows(ctx, t, `document.querySelector('[name="lock.args.lock"]').value === "lease-ms owner" && document.getElementById("editor-status").textContent.includes("was tried")`)
	get[bool](ctx, t, script("unlock", "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end\nreturn 0\n"))
	shows(ctx, t, yaml+`.includes("== ARGV[1] then return redis.call('DEL'") && !document.querySelector('[name="lock.scripts.renew"]')?.value`)
	photograph(ctx, t, "pasted")
	get[bool](ctx, t, `(() => {
		const args = document.querySelector('[name="lock.args.lock"]');
		args.value = "level, owner";
		return args.dispatchEvent(new Event("change", {bubbles: true}));
	})()`)
	shows(ctx, t, yaml+`.includes("lock: [level, owner]")`)
	do(ctx, t, click("#judge"))
	shows(ctx, t, `document.getElementById("judged").textContent.includes("args: {lock: [lease-ms, owner]}") && !document.querySelector("#judged .broken-rules")`)
	shows(ctx, t, `!/\d/.test(document.getElementById("judged-count").textContent) && !document.querySelector(".lua-edit .unreached")`)
	photograph(ctx, t, "misused")

	// One press puts what is said into the text and the form, and judges that.
	do(ctx, t, click("#judged-fit button"))
	shows(ctx, t, yaml+`.includes("lock: [lease-ms, owner]") && document.querySelector('[name="lock.args.lock"]').value === "lease-ms owner"`)
	shows(ctx, t, `/^0 of \d+ orders break a rule/.test(document.getElementById("judged-count").textContent.replaceAll("\u00a0", " ")) && !document.getElementById("judged-fit").checkVisibility()`)
}
