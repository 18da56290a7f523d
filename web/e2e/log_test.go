package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	twoLocks = `OK
1700000000.000000 [0 10.0.0.1:1] "AUTH" "b:lock" "hunter2"
1700000000.001000 [0 10.0.0.1:1] "SET" "{a}:lock" "v1" "NX" "PX" "300"
1700000000.002000 [0 10.0.0.2:2] "SET" "b:lock" "v2" "NX" "PX" "300"
1700000000.003000 [0 10.0.0.3:3] "SET" "private" "nobody's"
1700000000.010000 [0 10.0.0.2:2] "SET" "{a}:lock" "v2" "NX" "PX" "300"
1700000000.020000 [0 10.0.0.2:2] "DEL" "{a}:lock"
1700000000.350000 [0 10.0.0.1:1] "SET" "b:lock" "v1" "NX" "PX" "300"
1700000000.360000 [0 10.0.0.1:1] "GET" "b:lock"
1700000000.400000 [0 10.0.0.1:1] "DEL" "b:lock"
1700000000.500000 [0 10.0.0.1:1] "CONFIG" "SET" "requirepass" "hunter3"
`
	told = `(document.getElementById("log-told")?.textContent ?? "")`
	// What the form sends; the page is kept from leaving.
	kept = `HTMLFormElement.prototype.submit = function () { new FormData(this).get("file").text().then((t) => { window.sent = t; }); }`
)

// logged drops a log on the editor, and waits for what it asks.
func logged(ctx context.Context, t *testing.T, name, log string) {
	t.Helper()
	quoted, err := json.Marshal(log)
	if err != nil {
		t.Fatal(err)
	}
	do(ctx, t, chromedp.Evaluate[chromedp.Void](`(() => {
		const data = new DataTransfer();
		data.items.add(new File([`+string(quoted)+`], "`+name+`"));
		document.querySelector(".editor").dispatchEvent(new DragEvent("drop", {bubbles: true, cancelable: true, dataTransfer: data}));
	})()`))
	shows(ctx, t, `document.activeElement.id === "log-key"`)
}

// A log that is dropped says what it would send, sends that, and opens on the stage; another key and another way to tell
// threads are chosen by the keyboard.
func TestALogIsDropped(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	fits := func() {
		t.Helper()
		if wide := get[int](ctx, t, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
			t.Errorf("%s: the page is %d px too wide", get[string](ctx, t, "location.pathname"), wide)
		}
	}
	do(ctx, t, chromedp.EmulateViewport(360, 740), chromedp.Navigate(url+"/edit"))
	live(ctx, t)
	logged(ctx, t, "monitor.log", twoLocks)
	fits()
	if have := get[string](ctx, t, told); !strings.HasPrefix(have, "This sends 4 of 11 lines") {
		t.Error(have)
	}
	if get[string](ctx, t, `getComputedStyle(document.activeElement).outlineStyle`) != "solid" {
		t.Error("nobody sees where the focus is")
	}
	do(ctx, t, chromedp.KeyEvent("{a}"))
	shows(ctx, t, told+`.startsWith("This sends 3 of 11 lines")`)
	do(ctx, t, chromedp.KeyEvent("\t"), chromedp.KeyEvent(" ")) // the other keys' lines too
	shows(ctx, t, told+`.startsWith("This sends 7 of 11 lines")`)
	do(ctx, t, chromedp.KeyEvent("\t"))
	leads(ctx, t, chromedp.KeyEvent("\r"))
	on := func(expression string) { t.Helper(); until(ctx, t, expression) }
	line := `document.querySelector(".run-head .hint").textContent`
	on(`document.getElementById("verdict").textContent.includes("rule was broken") && !document.getElementById("verdict").textContent.includes("no rule")`)
	on(line + `.includes("3 commands name the key {a}:lock, threads by value") && ` + line + `.includes("recomputed")`)
	fits()

	press := func(selector string) {
		t.Helper()
		do(ctx, t, chromedp.Focus(chromedp.CSS(selector)))
		leads(ctx, t, chromedp.KeyEvent("\r"))
	}
	press(`nav.of-log a[href$="threads=connection"]`)
	on(line + `.includes("{a}:lock, threads by connection")`)
	do(ctx, t, chromedp.Focus(chromedp.CSS(`details:has(a[href*="again?key"]) summary`)), chromedp.KeyEvent("\r"))
	press(`a[href*="again?key"]`)
	on(line + `.includes("4 commands name the key b:lock, threads by value")`)
	on(`document.getElementById("verdict").textContent.includes("no rule was broken")`)
	fits()
}

