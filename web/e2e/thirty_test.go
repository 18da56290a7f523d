package e2e_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Thirty phones are held, dealt out, asked, and led on.
func TestAClassOfThirty(t *testing.T) {
	long(t)
	const class = 30
	host, room := makeRoom(t, serve(t), "lease-expiry")
	var phones []context.Context
	for range class {
		phones = append(phones, join(host, t, room, ""))
	}
	until(host, t, members+fmt.Sprintf(` === "%d here"`, class))

	all := func(condition string) {
		t.Helper()
		for _, phone := range phones {
			until(phone, t, condition)
		}
	}
	do(host, t, chromedp.KeyEvent("h"))
	all(`document.body.innerText.includes("The host is leading now")`)
	do(host, t, inMenu("#more", `[data-dialog=people]`), click(`#deal`), chromedp.KeyEvent(kb.Escape))
	all(`document.querySelector("[data-mine]:not([hidden])") !== null`)
	seats := map[string]int{}
	for _, phone := range phones {
		seats[get[string](phone, t, `document.querySelector("[data-mine]:not([hidden])").dataset.mine`)]++
	}
	if seats["A"] != class/2 || seats["B"] != class/2 {
		t.Errorf("dealt out: %v", seats)
	}

	do(host, t, chromedp.KeyEvent("a"))
	for i, phone := range phones {
		do(phone, t, chromedp.WaitVisible(chromedp.CSS(`[data-vote]`)), click(fmt.Sprintf(`[data-vote="%d"]`, i%2)))
	}
	until(host, t, votes+fmt.Sprintf(`.startsWith("%d of %d")`, class, class))
	do(host, t, chromedp.KeyEvent("r"))
	all(`document.querySelector(".options .bar") !== null`)

	do(host, t, chromedp.KeyEvent("h"), chromedp.KeyEvent(kb.ArrowRight))
	all(classAt + `.includes("T1")`)
}
