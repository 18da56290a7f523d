package e2e_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/redis/go-redis/v9"

	"relock/engine/outside/infer"
	"relock/engine/outside/lab"
	"relock/engine/trace"
)

// naive takes a lock as many do: SET NX, up to twice, and a DEL.
func naive(ctx context.Context, address, me string) {
	c := redis.NewClient(&redis.Options{Addr: address, ClientName: "naive.go", MaxRetries: -1, ReadTimeout: -1, PoolTimeout: time.Minute})
	defer func() { _ = c.Close() }()
	for c.Echo(ctx, infer.MarkRound).Err() == nil {
		for range 2 {
			ok, err := c.SetNX(ctx, "invoice:7", me, 2*time.Second).Result()
			if errors.Is(err, context.Canceled) {
				return
			}
			if ok && err == nil {
				c.Echo(ctx, infer.MarkEnter)
				c.Echo(ctx, infer.MarkLeave)
				c.Del(ctx, "invoice:7")
				break
			}
		}
	}
}

// TestALab opens a lab, has two clients come, and breaks their lock: by hand, and by a
// search; then it goes back, and tries another order.
func TestALab(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lang, none, fault, waits, rule, all string }{
		{"en", "no client has come yet", "lose reply, ", "A waits: set invoice:7 ", "shut out", "orders were tried"},
		{"zh-CN", "还没有客户端来", "丢失响应", "A 在等放行：set invoice:7 ", "被挡在外面", "种顺序全部试过"},
	} {
		t.Run(c.lang, func(t *testing.T) {
			t.Parallel()
			ctx, url := tab(t), serve(t)
			do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url+"/lab?lang="+c.lang), click(".lab-door button.primary"), chromedp.WaitVisible(chromedp.CSS(".lab-address code")))
			addresses := get[[]string](ctx, t, `[...document.querySelectorAll(".lab-address code")].map((c) => c.textContent.trim().replace("REDIS_URL=redis://", ""))`)
			if len(addresses) != 2 {
				t.Fatalf("there are the addresses %q", addresses)
			}
			until(ctx, t, `document.getElementById("why").textContent.includes("`+c.none+`") && document.querySelector("[data-option=break] small").textContent.startsWith("`+c.fault+`")`)
			for i, address := range addresses {
				go naive(t.Context(), address, lab.Thread(i))
			}
			until(ctx, t, `document.querySelectorAll('#choices [data-option^="A "][aria-disabled="false"], #choices [data-option^="B "][aria-disabled="false"]').length === 2`)

			until(ctx, t, `document.getElementById("why").textContent.includes("`+c.waits+`")`)

			// A has the lock, is not told, and both are refused by its key.
			do(ctx, t, click("#tab-threads"), click(`[data-strike*="lose-reply"][data-strike*='"A"']`))
			until(ctx, t, `document.querySelectorAll("#rows tr[id]").length === 1 && document.querySelector("#stage [data-slot=key]").textContent === "invoice:7"`)
			for i, key := range []string{"1", "2", "2"} {
				until(ctx, t, `document.querySelector('#choices .t`+string("011"[i])+` .move[aria-disabled="false"]') !== null`)
				do(ctx, t, chromedp.KeyEvent(key))
			}
			until(ctx, t, `document.querySelector('.violation[data-rule="shut-out"]') !== null`)
			if got := get[string](ctx, t, `document.querySelector(".violation").textContent`); !strings.Contains(got, c.rule) {
				t.Errorf("it says %q", got)
			}
			if got := get[string](ctx, t, problem); got != "" {
				t.Errorf("the page complains: %q", got)
			}

			// Back at the start B is first: the clients run their round again, on a branch.
			do(ctx, t, toTheStart, chromedp.KeyEvent("2"))
			until(ctx, t, `document.querySelectorAll("#branches button[aria-pressed]").length === 2 && document.querySelector("#rows tr[id] .acting").dataset.thread === "B"`)

			// Every order, and the smallest that breaks.
			do(ctx, t, click("#lab-explore"), click("#lab-search .primary"), chromedp.WaitVisible(chromedp.CSS("[data-order]")))
			if got := get[string](ctx, t, `document.getElementById("lab-found").textContent`); !strings.Contains(got, c.all) {
				t.Errorf("the search says %q", got)
			}
			do(ctx, t, click("[data-order]"))
			until(ctx, t, `document.querySelectorAll("#branches button[aria-pressed]").length === 3 && document.querySelector('#rows tr[aria-current] .violation[data-rule="shut-out"]') !== null`)

			// The result is a trace.
			answer, err := http.Get(get[string](ctx, t, `document.getElementById("lab-trace").href`))
			if err != nil {
				t.Fatal(err)
			}
			h, events, err := trace.Read(t.Context(), answer.Body)
			_ = answer.Body.Close()
			if err != nil || h.Store != trace.StoreLab || events[len(events)-1].Kind() != trace.KindEnd {
				t.Errorf("the file is no trace of a lab: %v, %+v", err, h)
			}
			do(ctx, t, chromedp.EmulateViewport(360, 800))
			if over := get[int](ctx, t, `document.documentElement.scrollWidth - window.innerWidth`); over > 0 {
				t.Errorf("the page is %d px wider than a phone", over)
			}
		})
	}
}
