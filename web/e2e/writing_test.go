package e2e_test

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A class is asked for an unlock. One writes it wrong and one right; the host
// shows the wrong one, and the class breaks it.
func TestAClassWritesAScript(t *testing.T) {
	t.Parallel()
	url := serveOwn(t)
	host, room := makeRoom(t, url, "lease-expiry")
	stage := tab(t)
	do(stage, t, chromedp.EmulateViewport(1280, 720), chromedp.Navigate(room+"/stage"), chromedp.WaitVisible(chromedp.CSS(`.room-board`)))
	a, b := join(host, t, room, ""), join(host, t, room+"?lang=zh-CN", "")
	until(host, t, members+` === "2 here"`)
	do(
		host, t, chromedp.KeyEvent("s"), chromedp.WaitVisible(chromedp.CSS(`#scenes-link`)),
		chromedp.SendKeys(chromedp.CSS(`#scenes-link`), url+"/learn/lock/mend-the-unlock"), click(`#scenes-ask`),
	)
	const (
		text = `document.querySelector("#write textarea")`
		told = `document.getElementById("write-told").textContent` + asRead
		open = `document.getElementById("write-open")`

		sideways = `document.documentElement.scrollWidth - innerWidth`
	)
	for _, phone := range []context.Context{a, b} {
		until(phone, t, `!document.getElementById("write").hidden && `+text+`.value !== ""`)
	}
	photograph(host, t, "write-host-asked")
	photograph(stage, t, "write-stage-asked")
	photograph(a, t, "write-phone-asked")
	write := func(phone context.Context, script string) {
		get[bool](phone, t, `(() => { `+text+`.value = `+"`"+script+"`"+`; return `+text+`.dispatchEvent(new Event("input", {bubbles: true})); })()`)
		do(phone, t, click(`#write .primary`))
	}
	do(a, t, click(`#write .primary`)) // as it was: without a look
	until(a, t, told+`.startsWith("This still breaks: ") && !`+open+`.hidden`)
	photograph(a, t, "write-phone-wrong")
	long := strings.Repeat("W", 400)
	write(b, "error('<b>"+long+"</b>') -- "+long)
	until(b, t, told+`.includes("第 1 行") && `+told+`.includes("<b>WWW") && `+open+`.hidden`)
	if wide := get[int](b, t, sideways); wide > 0 {
		t.Errorf("a long word in a verdict makes the phone's page %d px too wide", wide)
	}
	photograph(b, t, "write-phone-refused")
	write(b, `if redis.call('get', KEYS[1]) == ARGV[1] then
  redis.call('del', KEYS[1])
  return {1, 0}
end
return {0, 0} -- `+long)
	until(b, t, told+`.includes("75")`)
	photograph(b, t, "write-phone-right")
	until(host, t, votes+` === "2 of 2 have handed in"`)
	do(host, t, click(`#reveal`))
	until(stage, t, `document.querySelector(".options .count") !== null`)
	photograph(host, t, "write-host-revealed")
	photograph(stage, t, "write-stage-revealed")
	photograph(a, t, "write-phone-revealed")

	do(host, t, click(`#scripts-open`))
	until(host, t, `document.querySelectorAll("#class-scripts-list [data-member]").length === 2`)
	photograph(host, t, "write-host-scripts")
	if wide := get[int](host, t, `(() => { document.querySelectorAll("#class-scripts-list details").forEach((d) => { d.open = true; }); const d = document.getElementById("class-scripts"); return d.scrollWidth - d.clientWidth; })()`); wide > 0 {
		t.Errorf("a long word in a script makes the host's list %d px too wide", wide)
	}
	get[bool](host, t, `(document.querySelector("#class-scripts-list li:has(.bad) button").click(), true)`)
	for _, tab := range []context.Context{host, stage} {
		until(tab, t, `document.getElementById("title").textContent.includes("A script of this class") && document.getElementById("asked").hidden`)
	}
	photograph(host, t, "write-host-shown")
	photograph(stage, t, "write-stage-shown")
	until(a, t, `document.getElementById("write").hidden`)
	photograph(a, t, "write-phone-shown")
}
