package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// rightRow tells whether the page stands at a row and shows that one, and none
// other, everywhere: in its table, on the stage, and as the reason why.
const rightRow = `(async (step) => {
	const flat = (text) => text.replace(/\s+/g, " ").trim();
	const answer = await fetch(document.querySelector(".run").dataset.rows + "from=" + step + "&count=1");
	const row = (await answer.json()).rows[0];
	const made = document.createElement("template");
	made.innerHTML = row.html;
	const now = document.querySelectorAll("#rows tr[aria-current]");
	if (now.length !== 1 || Number(now[0].dataset.step) !== step) return "stands at " + now[0]?.dataset.step;
	if (flat(now[0].textContent) !== flat(made.content.lastElementChild.textContent)) return "the table has " + flat(now[0].textContent);
	const stage = document.getElementById("stage"), says = [...stage.querySelectorAll("[data-slot=says]")].map((e) => e.textContent);
	if (stage.classList.contains("absent") || [...row.stage.beliefs, row.stage.card].some((one, i) => one.says !== says[i]) || stage.querySelector("[data-slot=left]").textContent !== (row.stage.card.left ?? "")) return "the stage has " + stage.innerText;
	if (flat(document.getElementById("why").textContent) !== flat(row.why)) return "it says " + document.getElementById("why").textContent;
	const box = now[0].getBoundingClientRect();
	return box.bottom > 40 && box.top < document.querySelector(".foot").getBoundingClientRect().top ? "right" : "out of sight";
})(%d)`

// showsRow waits until the page stands at a row and shows it.
func showsRow(ctx context.Context, t testing.TB, step int) {
	t.Helper()
	got := ""
	for range 100 {
		var err error
		if got, err = chromedp.Run(ctx, chromedp.Evaluate[string](fmt.Sprintf(rightRow, step), chromedp.EvalAwaitPromise)); err != nil {
			t.Fatal(err)
		}
		if got == "right" {
			return
		}
		drawn(ctx, t)
	}
	t.Fatalf("T%d: %s", step, got)
}

// nextMark is the step of the next row with a mark, by the server's word.
const nextMark = `(async (from) => {
	const address = document.querySelector(".run").dataset.rows;
	for (let at = from + 1; ; at += 32) {
		const { rows } = await (await fetch(address + "from=" + at + "&count=32")).json();
		const found = rows.find((row) => row.mark);
		if (found) return found.step;
	}
})(%d)`

// gone has the page stand at a step far away: its address brings the row into sight, and
// a click leads there.
func gone(ctx context.Context, t testing.TB, step int) {
	t.Helper()
	get[bool](ctx, t, fmt.Sprintf(`(location.hash = "#row-%d", true)`, step))
	row := fmt.Sprintf(`document.querySelector("#rows tr[data-step='%d']")`, step)
	until(ctx, t, row+` !== null`)
	get[bool](ctx, t, `(`+row+`.click(), true)`)
}

