package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"relock/engine/course"
	"relock/web/words"
)

// Somebody on a phone who opens the hints of a break one after the other, and presses
// what the last one names, has broken it, and sees so where the thumb is.
func TestTheLastHintIsFollowedByHand(t *testing.T) {
	t.Parallel()
	c, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	var breaks []string
	for _, i := range c.Items() {
		if i.Kind == course.Break {
			breaks = append(breaks, i.Path())
		}
	}
	if len(breaks) == 0 {
		t.Fatal("nothing is to be broken")
	}
	url := serve(t)
	for n, language := range []string{"en", "zh"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			ctx := tab(t)
			do(ctx, t, chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
			for i, path := range breaks {
				if testing.Short() && i%2 != n {
					continue // each break in one language
				}
				followed(ctx, t, fmt.Sprintf("%s/learn/%s?lang=%s", url, path, language))
			}
		})
	}
}

// followed opens the hints of a break, and presses what the last one names.
func followed(ctx context.Context, t *testing.T, address string) {
	t.Helper()
	const (
		shut  = `.hints details:not([open]) > summary`
		moves = `[...document.querySelectorAll(".hints ol b")].filter((b) => b.checkVisibility()).map((b) => b.textContent)`
		// A move, or a fault of a thread, by the names that a person reads; one cannot press what is grey.
		named = `((name) => {
			const text = (e) => [...e.childNodes].filter((n) => n.nodeType === 3 || !n.matches(".hidden, svg")).map((n) => n.textContent).join("").trim();
			const own = [...document.querySelectorAll("#choices .move")].filter((b) => text(b.querySelector("b")) === name);
			const faults = [...document.querySelectorAll("#rail .fault")].filter((b) => {
				const of = b.closest(".thread-card")?.querySelector(".name").textContent;
				return [text(b), ...(of ? [of + ": " + text(b), of + "：" + text(b)] : [])].includes(name) && (of === undefined) === !/^[A-Z][:：]/.test(name);
			});
			const found = [...own, ...faults].filter((b) => b.getAttribute("aria-disabled") !== "true" && b.checkVisibility());
			if (found.length === 1) {
				found[0].click(); // at once: the page may draw its moves again at any moment
			}
			return found.length;
		})(%s)`
		state   = `document.getElementById("tally").textContent + document.getElementById("reached").hidden`
		inSight = `(() => {
			const box = document.getElementById("reached").getBoundingClientRect();
			const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
			return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight && document.getElementById("reached").contains(hit);
		})()`
	)
	do(ctx, t, chromedp.Navigate(address))
	until(ctx, t, `(document.getElementById("tally")?.textContent ?? "") !== ""`) // the page has asked what its first place is worth
	for range 4 {
		do(ctx, t, click(shut))
	}
	list := get[[]string](ctx, t, moves)
	if len(list) == 0 || get[bool](ctx, t, fmt.Sprintf("document.querySelector(`%s`) !== null", shut)) {
		t.Fatalf("%s: after four hints these moves are read: %q", address, list)
	}
	for n, name := range list {
		if !get[bool](ctx, t, `document.getElementById("reached").hidden`) {
			t.Fatalf("%s: broken after %d moves of %q", address, n, list)
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		was := get[string](ctx, t, state)
		if found := get[int](ctx, t, fmt.Sprintf(named, quoted)); found != 1 {
			t.Fatalf("%s: move %d of %q: %d buttons are named %q; there are %q", address, n+1, list, found, name,
				get[string](ctx, t, `[...document.querySelectorAll("#choices .move, #rail .fault")].map((b) => b.innerText + b.getAttribute("aria-disabled")).join(" | ")`))
		}
		until(ctx, t, fmt.Sprintf(`(%s) !== %q`, state, was))
		until(ctx, t, `!document.getElementById("reached").hidden || document.querySelector("#choices .move") !== null`) // while it goes there it has none
	}
	until(ctx, t, `document.getElementById("reached").checkVisibility()`)
	if !get[bool](ctx, t, inSight) {
		t.Errorf("%s: that it is broken is not in sight", address)
	}
}
