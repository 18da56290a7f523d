package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// whereItRests answers with the middle of an element, once that is in sight, enabled,
// at rest and not covered. A person does not click on what is still moving; a busy
// machine moves for long.
const whereItRests = `(async (selector) => {
  const wait = () => new Promise((done) => setTimeout(done, 20));
  for (;;) {
    const e = document.querySelector(selector);
    if (e?.checkVisibility() && !e.matches(":disabled")) {
      e.scrollIntoView({block: "nearest", inline: "nearest", behavior: "instant"});
      const was = e.getBoundingClientRect();
      await wait();
      const is = e.getBoundingClientRect();
      const [x, y] = [is.left + is.width / 2, is.top + is.height / 2];
      const hit = document.elementFromPoint(x, y);
      if (hit !== null && e.contains(hit) && ["left", "top", "width", "height"].every((side) => is[side] === was[side])) {
        window.clicked = false;
        document.addEventListener("click", (c) => { window.clicked = e.contains(c.target); }, {once: true, capture: true});
        return [x, y];
      }
      e.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
    }
    await wait();
  }
})(%s)`

// aimed is how often a click is tried that what has moved in between keeps from
// its element, as after a window has another size.
const aimed = 3

// click clicks on the first element that a selector finds, when it rests.
func click(selector string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (v chromedp.Void, err error) {
		name, err := json.Marshal(selector)
		if err != nil {
			return v, fmt.Errorf("click on %s: %w", selector, err)
		}
		wait := func(p *runtime.EvaluateParams) { yes := true; p.AwaitPromise = &yes }
		for range aimed {
			at, err := chromedp.Evaluate[[2]float64](fmt.Sprintf(whereItRests, name), wait)(ctx, t)
			if err != nil {
				return v, fmt.Errorf("click on %s: %w", selector, err)
			}
			if _, err := chromedp.MouseClickXY(at[0], at[1])(ctx, t); err != nil {
				return v, fmt.Errorf("click on %s: %w", selector, err)
			}
			missed, err := chromedp.Evaluate[bool](`window.clicked === false`)(ctx, t)
			if away := err != nil; away || !missed { // the click may have led to another page
				return v, nil //nolint:nilerr // that is what it was for
			}
		}
		return v, nil
	}
}

// moveOf is a thread's own move in the dock.
func moveOf(thread string) string {
	return fmt.Sprintf(`#choices [data-option="%s false false"]`, thread)
}

// theMove is its element, as a script finds it.
func theMove(thread string) string {
	return fmt.Sprintf("document.querySelector(`%s`)", moveOf(thread))
}

// inMenu opens a menu and clicks on what a selector finds in it.
func inMenu(menu, selector string) chromedp.Action[chromedp.Void] {
	open, press := click(menu+" > summary"), click(menu+" "+selector)
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		if v, err := open(ctx, t); err != nil {
			return v, err
		}
		return press(ctx, t)
	}
}

// The ways in a film that are in its menu.
var (
	toTheStart = inMenu("#film-menu", `[data-go="first"]`)
	toTheEnd   = inMenu("#film-menu", `[data-go="end"]`)
)
