package own_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/web"
	"relock/web/link"
	"relock/web/webtest"
)

// judgedFrame is what the editor reads of a frame.
type judgedFrame struct {
	Re      int
	Refused string
	Opened  *struct{ Title string }
	Mistake *struct {
		Call string
		Line int
	}
	Explored *struct {
		Going   bool
		Found   string
		Picture string
		Judged  *struct {
			Broken, All, Link string
			Sound, Failed     bool
			Unreached         map[string][]int
		}
	}
}

// judge has a scenario judged as the editor does, with a fault of these kinds if there
// are any, and returns the last frame.
func judge(t *testing.T, s webtest.Site, text string, delays int, kinds ...string) judgedFrame {
	t.Helper()
	conn, res, err := websocket.DefaultDialer.DialContext(t.Context(), strings.Replace(s.URL, "http", "ws", 1)+"/play/socket?lang=en", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	defer func() { _ = conn.Close() }()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	ask := func(v map[string]any) {
		if err := conn.WriteJSON(v); err != nil {
			t.Fatal(err)
		}
	}
	ask(map[string]any{"id": 1, "do": "open", "scenario": text})
	for {
		_, frame, err := conn.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		var f judgedFrame
		if err := json.Unmarshal(frame, &f); err != nil {
			t.Fatal(err)
		}
		switch {
		case f.Opened != nil:
			ask(map[string]any{"id": 2, "do": "explore", "judge": true, "branch": 0, "moves": 0, "from": "start", "delays": delays, "faults": min(len(kinds), 1), "kinds": kinds})
		case f.Refused != "", f.Explored != nil && !f.Explored.Going:
			return f
		}
	}
}

func TestJudgeALockOfOnesOwn(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.OpenOwn(t)
	got := judge(t, s, webtest.OwnText, 1)
	if got.Explored == nil || got.Explored.Judged == nil {
		t.Fatalf("%+v", got)
	}
	j := got.Explored.Judged
	if j.Sound || j.Broken == "0" || j.All == "" || got.Explored.Picture != "" || len(j.Unreached["unlock"]) != 1 || j.Unreached["unlock"][0] != 3 {
		t.Errorf("judged %+v", j)
	}
	_, whole, _ := strings.Cut(j.Link, "#")
	if shared, err := link.Decode(whole); err != nil || !shared.Scenario.Lock.Own() || !strings.HasPrefix(j.Link, "/edit?delays=1&faults=0#") {
		t.Errorf("the lock's link is %s: %v", j.Link, err)
	}
	if got := judge(t, s, webtest.OwnText, 0, "pause", "crash"); !strings.HasPrefix(got.Explored.Judged.Link, "/edit?delays=0&faults=1&kinds=pause,crash#") {
		t.Errorf("with faults the lock's link is %s", got.Explored.Judged.Link)
	}
	_, rest, found := strings.Cut(got.Explored.Found, `href="/play#`)
	open, _, _ := strings.Cut(rest, `"`)
	state, err := link.Decode(open)
	if !found || err != nil || len(state.Scenario.Schedule) == 0 || !state.Scenario.Lock.Own() {
		t.Errorf("the smallest break is no link: %v\n%s", err, got.Explored.Found)
	}

	if shut := judge(t, s, strings.Replace(webtest.OwnText, "scripts:\n", "scripts:\n    lock: return 0\n", 1), 1); shut.Explored == nil || shut.Explored.Judged.Sound ||
		!strings.Contains(shut.Explored.Found, "A is done in no order; its end: “gave up”.") {
		t.Errorf("a lock that lets nobody in is said to be %+v", shut.Explored)
	}

	noted := judge(t, s, strings.Replace(webtest.OwnText, "return 1", "return #tostring(math.random()) > 0 and 1 or 0", 1), 1)
	if noted.Explored == nil || !strings.Contains(noted.Explored.Found, "Note on the script unlock: math.random") {
		t.Errorf("what Redis does otherwise is not noted: %+v", noted.Explored)
	}

	for _, c := range []struct {
		name, old, now string
		line           int
		says           string
	}{
		{"not Lua", "return 1", "return if", 5, "this is not Lua"},
		{"a key of another", "'DEL', KEYS[1]", "'DEL', 'other'", 1, "which is not among its KEYS"},
		{"no reply", "return 1", "return 7", 0, "it returns 7"},
		{"without end", "if false then", "while true do end if false then", 2, "it does not end"},
	} {
		got := judge(t, s, strings.Replace(webtest.OwnText, c.old, c.now, 1), 1)
		says := got.Refused
		if got.Explored != nil {
			says = got.Explored.Found
		}
		if got.Mistake == nil || got.Mistake.Call != "unlock" || got.Mistake.Line != c.line || !strings.Contains(says, c.says) {
			t.Errorf("%s: %+v, says %q", c.name, got.Mistake, says)
		}
	}
}

// While it is written, a script that is no Lua is named with its line, in the script
// and in the text; what is Lua runs nowhere yet.
func TestAScriptIsReadWhileItIsWritten(t *testing.T) {
	t.Parallel()
	s := webtest.OpenOwn(t)
	for _, c := range []struct {
		name, old, now string
		line, script   int
		says           string
	}{
		{"Lua", "", "", 0, 0, ""},
		{"without end", "if false then", "while true do end if false then", 0, 0, ""},
		{"not Lua", "redis.call('DEL', KEYS[1])", "redis.call('DEL', KEYS[1]", 9, 2, "The script unlock, line 2: this is not Lua"},
		{"on one line", "unlock: |\n      redis.call('DEL', KEYS[1])\n      if false then\n        redis.call('GET', KEYS[1])\n      end\n      return 1", `unlock: "return 1)"`, 7, 1, "this is not Lua"},
	} {
		text := strings.Replace(webtest.OwnText, c.old, c.now, 1)
		if c.says == "" {
			got := s.Convert(t, url.Values{"yaml": {text}, "base": {text}})
			if got.Mistakes == nil || len(got.Mistakes) > 0 || got.Status != "This scenario can be run." {
				t.Errorf("%s: %+v, %q", c.name, got.Mistakes, got.Status)
			}
			continue
		}
		var got webtest.Converted
		webtest.WaitFor(t, c.name+" is read, which a busy machine leaves out", func() bool {
			got = s.Convert(t, url.Values{"yaml": {text}, "base": {text}})
			return len(got.Mistakes) > 0
		})
		if len(got.Mistakes) != 1 {
			t.Errorf("%s: %+v", c.name, got.Mistakes)
			continue
		}
		m := got.Mistakes[0]
		if m.Line != c.line || m.Script != c.script || m.Key != "lock.scripts.unlock" || m.Input == "" || !strings.Contains(m.Sentence, c.says) {
			t.Errorf("%s: %+v", c.name, m)
		}
	}
}

// ownCard asks for the card of a lock that breaks, and follows it to a break and to its picture.
func ownCard(t *testing.T, s webtest.Site) {
	t.Helper()
	// Without levels or renewals there are few states, and it takes far less than a page may search.
	small := strings.NewReplacer("like: reentrant", "like: mutex", "lease: 200ms", "lease: 200ms\n  watchdog: off").Replace(webtest.OwnText)
	res, body := s.Do(t, http.MethodPost, "/edit/card", url.Values{"yaml": {small}})
	_, rest, found := strings.Cut(body, `class="sign bad" href="/play#`)
	open, _, _ := strings.Cut(rest, `"`)
	state, err := link.Decode(open)
	if res.StatusCode != http.StatusOK || !found || err != nil || len(state.Scenario.Schedule) == 0 || !state.Scenario.Lock.Own() {
		t.Errorf("%d, a broken cell leads to %+v, %v\n%.300s", res.StatusCode, state.Scenario, err, body)
	}
	_, rest, _ = strings.Cut(body, `href="data:image/svg+xml;base64,`)
	coded, _, _ := strings.Cut(rest, `"`)
	picture, err := base64.StdEncoding.DecodeString(coded)
	if err != nil || !strings.HasPrefix(string(picture), "<svg ") || !strings.Contains(string(picture), `class="card-sign card-bad"`) {
		t.Errorf("its picture is %.300q, %v", picture, err)
	}
}

// The report card of a lock of one's own comes as a page of its own, each cell with
// a link to its example; a bundled lock's is made already.
func TestTheReportCardOfALockOfOnesOwn(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.OpenOwn(t)
	if !testing.Short() { // the search takes half a minute of a processor
		ownCard(t, s)
	}
	for _, c := range []struct {
		name, old, now string
		status         int
		says           string
	}{
		{"not Lua", "return 1", "return if", http.StatusUnprocessableEntity, "this is not Lua"},
		{"no reply", "return 1", "return 7", http.StatusUnprocessableEntity, "it returns 7"},
		{"a mistake", "protocol: own", "protocol: owned", http.StatusUnprocessableEntity, "mistake"},
		{"another lock", webtest.OwnText, "lock: {protocol: mutex}\nthreads: [{name: A}]", http.StatusSeeOther, ""},
	} {
		form := url.Values{"yaml": {strings.Replace(webtest.OwnText, c.old, c.now, 1)}}
		if res, body := s.Do(t, http.MethodPost, "/edit/card", form); res.StatusCode != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d, without %q\n%.300s", c.name, res.StatusCode, c.says, body)
		}
	}
}

