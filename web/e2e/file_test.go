package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"relock/lessons/lessonstest"
	"relock/web/export"
	"relock/web/words"
)

// A film in a file plays, steps and speaks both languages from a disk, and asks for nothing else.
func TestAFilmPlaysFromADisk(t *testing.T) {
	t.Parallel()
	played := lessonstest.Play(t, "textbook.yaml")
	data, err := export.Render(t.Context(), export.HTML, export.Run{Header: played.Header, Events: played.Events, Scenario: played.Scenario, Language: words.English})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "film.html")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := tab(t)
	do(ctx, t, chromedp.EmulateViewport(390, 844), chromedp.Navigate("file://"+file))
	const current = `(document.querySelector("#rows [aria-current] .t, #rows [aria-current] th")?.textContent ?? "")`
	until(ctx, t, `document.querySelectorAll("#rows > tr").length > 5 && !document.querySelector(".unopened")`)
	do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
	until(ctx, t, current+`.includes("T1")`)
	do(ctx, t, chromedp.KeyEvent(kb.End))
	until(ctx, t, current+`.includes("T11")`)
	if wide := get[int](ctx, t, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("it is %d px wide on a phone", wide)
	}
	for _, f := range findings(ctx, t) {
		t.Errorf("axe: %s: %s %q", f.ID, f.Help, f.Nodes)
	}
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Click(`[data-language][lang="zh-CN"]`))
	until(ctx, t, `document.documentElement.lang === "zh-CN" && document.querySelectorAll("#rows > tr").length > 5`)
	do(ctx, t, chromedp.Click("#transport [data-go=play]"))
	until(ctx, t, current+`.includes("T1")`)
	for _, f := range findings(ctx, t) {
		t.Errorf("axe, in Chinese: %s: %s %q", f.ID, f.Help, f.Nodes)
	}
	if asked := get[int](ctx, t, `performance.getEntriesByType("resource").length`); asked > 0 {
		t.Errorf("it asked for %d things", asked)
	}
}