func TestTheRowsOfALongRunAreThereWhenTheyAreNeeded(t *testing.T) {
	long(t)
	t.Parallel()
	server := serve(t)
	address := started(t, server, longRun)
	for name, size := range map[string][2]int64{"desk": {1440, 900}, "phone": {360, 800}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := tab(t)
			do(ctx, t, chromedp.EmulateViewport(size[0], size[1]), chromedp.Navigate(address))
			until(ctx, t, place+` !== ""`)
			total := get[int](ctx, t, `JSON.parse(document.getElementById("film").textContent).index.count`)
			at(ctx, t, fmt.Sprintf("%s of %s", grouped(total), grouped(total)))
			if n := get[int](ctx, t, `performance.getEntriesByType("resource").filter(e => e.name.includes("/rows?")).length`); n > 6 {
				t.Errorf("%d portions were asked for before anybody did anything", n)
			}

			do(ctx, t, chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowRight))
			showsRow(ctx, t, 1)
			do(ctx, t, chromedp.KeyEvent(kb.End))
			showsRow(ctx, t, total)
			do(ctx, t, chromedp.KeyEvent(kb.ArrowLeft))
			showsRow(ctx, t, total-1)

			// The middle, by scrolling: what one sees there is there, and one can stand at it.
			middle, err := chromedp.Run(ctx, chromedp.Evaluate[int](`new Promise(done => {
				const box = document.getElementById("scroll");
				const s = box.scrollHeight > box.clientHeight + 1 && getComputedStyle(box).overflowY !== "visible" ? box : document.scrollingElement;
				s.scrollTop = s.scrollHeight / 2;
				const look = () => {
					const r = box.getBoundingClientRect();
					const y = (Math.max(r.top, 0) + Math.min(r.bottom, document.querySelector(".foot").getBoundingClientRect().top)) / 2;
					const row = document.elementFromPoint(r.left + 40, y)?.closest("tr[data-step]:not(.coming)");
					if (row) { row.querySelector(".t").click(); done(Number(row.dataset.step)); } else requestAnimationFrame(look);
				};
				setTimeout(look, 50);
			})`, chromedp.EvalAwaitPromise))
			if err != nil {
				t.Fatal(err)
			}
			if middle < total/4 || middle > 3*total/4 {
				t.Errorf("the middle of the table is T%d, of %d", middle, total)
			}
			showsRow(ctx, t, middle)
			for range 3 {
				next, err := chromedp.Run(ctx, chromedp.Evaluate[int](fmt.Sprintf(nextMark, middle), chromedp.EvalAwaitPromise))
				if err != nil {
					t.Fatal(err)
				}
				do(ctx, t, chromedp.KeyEvent("n"))
				showsRow(ctx, t, next)
				middle = next
			}
			for range 5 {
				middle++
				do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
				showsRow(ctx, t, middle)
			}
			if got := get[string](ctx, t, `document.getElementById("timeline").getAttribute("aria-rowcount") + " " + document.querySelector("#rows tr[aria-current]").getAttribute("aria-rowindex")`); got != fmt.Sprint(total+1, " ", middle+1) {
				t.Errorf("aria-rowcount and aria-rowindex are %s, want %d %d", got, total+1, middle+1)
			}

			// Loaded again, and in the other language, one is there again.
			far := total / 3
			gone(ctx, t, far)
			showsRow(ctx, t, far)
			leads(ctx, t, click(`a[hreflang="zh-CN"]`))
			until(ctx, t, `document.documentElement.lang.startsWith("zh") && `+place+`.includes("T`+fmt.Sprint(far)+` ")`)
			showsRow(ctx, t, far)
			do(ctx, t, chromedp.Reload())
			until(ctx, t, place+`.includes("T`+fmt.Sprint(far)+` ")`)
			showsRow(ctx, t, far)
		})
	}
}