// Without a box the page says why, and nothing is run.
func TestWithoutABoxNoLockOfOnesOwnRuns(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	_, page := s.Do(t, http.MethodGet, "/edit", nil)
	if !strings.Contains(page, "This server does not run your own scripts") || strings.Contains(page, `id="judge"`) {
		t.Error("the editor does not say that nothing is judged here")
	}
	if res, _ := s.Do(t, http.MethodPost, "/runs", url.Values{"yaml": {webtest.OwnText}}); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a run answers %d", res.StatusCode)
	}
	if res, body := s.Post(t, "/export?format=md", strings.TrimSuffix(linkOf(t), "~0")); res.StatusCode == http.StatusOK {
		t.Errorf("an export answers\n%s", body)
	}
}

// linkOf is a link to ownText.
func linkOf(t *testing.T) string {
	t.Helper()
	sc, err := scenario.Parse([]byte(webtest.OwnText))
	if err != nil {
		t.Fatal(err)
	}
	text, err := link.Encode(link.Contents{Scenario: sc})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A link to a lock of one's own is shown, exported and kept as any other, with its
// own scripts beside the rows.
func TestShareALockOfOnesOwn(t *testing.T) {
	t.Parallel()
	s, text := webtest.OpenOwn(t), linkOf(t)
	for _, c := range []struct{ path, link, want string }{
		{"/export?format=md", strings.TrimSuffix(text, "~0"), "DEL →"}, // of the run to its end
		{"/replay", text, "unlock.lua"},
		{"/s", text, "/s/"},
	} {
		if res, body := s.Post(t, c.path, c.link); res.StatusCode/100 != 2 || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d, without %q\n%.300s", c.path, res.StatusCode, c.want, body)
		}
	}
}

