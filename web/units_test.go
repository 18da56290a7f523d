package web_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"relock/engine/racetest"
	"relock/lessons/lessonstest"
	"relock/web"
	"relock/web/export"
	"relock/web/webtest"
	"relock/web/words"
)

// parted is a number that can be on another line than its unit.
var parted = regexp.MustCompile(`\b[0-9][0-9.,]* (?:(?:ms|µs|s|min|h|d|KiB|KB|MB)\b|%|毫秒|秒|分|小时|天|层|次|个)`)

// code are the elements whose text one copies.
var code = []string{"code", "pre", "textarea", "kbd"}

// partedIn adds what a person can see parted, or cannot copy or send, in HTML to list.
func partedIn(list []string, at *html.Node, copied bool) []string {
	copied = copied || at.Type == html.ElementNode && slices.Contains(code, at.Data)
	switch {
	case at.Type == html.ElementNode && (at.Data == "script" || at.Data == "style"):
		return list
	case at.Type == html.TextNode && copied && strings.Contains(at.Data, "\u00a0"):
		list = append(list, "copied: "+at.Data)
	case at.Type == html.TextNode && !copied && parted.MatchString(at.Data):
		list = append(list, parted.FindString(at.Data)+" in: "+at.Data)
	}
	for _, a := range at.Attr {
		if a.Key == "value" && strings.Contains(a.Val, "\u00a0") {
			list = append(list, "sent: "+a.Val)
		}
	}
	for next := range at.ChildNodes() {
		list = partedIn(list, next, copied)
	}
	return list
}

func partedInHTML(t *testing.T, text string) []string {
	t.Helper()
	page, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return partedIn(nil, page, false)
}

// partedInJSON is partedIn of every text in a frame.
func partedInJSON(t *testing.T, v any) (list []string) {
	t.Helper()
	switch v := v.(type) {
	case string:
		list = partedInHTML(t, v)
	case []any:
		for _, one := range v {
			list = append(list, partedInJSON(t, one)...)
		}
	case map[string]any:
		for _, one := range v {
			list = append(list, partedInJSON(t, one)...)
		}
	}
	return list
}

// On a page a number and its unit stand on one line, in every language. What one copies or sends
// has the plain blank.
func TestANumberAndItsUnitNeverPartOnPages(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, func(c *web.Config) { c.Dev = true })
	paths := []string{
		"/storybook", "/", "/scenarios", "/incidents", "/glossary", "/about", "/api", "/locks", "/locks/reentrant", "/lab", "/lab/script", "/edit",
		"/play/textbook", "/play/lease-expiry", "/play/two-masters-wait", "/play/heartbeat", "/learn", "/learn/lock/compare-and-delete", "/learn/lock/mend-the-unlock", "/room",
		"/embed/play/textbook",
	}
	for _, l := range words.All() {
		for _, path := range append(paths, s.Run(t, webtest.TwoThreads())) {
			res, body := s.Sent(t, http.MethodGet, path+"?lang="+l.Code(), nil)
			if res.StatusCode != http.StatusOK || !strings.Contains(body, "<body") {
				t.Errorf("%s: %s", path, res.Status)
			}
			for _, found := range partedInHTML(t, body) {
				t.Errorf("%s in %s: %s", path, l.Code(), found)
			}
		}
	}
}

// So it is with what comes over a socket.
func TestANumberAndItsUnitNeverPartInFrames(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	for _, l := range words.All() {
		for _, name := range []string{"lease-expiry", "two-masters-wait", "redlock-clock-jump"} {
			p := s.PageIn(t, l.Code())
			kept := 0
			for id, command := range []webtest.Object{{"do": "open", "scenario": lessonstest.Text(t, name+".yaml")}, {"do": "run", "branch": 0, "to": "end"}} {
				command["id"] = id + 1
				if err := p.Conn.WriteJSON(command); err != nil {
					t.Fatal(err)
				}
				for done := false; !done; {
					_, text, err := p.Conn.ReadMessage()
					var frame map[string]any
					if err != nil || json.Unmarshal(text, &frame) != nil {
						t.Fatal(err)
					}
					if frame["refused"] != nil {
						t.Fatal(frame["refused"])
					}
					done = frame["done"] == true
					kept += strings.Count(string(text), "\u00a0ms")
					for _, found := range partedInJSON(t, frame) {
						t.Errorf("%s in %s: %s", name, l.Code(), found)
					}
				}
			}
			if kept < 10 {
				t.Errorf("%s in %s: only %d lengths of time", name, l.Code(), kept)
			}
		}
	}
}

// Files and data that a page offers keep the plain blank.
func TestFilesHaveThePlainBlank(t *testing.T) {
	s := webtest.Open(t, nil)
	run := s.Run(t, webtest.TwoThreads())
	for _, l := range words.All() {
		var paths []string
		for _, f := range export.Formats() {
			if f != export.HTML { // it is a page
				paths = append(paths, run+"/export?format="+string(f))
			}
		}
		for _, path := range append(paths, run+"/trace", "/locks/card.svg?lock=mutex") {
			res, body := s.Sent(t, http.MethodGet, path, nil, "Accept-Language", l.Code())
			if res.StatusCode != http.StatusOK || len(body) < 100 {
				t.Errorf("%s: %s, %d bytes", path, res.Status, len(body))
			}
			if at := strings.Index(body, "\u00a0"); at >= 0 {
				t.Errorf("%s in %s: %q", path, l.Code(), body[max(0, at-20):at+10])
			}
		}
		_, body := s.Sent(t, http.MethodPost, "/runs", url.Values{"yaml": {strings.Repeat("x", web.MaxForm)}}, "Accept-Language", l.Code(), "Accept", "application/json")
		if strings.Contains(body, "\u00a0") || !strings.Contains(body, "512 KiB") {
			t.Errorf("an error in %s: %s", l.Code(), body)
		}
	}
}
