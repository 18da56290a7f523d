package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"relock/engine/trace"
	"relock/lessons/lessonstest"
	"relock/web/film"
	"relock/web/static"
	"relock/web/templates"
	"relock/web/words"
)

// serveScripts serves a page with the scripts of a lock's lesson alone, and
// returns its URL and the moment of each command, by the event's seq.
func serveScripts(t *testing.T, lesson string) (string, map[int]film.ScriptMoment) {
	t.Helper()
	p := lessonstest.Play(t, lesson)
	moments := map[int]film.ScriptMoment{}
	reel := film.New(words.English, p.Scenario, p.Owners)
	for _, e := range p.Events {
		reel.Add(e)
	}
	inside := map[int]int{} // commands so far, by step
	for _, e := range p.Events {
		if _, ok := e.Body.(trace.Command); ok {
			moments[e.Seq] = *reel.Rows()[e.Step-1].Inside[inside[e.Step]].Lua
			inside[e.Step]++
		}
	}
	files, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, files)
	mux.HandleFunc("/page/{lang}/{theme}", func(w http.ResponseWriter, r *http.Request) {
		l := words.Match(r.PathValue("lang"))
		texts, _ := json.Marshal(l.ForScripts())
		_, _ = fmt.Fprintf(w, `<!DOCTYPE html><html lang=%q data-theme=%q><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="%s"><script type="application/json" id="words">%s</script><body><div id="pane" class="card">`, l.Code(), r.PathValue("theme"), files.Path(static.Style), texts)
		for _, s := range film.Scripts(l, p.Scenario) {
			_ = templates.LuaPane(s, false).Render(words.With(r.Context(), l), w)
		}
		_, _ = fmt.Fprint(w, `</div><script type="module">import { show } from "/static/js/lua.js"; window.show = show;</script>`)
	})
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	return h.URL, moments
}

// shown calls the page's script for a moment, and gives what can be read: the
// lines of the script that is visible, each with its class and what it says.
const shown = `(moment => { show(pane, moment);
	return [...pane.querySelectorAll("[data-script]:not([hidden]) li")].map(l => [l.dataset.line, l.className, l.querySelector(".lua-said").textContent].join(" ").trim())})(%s)`

func TestAScriptIsMarkedWhereItStands(t *testing.T) {
	t.Parallel()
	ctx := tab(t)
	url, moments := serveScripts(t, "two-threads.yaml")
	do(ctx, t, chromedp.EmulateViewport(360, 900), chromedp.Navigate(url+"/page/en/light"), chromedp.Poll[chromedp.Void](`window.show !== undefined`))
	read := func(seq int) string {
		moment, err := json.Marshal(moments[seq])
		if err != nil {
			t.Fatal(err)
		}
		lines := get[[]string](ctx, t, fmt.Sprintf(shown, moment))
		return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return !strings.Contains(l, " ") || strings.Contains(l, "untaken") }), "; ")
	}
	for seq, want := range map[int]string{
		16: "10 lua-ran has run; 18 lua-now lua-ran has just run; 24 lua-next runs next",
		3:  "10 lua-ran has run; 14 lua-ran has run; 15 lua-now lua-ran has just run",
		41: "8 lua-ran has run; 12 lua-ran has run; 17 lua-ran has run; 20 lua-now lua-ran has just run",
	} {
		if got := read(seq); got != want {
			t.Errorf("%d: %s\nwant %s", seq, got, want)
		}
	}
	read(41)
	if got := get[string](ctx, t, `[...pane.querySelectorAll("[data-script]:not([hidden]) .lua-untaken")].map(l => l.dataset.line).join(" ")`); got != "9 14 21 22" {
		t.Errorf("passed by: %s", got)
	}
	if got := get[string](ctx, t, `pane.querySelector('[data-script="unlock.lua"] [data-line="20"] code').textContent`); got != "  redis.call('DEL', KEYS[1]) -- a full Redis refuses to count, but not to delete" {
		t.Errorf("the code is not as it is written: %q", got)
	}
	const marked = `pane.querySelectorAll("[data-script]:not([hidden]) :is(.lua-now, .lua-ran, .lua-next, .lua-untaken)").length`
	if got := get[int](ctx, t, `(show(pane, null), `+marked+`)`); got != 0 {
		t.Errorf("%d marks without a moment", got)
	}
	read(16)
	found := `[...pane.querySelectorAll("[data-script][hidden]")].forEach((s) => { s.dispatchEvent(new Event("beforematch", {bubbles: true})); s.hidden = false; })`
	if before, after := get[int](ctx, t, marked), get[int](ctx, t, `(`+found+`, `+marked+`)`); before == 0 || after != before {
		t.Errorf("%d marks, and %d once a search has shown the other scripts", before, after)
	}
	if wide := get[int](ctx, t, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
		t.Errorf("the page scrolls sideways by %d px", wide)
	}
}