// A class opens what one of it has written, steps it, and searches it for what
// breaks.
func TestAClassBreaksALockOfOnesOwn(t *testing.T) {
	t.Parallel()
	b := webtest.Boxed(t)
	s := webtest.Open(t, func(c *web.Config) { c.Box = b })
	code, secret := s.MakeRoom(t, url.Values{"example": {"two-threads"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret, "rows": true})
	host.Must(webtest.Object{"do": "open", "link": linkOf(t)})
	host.Must(webtest.Object{"do": "step"})
	found, _ := host.Explored(webtest.Object{"do": "explore", "branch": 1, "from": "start", "delays": 1, "faults": 0, "kinds": []string{}})
	if !strings.Contains(found, "break a rule") {
		t.Errorf("the class finds %q", found)
	}
}

// On the wall clock the embedded Redis is in this process, and the operator's is
// nobody else's: an own lock runs on neither.
func TestALockOfOnesOwnIsNotRunLive(t *testing.T) {
	t.Parallel()
	s := webtest.OpenOwn(t)
	res, err := s.Client().PostForm(s.URL+"/runs", url.Values{"yaml": {webtest.OwnText}, "store": {"wall"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("on the wall clock: %d", res.StatusCode)
	}
}

func TestTheFormOfALockOfOnesOwn(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	got := s.Convert(t, url.Values{"yaml": {webtest.OwnText}, "action": {"read"}})
	if len(got.Mistakes) > 0 || !strings.Contains(got.Form, `name="lock.scripts.unlock"`) || !strings.Contains(got.Form, "&#39;DEL&#39;, KEYS[1]") {
		t.Errorf("%+v\n%s", got.Mistakes, got.Form)
	}
	got = s.Convert(t, url.Values{"yaml": {webtest.OwnText}, "base": {webtest.OwnText}, "action": {"show"}, "lock.scripts.unlock": {"return 1"}})
	sc, err := scenario.Parse([]byte(got.YAML))
	if err != nil || sc.Lock.Scripts.Unlock != "return 1\n" {
		t.Errorf("%v\n%s", err, got.YAML)
	}
	wrong := s.Convert(t, url.Values{"yaml": {strings.Replace(webtest.OwnText, "  like: reentrant\n", "", 1)}, "action": {"read"}})
	if len(wrong.Mistakes) != 1 || wrong.Mistakes[0].Key != "lock.scripts" || !strings.Contains(wrong.Form, "no script lock") {
		t.Errorf("%+v", wrong.Mistakes)
	}
}

// An address whose scripts do not end, three in a row, is told when the next one may
// run.
func TestEndlessScriptsAreTold(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.OpenOwn(t)
	endless := url.Values{"script": {"while true do end"}}
	for n := range 12 { // the wait grows until it is longer than a request on the slowest machine
		res, body := s.Do(t, http.MethodPost, "/learn/lock/mend-the-unlock", endless)
		switch {
		case res.StatusCode == http.StatusOK && strings.Contains(body, "it does not end"):
		case n < 3 || res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" ||
			!strings.Contains(body, "scripts from your address took too long or too much memory; the next one may run in "):
			t.Fatalf("after %d endless scripts: %d, %s\n%.2000s", n, res.StatusCode, res.Header.Get("Retry-After"), body)
		default:
			return
		}
	}
	t.Error("none is refused")
}
