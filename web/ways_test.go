package web_test

import (
	"net/http"
	"strings"
	"testing"

	"relock/engine/racetest"
	"relock/web/webtest"
)

// Every page leads to the rest of the site and to the room's door; what another site
// frames does not.
func TestEveryPageHasAFooter(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	run := s.Run(t, webtest.TwoThreads())
	s.Ended(t, run)
	for _, path := range []string{
		"/", "/play", "/play/lease-expiry", run, "/traces/redis-py.lose-reply", "/lab", "/lab/script", "/edit",
		"/learn", "/learn/lock/mend-the-unlock", "/scenarios", "/locks", "/locks/fenced", "/incidents", "/room", "/nowhere",
	} {
		_, body := s.Do(t, http.MethodGet, path, nil)
		for _, to := range []string{"/incidents", "/room", "/scenarios", "/locks", "/glossary", "/edit", "/about"} {
			if !strings.Contains(body, `<a href="`+to+`"`) {
				t.Errorf("%s does not lead to %s", path, to)
			}
		}
	}
	if _, body := s.Do(t, http.MethodGet, "/embed/play/lease-expiry", nil); strings.Contains(body, "<footer") {
		t.Error("an embed has a footer")
	}
}

// Who follows "Teach" can make a room at once, and who follows "Join a room" can type its
// code; each page leads to the other.
func TestTeachersAndPupilsComeToTheirDoor(t *testing.T) {
	s := webtest.Open(t, nil)
	_, home := s.Do(t, http.MethodGet, "/", nil)
	for name, to := range map[string]string{"Teach": "/room/new", "Join a room": "/room"} {
		if !strings.Contains(home, `<a href="`+to+`">`+name+`</a>`) {
			t.Errorf("%s does not lead to %s", name, to)
		}
	}
	_, teaches := s.Do(t, http.MethodGet, "/room/new", nil)
	_, joins := s.Do(t, http.MethodGet, "/room", nil)
	if strings.Contains(teaches, `name="code"`) || !strings.Contains(teaches, `name="lesson"`) || !strings.Contains(teaches, `<a href="/room">Join a room</a></p>`) {
		t.Error("a teacher is not led to a room")
	}
	code, make := strings.Index(joins, `name="code"`), strings.Index(joins, `<a class="button" href="/room/new">Make a room</a>`)
	if code < 0 || make < code {
		t.Error("a pupil is not asked for the code first, or a teacher not led on")
	}
}

// Your own lock is one page with two tabs, each at its address; where it is written its
// scripts come first, and the rest is folded until something in it is wrong.
func TestALockOfOnesOwnIsOnePage(t *testing.T) {
	s := webtest.Open(t, nil)
	for path, here := range map[string]string{"/lab": "/lab", "/lab/script": "/lab/script", "/edit": ""} {
		_, body := s.Do(t, http.MethodGet, path, nil)
		for tab, name := range map[string]string{"/lab": "Your program", "/lab/script": "Your Lua scripts"} {
			if is := strings.Contains(body, `<a href="`+tab+`" aria-current="page">`+name); is != (tab == here) && here != "" {
				t.Errorf("%s: %s is where one is: %v", path, tab, is)
			}
		}
		if nav := `<a href="/lab" aria-current="page">Your own lock</a>`; strings.Contains(body, nav) != (here != "") {
			t.Errorf("%s: the navigation says otherwise", path)
		}
	}
	_, body := s.Do(t, http.MethodGet, "/lab/script", nil)
	for _, want := range []string{`<div class="editor own"`, "This scenario can be run.", "protocol: own", `name="lock.scripts.unlock"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
	scripts := strings.Index(body, `id="group-scripts"`)
	for _, part := range []string{"scenario", "lock", "threads", "faults", "resource"} {
		if at := strings.Index(body, `<details class="card part fold" id="group-`+part+`">`); at < scripts {
			t.Errorf("%s is at %d, unfolded or before the scripts at %d", part, at, scripts)
		}
	}
	_, body = s.Do(t, http.MethodPost, "/edit", webtest.TwoThreads("action", "show", "yaml", "lock: {protocol: own, lease: never}\nthreads: [{name: A}]\n"))
	if !strings.Contains(body, `id="group-lock" open>`) || strings.Contains(body, `id="group-threads" open>`) {
		t.Error("what is wrong is folded, or what is not is unfolded")
	}
}
