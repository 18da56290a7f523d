package e2e_test

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

//go:embed testdata/axe.min.js
var axe string

// finding is what axe has against a page.
type finding struct {
	ID    string
	Help  string
	Nodes []string
}

// findings runs axe on what the tab shows.
func findings(ctx context.Context, t *testing.T) []finding {
	t.Helper()
	const check = `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v => ({ID: v.id, Help: v.help, Nodes: v.nodes.map(n => n.html.slice(0, 160) + " :: " + n.failureSummary.slice(0, 240))})))`
	until(ctx, t, `document.readyState === "complete"`)
	do(ctx, t, chromedp.Evaluate[chromedp.Void](axe+"; undefined"))
	list, err := chromedp.Run(ctx, chromedp.Evaluate[[]finding](check, func(p *runtime.EvaluateParams) { await := true; p.AwaitPromise = &await }))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// alike takes what is alike out of a page, beyond six rows, items or cards of a list,
// with -short: axe takes as long for each.
func alike(ctx context.Context, t *testing.T) {
	t.Helper()
	if testing.Short() {
		get[bool](ctx, t, `(document.querySelectorAll(":is(tr, li, article, details):nth-of-type(n + 7)").forEach((e) => e.remove()), true)`)
	}
}

// Every page, in every look, and in both languages, at rest and in use. Contrast
// is the look's, and names are the language's: not every pair is needed.
func TestAxeFindsNothing(t *testing.T) {
	t.Parallel()
	url := serve(t)
	steps := func(keys ...string) func(context.Context, *testing.T) {
		return func(ctx context.Context, t *testing.T) {
			t.Helper()
			until(ctx, t, place+`.endsWith("· 0 ms")`)
			for _, k := range keys {
				do(ctx, t, chromedp.KeyEvent(k))
			}
			until(ctx, t, `document.getElementById("place").textContent.includes("T")`)
		}
	}
	pages := []struct {
		name, path string
		use        func(context.Context, *testing.T)
	}{
		{"front door", "/", nil},
		{"gallery", "/scenarios", alike},
		{"locks", "/locks", alike},
		{"a lock", "/locks/fenced", alike},
		{"editor", "/edit", nil},
		{"a lock of one's own", "/lab/script", nil},
		{"its program", "/lab", nil},
		{"the list of scenarios", "/play/two-threads", func(ctx context.Context, t *testing.T) {
			t.Helper()
			until(ctx, t, place+`.endsWith("· 0 ms")`)
			do(ctx, t, click("#title"))
			until(ctx, t, `document.activeElement.id === "pick-filter"`)
			alike(ctx, t)
		}},
		{"about", "/about", nil},
		{"interface", "/api", nil},
		{"no such page", "/nowhere", nil},
		{"stepping", "/play/lease-expiry", steps("e", "i")},
		{"a branch", "/play/two-threads", steps("1", "2", "u")},
		{"help", "/play/two-threads", steps("1", "?")},
		{"every order", "/play/lease-expiry", func(ctx context.Context, t *testing.T) {
			t.Helper()
			until(ctx, t, place+`.endsWith("· 0 ms")`)
			if get[bool](ctx, t, `document.documentElement.dataset.theme === "stage"`) {
				do(ctx, t, chromedp.KeyEvent("t")) // the tools
			}
			do(ctx, t, click("#explore"), click("#explore-form .primary"), chromedp.WaitVisible(chromedp.CSS("#space [data-dot]")))
			until(ctx, t, `document.querySelector("#outlook strong") !== null`)
		}},
		{"storybook", "/storybook", nil},
		{"embed", "/embed/play/lease-expiry", func(ctx context.Context, t *testing.T) {
			t.Helper()
			until(ctx, t, place+`.endsWith("· 0 ms")`)
		}},
	}
	for _, c := range []struct{ look, language string }{{"light", "en"}, {"dark", "zh"}, {"stage", "en"}} {
		t.Run(c.look+" "+c.language, func(t *testing.T) {
			if c.look != "dark" {
				long(t)
			}
			t.Parallel()
			ctx := tab(t)
			do(ctx, t, chromedp.EmulateViewport(1440, 900))
			for _, p := range pages {
				do(ctx, t, chromedp.Navigate(fmt.Sprintf("%s%s?theme=%s&lang=%s", url, p.path, c.look, c.language)))
				if p.use != nil {
					p.use(ctx, t)
				}
				for _, f := range findings(ctx, t) {
					if p.name == "storybook" && f.ID == "landmark-unique" {
						continue // it has parts of several pages
					}
					t.Errorf("%s: %s: %s\n  %s", p.name, f.ID, f.Help, strings.Join(f.Nodes, "\n  "))
				}
			}
		})
	}
}