// The logs of several servers that are dropped together are read as nodes.
func TestLogsOfServersAreDroppedTogether(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.Navigate(url+"/edit"))
	live(ctx, t)
	var logs [3]string
	for i := range logs {
		data, err := os.ReadFile(fmt.Sprintf("../../engine/outside/logs/testdata/servers/over-%d.log", i+1))
		if err != nil {
			t.Fatal(err)
		}
		logs[i] = string(data)
	}
	quoted, err := json.Marshal(logs)
	if err != nil {
		t.Fatal(err)
	}
	do(ctx, t, chromedp.Evaluate[chromedp.Void](`(() => {
		const data = new DataTransfer();
		`+string(quoted)+`.forEach((log, n) => data.items.add(new File([log], "over-" + n + ".log")));
		document.querySelector(".editor").dispatchEvent(new DragEvent("drop", {bubbles: true, cancelable: true, dataTransfer: data}));
	})()`))
	shows(ctx, t, `document.activeElement.id === "log-key"`)
	leads(ctx, t, click(`#of-log .primary`))
	until(ctx, t, `document.querySelector(".run-head .hint").textContent.includes("36 commands name the key invoice:7")`)
	until(ctx, t, `document.getElementById("verdict").textContent.includes("rule was broken") && document.body.textContent.includes("Node 3: 3:over-2.log")`)
}

// Of no log a secret leaves the browser, and what names no lock stays there.
func TestALogsSecretsStay(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	redisson := "10:00:00.001 TRACE channel: [id: 0x01, L:/1 - R:r/2:1] message: *3\r\n$5\r\nHELLO\r\n$4\r\nlock\r\n$7\r\nhunter2\r\n\n" +
		"10:00:00.002 TRACE reply: +OK\r\n, channel: [id: 0x01]\n" +
		"10:00:00.003 TRACE channel: [id: 0x01, L:/1 - R:r/2:1] message: *4\r\n$3\r\nSET\r\n$4\r\nlock\r\n$1\r\nv\r\n$2\r\nNX\r\n\n" +
		"10:00:00.004 TRACE reply: +OK\r\n, channel: [id: 0x01], command: (private)\n"
	for name, log := range map[string]string{
		"monitor.log": twoLocks, "redisson.log": redisson,
	} {
		do(ctx, t, chromedp.Navigate(url+"/edit"))
		live(ctx, t)
		do(ctx, t, chromedp.Evaluate[chromedp.Void](kept))
		logged(ctx, t, name, log)
		do(ctx, t, click(`#of-log .primary`))
		shows(ctx, t, `window.sent !== undefined`)
		sent := get[string](ctx, t, "window.sent")
		for _, secret := range []string{"hunter", "AUTH", "HELLO", "CONFIG", "private"} {
			if strings.Contains(sent, secret) {
				t.Errorf("%s: %s is sent: %s", name, secret, sent)
			}
		}
		if !strings.Contains(sent, "NX") {
			t.Errorf("%s: %q", name, sent)
		}
		if strings.Contains(get[string](ctx, t, `document.getElementById("of-log").textContent`), "hunter") {
			t.Errorf("%s: a secret is shown", name)
		}
	}
}

// A file that is no log leaves the scenario as it is, and is refused with a sentence.
func TestWhatIsNoLog(t *testing.T) {
	t.Parallel()
	ctx, url := tab(t), serve(t)
	do(ctx, t, chromedp.Navigate(url+"/edit"))
	live(ctx, t)
	was := get[string](ctx, t, yaml)
	for _, one := range []struct{ name, content, says string }{
		{"a.log", "", "That file is empty."},
		{"b.log", `level: info, nothing of Redis\n`, "That file cannot be read"},
		{"c.bin", `\0\x01\x02`, "That file cannot be read"},
		{"d.txt", `Dear all,\n`, "That file cannot be read"},
		{"e.log", `1700000000.000001 [0 1.1.1.1:1] "GET" "k"\n`, "No command of this log takes a lock."},
	} {
		do(ctx, t, drop(one.name, one.content))
		shows(ctx, t, status+`.startsWith("`+one.says+`")`)
		if get[string](ctx, t, yaml) != was {
			t.Errorf("%s: it has replaced the scenario", one.name)
		}
	}
	logged(ctx, t, "f.log", twoLocks)
	do(ctx, t, chromedp.KeyEvent(kb.Escape))
	shows(ctx, t, `document.getElementById("of-log").hidden && document.activeElement.id === "file"`)
}
