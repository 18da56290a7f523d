package e2e_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"relock/engine/course"
	"relock/web/words"
)

// A list of sentences about the open page: what gives the answer away while a question
// waits, and what hides the row that it is about.
const telling = `(() => {
  const seen = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== "hidden";
  const found = [];
  for (const e of document.querySelectorAll("#why, #cause, #alarm, .belief, .beliefs, .violation, .lane-flag, .lane-broken, #ending")) {
    if (seen(e) && e.textContent.trim() + e.tagName !== "P") found.push("in sight: " + (e.id || e.getAttribute("class")) + " " + e.textContent.trim().slice(0, 60));
  }
  for (const e of document.querySelectorAll("#stage .who > :not(.name), #stage .cord :is(span, small), #stage .broken-rule, #stage .redis > .odd")) {
    if (seen(e) && e.textContent.trim()) found.push("on the stage: " + e.textContent.trim().slice(0, 60));
  }
  for (const e of document.querySelectorAll("#stage .cord:is(.asks, .no, .ok, .two, .false, .open, .loose, .wrong)")) {
    found.push("a cord: " + e.className);
  }
  if (getComputedStyle(document.getElementById("stage")).boxShadow !== "none") found.push("the stage's edge says that a rule is broken");
  const current = document.querySelector("#rows tr[aria-current]");
  if (!current) return current === null && document.querySelectorAll("#rows tr[id]").length > 0 ? ["no row is current"] : found;
  for (let tr = current.nextElementSibling; tr; tr = tr.nextElementSibling) {
    if (seen(tr) && !tr.classList.contains("space") && !(tr.classList.contains("ran") && tr === current.nextElementSibling)) found.push("a later row is in sight: " + tr.textContent.trim().slice(0, 40));
  }
  const later = document.querySelector("[data-later]"), cursor = document.querySelector("[data-cursor] .cursor");
  if (seen(cursor)) {
    if (!seen(later) || getComputedStyle(later).fillOpacity !== "1") found.push("the lanes show what comes later");
    else if (later.getBoundingClientRect().left > cursor.getBoundingClientRect().right + 2) found.push("the lanes' cover begins after the cursor");
  }
  const scroller = document.getElementById("scroll"), box = scroller.getBoundingClientRect();
  const head = scroller.querySelector("thead").getBoundingClientRect();
  const row = current.getBoundingClientRect();
  const asked = current.querySelector(".time").getBoundingClientRect(); // its rest can be scrolled to
  if (row.top < head.bottom - 1 || asked.top + 20 > box.bottom) found.push("of the row " + Math.round(row.height) + " px high " + Math.round(Math.min(row.bottom, box.bottom) - Math.max(row.top, head.bottom)) + " are in the table's box");
  for (const [x, y] of [[box.left + 20, row.top + 4]]) {
    const hit = document.elementFromPoint(x, y);
    if (!hit || !current.contains(hit)) found.push("the row is covered at " + Math.round(y) + " px by " + (hit ? hit.tagName + "." + hit.className : "the window's edge"));
  }
  return found;
})()`

// Nothing on the stage tells the answer before it is given, and nothing covers the
// row that is asked about, on the screens that people have.
func TestTheStageDoesNotAnswerFirst(t *testing.T) {
	t.Parallel()
	c, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t)
	for _, size := range []struct{ width, height int64 }{{1440, 900}, {1366, 768}} {
		t.Run(fmt.Sprintf("%dx%d", size.width, size.height), func(t *testing.T) {
			t.Parallel()
			if size.height > 768 {
				long(t) // the lower window hides more
			}
			ctx := tab(t)
			do(ctx, t, chromedp.EmulateViewport(size.width, size.height))
			for n, i := range c.All() {
				if testing.Short() && n%8 != 0 || i.Kind != course.Predict && i.Kind != course.Why {
					continue // what would mend a run is not to be seen in it: its stage is not covered
				}
				do(ctx, t, chromedp.Navigate(url+"/learn/"+i.Path()))
				until(ctx, t, `document.readyState === "complete" && document.getElementById("place").textContent !== ""`)
				until(ctx, t, `new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(true))))`)
				for _, one := range get[[]string](ctx, t, telling) {
					t.Errorf("%s: %s", i.Path(), one)
				}
			}
		})
	}
}
