package e2e_test

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
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
	return findingsIn(ctx, t, ":root")
}

// findingsIn runs axe on a part of what the tab shows.
func findingsIn(ctx context.Context, t *testing.T, part string) []finding {
	t.Helper()
	check := `axe.run(document.querySelector(` + strconv.Quote(part) + `), {resultTypes: ["violations"]}).then(r => r.violations.map(v => ({ID: v.id, Help: v.help, Nodes: v.nodes.map(n => n.html.slice(0, 160) + " :: " + n.failureSummary.slice(0, 240))})))`
	until(ctx, t, `document.readyState === "complete"`)
	if !get[bool](ctx, t, `"axe" in window`) {
		do(ctx, t, chromedp.Evaluate[chromedp.Void](axe+"; undefined"))
	}
	list, err := chromedp.Run(ctx, chromedp.Evaluate[[]finding](check, func(p *runtime.EvaluateParams) { await := true; p.AwaitPromise = &await }))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Every page, in every look, and in both languages, at rest and in use. Contrast
// is the look's, and names are the language's: not every pair is needed. With -short the
// parts of pages are looked at once, in the storybook, and a few whole pages.
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
	short := []string{"front door", "editor", "stepping", "storybook", "embed"}
	pages := []struct {
		name, path string
		use        func(context.Context, *testing.T)
	}{
		{"front door", "/", nil},
		{"gallery", "/scenarios", nil},
		{"locks", "/locks", nil},
		{"a lock", "/locks/fenced", nil},
		{"editor", "/edit", nil},
		{"a lock of one's own", "/lab/script", nil},
		{"its program", "/lab", nil},
		{"the list of scenarios", "/play/two-threads", func(ctx context.Context, t *testing.T) {
			t.Helper()
			until(ctx, t, place+`.endsWith("· 0 ms")`)
			do(ctx, t, click("#title"))
			until(ctx, t, `document.activeElement.id === "pick-filter"`)
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
			do(ctx, t, click("#explore"), chromedp.WaitVisible(chromedp.CSS("#space [data-dot]")))
			until(ctx, t, `document.querySelector("#outlook strong") !== null`)
		}},
		{"what would mend it", "/play/lease-expiry", func(ctx context.Context, t *testing.T) {
			t.Helper()
			until(ctx, t, place+`.endsWith("· 0 ms")`)
			do(ctx, t, chromedp.KeyEvent("e"), click("#saved"), chromedp.WaitVisible(chromedp.CSS(".mend-ending")), click(".mend-more > summary"), click(".cure-cards .cure-why summary"))
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
				if testing.Short() && !slices.Contains(short, p.name) {
					continue
				}
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
