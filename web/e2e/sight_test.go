package e2e_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"relock/lessons/lessonstest"
)

// Stands at each place of the run of the open page, from its end back to its start, and
// lists those of which the line that ran is not in sight; how many lines there were is
// the first of the list.
const linesInSight = `(async () => {
  const drawn = () => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r())));
  const list = [];
  let lines = 0;
  for (let n = 0; n < 400; n++) {
    await drawn();
    const line = document.querySelector("#lua [data-script]:not([hidden]) .lua-now");
    if (line) {
      lines++;
      const at = line.getBoundingClientRect();
      const hit = document.elementFromPoint(at.left + 12, (at.top + at.bottom) / 2);
      if (!hit || !line.contains(hit)) list.push(document.getElementById("place").textContent + ": line " + line.dataset.line + " at " + Math.round(at.top) + " px");
    }
    const back = document.querySelector('[data-go="back"]');
    if (back.getAttribute("aria-disabled") === "true") return [String(lines), ...list];
    back.click();
  }
  return [String(lines), "the start was never reached"];
})()`

// The line that ran is in sight at each step of each bundled scenario on a laptop.
func TestTheLineThatRanIsInSight(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1366, 768))
	lines := 0
	for n, file := range lessonstest.Names(t) {
		if testing.Short() && n%27 != 0 {
			continue
		}
		name := strings.TrimSuffix(file, ".yaml")
		do(ctx, t, chromedp.Navigate(url+"/play/"+name))
		until(ctx, t, `document.getElementById("place").textContent !== "" && document.querySelector(".lane-plan") !== null`)
		do(ctx, t, chromedp.KeyEvent(kb.End))
		until(ctx, t, `document.querySelector('[data-go="end"]').getAttribute("aria-disabled") === "true" && document.querySelector("#rows tr[id]") !== null`)
		got := get[[]string](ctx, t, linesInSight)
		if got[0] != "0" {
			lines++
		}
		for _, one := range got[1:] {
			t.Errorf("%s: %s", name, one)
		}
	}
	if lines == 0 {
		t.Error("no scenario has run a line")
	}
	t.Logf("lines ran in %d scenarios", lines)
}

// At T1 one sees, in outline, what is settled; in a lesson's question nothing of it is
// on the page.
func TestWhatIsSettledIsInTheLanes(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.EmulateViewport(1366, 768), chromedp.Navigate(url+"/play/lease-expiry"))
	until(ctx, t, `document.querySelector('.lane-plan[data-mark="plan-start"]') !== null`)
	do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
	until(ctx, t, `document.querySelector('.lane-plan[data-mark="plan-work"]') !== null && document.querySelector(".lane-plan-lease") !== null`)
	if got := get[string](ctx, t, `[...document.querySelectorAll("text.lane-plan")].map((e) => e.textContent).join(" ")`); !strings.HasSuffix(got, "200 300") {
		t.Errorf("their times: %q", got)
	}
	do(ctx, t, chromedp.Navigate(url+"/learn/trouble/last-one"))
	until(ctx, t, `document.readyState === "complete"`)
	if n := get[int](ctx, t, `document.querySelectorAll(".lane-plan").length`); n != 0 {
		t.Errorf("%d plans while something is asked", n)
	}
}