// grouped is a number of up to a million as the page writes it.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// A portion that is slow, fails, or is another one than was asked for: the page
// says so, shows no other row in its place, and goes on when it comes.
func TestARowThatDoesNotComeIsNoOtherRow(t *testing.T) {
	t.Parallel()
	ctx, server := tab(t), serve(t)
	address := started(t, server, strings.Replace(longRun, "repeat: 100", "repeat: 70", 1))
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(address))
	until(ctx, t, place+` !== ""`)
	get[bool](ctx, t, `(() => {
		const real = window.fetch.bind(window);
		window.mode = "real"; window.held = [];
		window.fetch = (url, o) => {
			if (!String(url).includes("/rows?") || mode === "real") return real(url, o);
			if (mode === "held") return new Promise((done) => held.push(() => done(real(url, o))));
			if (mode === "other") return real(String(url).replace(/from=\d+/, "from=65"), o);
			if (mode === "refused") return Promise.resolve(new Response("no", {status: 503}));
			return Promise.reject(new TypeError("no network"));
		};
		return true;
	})()`)
	standIn := `document.querySelector("#rows tr[aria-current].coming")?.textContent ?? ""`
	step := 700
	for _, mode := range []string{"lost", "refused", "other"} {
		step += 200
		get[string](ctx, t, `(mode = "`+mode+`")`)
		gone(ctx, t, step)
		until(ctx, t, fmt.Sprintf(`(%s).startsWith("T%d") && (%s).includes("could not be loaded")`, standIn, step, standIn))
		until(ctx, t, place+fmt.Sprintf(`.includes("T%d ")`, step)) // the index has when it was
		if got := get[string](ctx, t, `document.getElementById("stage")`+saidIn); got != "" {
			t.Errorf("%s: the stage says %q", mode, got)
		}
		if got := get[string](ctx, t, why); got != "This step could not be loaded. Try again" {
			t.Errorf("%s: why: %q", mode, got)
		}
		get[string](ctx, t, `(mode = "real")`)
		do(ctx, t, click("#why button"))
		showsRow(ctx, t, step)
	}

	get[string](ctx, t, `(mode = "held")`)
	gone(ctx, t, 300)
	const loading = why + ` === "Loading …" && document.getElementById("stage")` + saidIn + ` === ""`
	until(ctx, t, loading+` && `+place+`.includes("T300 ")`)
	do(ctx, t, chromedp.KeyEvent(kb.ArrowRight))
	until(ctx, t, loading+` && `+place+`.includes("T301 ")`)
	if got := get[string](ctx, t, `document.getElementById("status").textContent`); !strings.Contains(got, "T301 Loading") {
		t.Errorf("a screen reader says %q", got)
	}
	get[bool](ctx, t, `(mode = "real", held.splice(0).forEach((go) => go()), true)`)
	showsRow(ctx, t, 301)
	until(ctx, t, `document.getElementById("status").textContent.startsWith("T301")`) // what happened is said when it is known
	until(ctx, t, `!document.getElementById("status").textContent.includes("Loading")`)

	// Playing waits for what does not come, and goes on.
	gone(ctx, t, 600)
	showsRow(ctx, t, 600)
	get[string](ctx, t, `(mode = "held", document.getElementById("speed").value = "120")`)
	do(ctx, t, chromedp.KeyEvent(" "))
	until(ctx, t, `held.length > 0`)
	stands := func() string { return get[string](ctx, t, place) }
	last, since := stands(), time.Now()
	for time.Since(since) < time.Second {
		drawn(ctx, t)
		if now := stands(); now != last {
			last, since = now, time.Now()
		}
		if get[string](ctx, t, standIn) != "" {
			t.Fatal("playing went to a row that is not here: ", last)
		}
	}
	get[bool](ctx, t, `(mode = "real", held.splice(0).forEach((go) => go()), true)`)
	until(ctx, t, place+` !== "`+last+`"`)
	do(ctx, t, chromedp.KeyEvent(" "))
}

// A press on a place where a long log breaks a rule leads there, whether its row is in the page or not.
func TestALongLogLeadsToItsBrokenRows(t *testing.T) {
	t.Parallel()
	ctx, server := tab(t), serve(t)
	var log strings.Builder
	for n := range 400 {
		fmt.Fprintf(&log, "%d.000000 [0 127.0.0.1:5001] \"SET\" \"lock\" \"v%d\" \"NX\" \"PX\" \"900\"\n", 1_700_000_000+n, n)
		if n == 75 || n == 300 {
			fmt.Fprintf(&log, "%d.100000 [0 127.0.0.1:5002] \"DEL\" \"lock\"\n", 1_700_000_000+n)
		}
		fmt.Fprintf(&log, "%d.200000 [0 127.0.0.1:5001] \"DEL\" \"lock\"\n", 1_700_000_000+n)
	}
	res, err := http.Post(server+"/traces?threads=connection", "text/plain", strings.NewReader(log.String()))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(res.Request.URL.String()))
	until(ctx, t, place+` !== ""`)
	do(ctx, t, click(`details:has(a[href="#row-152"]) > summary`))
	for _, step := range []int{152, 603, 152} {
		do(ctx, t, click(fmt.Sprintf(`a[href="#row-%d"]`, step)))
		showsRow(ctx, t, step)
	}
}
