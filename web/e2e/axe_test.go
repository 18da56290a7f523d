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
	do(ctx, t, chromedp.Evaluate[chromedp.Void](axe+"; undefined"))
	list, err := chromedp.Run(ctx, chromedp.Evaluate[[]finding](check, func(p *runtime.EvaluateParams) { await := true; p.AwaitPromise = &await }))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Every page, in every look and both languages, at rest and in use.
func TestAxeFindsNothing(t *testing.T) {
	ctx, url := tab(t), serve(t)
	steps := func(keys ...string) func() {
		return func() {
			at(ctx, t, "0 ")
			for _, k := range keys {
				do(ctx, t, chromedp.KeyEvent(k))
			}
			until(ctx, t, `document.getElementById("place").textContent.includes("T")`)
		}
	}
	pages := []struct {
		name, path string
		use        func()
	}{
		{"front door", "/", nil},
		{"gallery", "/scenarios", nil},
		{"locks", "/locks", nil},
		{"editor", "/edit", nil},
		{"about", "/about", nil},
		{"interface", "/api", nil},
		{"storybook", "/storybook", nil},
		{"no such page", "/nowhere", nil},
		{"stepping", "/play/lease-expiry", steps("e", "i")},
		{"a branch", "/play/two-threads", steps("1", "2", "u")},
		{"help", "/play/two-threads", steps("1", "?")},
		{"embed", "/embed/play/lease-expiry", func() { at(ctx, t, "0 ") }},
	}
	for _, look := range []string{"light", "dark", "stage"} {
		for _, language := range []string{"en", "zh"} {
			for _, p := range pages {
				t.Run(fmt.Sprintf("%s %s %s", p.name, look, language), func(t *testing.T) {
					do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate("about:blank"), chromedp.Navigate(fmt.Sprintf("%s%s?theme=%s&lang=%s", url, p.path, look, language)))
					if p.use != nil {
						p.use()
					}
					for _, f := range findings(ctx, t) {
						if p.name == "storybook" && f.ID == "landmark-unique" {
							continue // it has parts of several pages
						}
						t.Errorf("%s: %s\n  %s", f.ID, f.Help, strings.Join(f.Nodes, "\n  "))
					}
				})
			}
		}
	}
}
