package web_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gorilla/websocket"
	"go.yaml.in/yaml/v3"

	"relock/engine/racetest"
	"relock/web"
	"relock/web/webtest"
	"relock/web/words"
)

// chinese is its folder, by file name.
func chinese(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("words/zh-CN/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no translations:", err)
	}
	out := map[string][]byte{}
	for _, name := range files {
		if out[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// twoLanguages are English and Chinese, whatever else comes with the program.
func twoLanguages(t *testing.T) fstest.MapFS {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, data := range chinese(t) {
		fsys["zh-CN/"+name] = &fstest.MapFile{Data: data}
	}
	return fsys
}

// threeLanguages have one more that nobody speaks: its texts are English in
// brackets, so that what is said past the translations shows.
func threeLanguages(t *testing.T) fstest.MapFS {
	t.Helper()
	fsys := twoLanguages(t)
	for name, data := range chinese(t) {
		var texts map[string]string
		if err := yaml.Unmarshal(data, &texts); err != nil {
			t.Fatal(err)
		}
		for english := range texts {
			texts[english] = "⟦" + english + "⟧"
		}
		if name == "language.yaml" {
			texts = map[string]string{"name": "⟦English⟧", "direction": "rtl"}
		}
		data, err := yaml.Marshal(texts)
		if err != nil {
			t.Fatal(err)
		}
		fsys["en-XA/"+name] = &fstest.MapFile{Data: data}
	}
	return fsys
}

// speaking is a change of what a server speaks.
func speaking(t *testing.T, fsys fstest.MapFS) func(*web.Config) {
	t.Helper()
	all, err := words.Read(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *web.Config) { c.Languages = all }
}

// Nothing but the folders says how many languages there are, and which.
func TestAThirdLanguage(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.Open(t, speaking(t, threeLanguages(t)))
	run := s.Run(t, webtest.TwoThreads())
	s.Ended(t, run)
	title := "⟦The lease ends before the work⟧"
	for path, want := range map[string]string{
		"/":                        "⟦A lock lets one in at a time.⟧",
		"/scenarios":               title,
		"/play/lease-expiry":       title,
		"/embed/play/lease-expiry": "⟦Relock⟧",
		"/edit":                    "⟦Scenario editor⟧",
		"/locks/reentrant":         "⟦Its holder&#39;s context ends before the lease can, also in a partition.⟧",
		"/about":                   "⟦",
		"/api":                     "⟦",
		run:                        "⟦no rule was broken⟧",
		"/nowhere":                 "⟦There is no such page⟧",
	} {
		res, body := s.Do(t, http.MethodGet, path+"?lang=en-XA", nil)
		if !strings.Contains(body, `lang="en-XA" dir="rtl"`) || !strings.Contains(body, want) {
			t.Errorf("%s: %d, without %q:\n%.400s", path, res.StatusCode, want, body)
		}
		if len(res.Cookies()) == 0 || res.Cookies()[0].Value != "en-XA" {
			t.Errorf("%s: cookies %v", path, res.Cookies())
		}
		if path == "/embed/play/lease-expiry" {
			continue // it has no switch
		}
		var offered []string
		for _, m := range regexp.MustCompile(`hreflang="([^"]*)" lang="[^"]*" data-keeps-place( aria-current="true")?`).FindAllStringSubmatch(body, -1) {
			offered = append(offered, m[1]+m[2])
		}
		if got := strings.Join(offered, ", "); got != `en, en-XA aria-current="true", zh-CN` {
			t.Errorf("%s offers %s", path, got)
		}
	}
	res, body := s.Do(t, http.MethodGet, "/scenarios", nil, "Cookie", "relock-language=en-XA", "Accept-Language", "zh")
	if res.StatusCode != http.StatusOK || !strings.Contains(body, title) {
		t.Error("the cookie is not followed")
	}
	if _, d, _ := s.Oembed(t, "url="+s.URL+"/play/lease-expiry?lang=en-XA"); d.Title != title {
		t.Errorf("framed as %q", d.Title)
	}
	if res, body := s.Post(t, "/export?format=md", webtest.Packed(t, "title: The lease ends before the work\n"+webtest.Scheduled, 2), "Accept-Language", "en-XA"); res.Header.Get("Content-Language") != "en-XA" || !strings.HasPrefix(body, "# "+title) {
		t.Errorf("exported in %q:\n%.300s", res.Header.Get("Content-Language"), body)
	}
	conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+"/play/socket?lang=en-XA", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	p := &webtest.PlayPage{T: t, Conn: conn, Branches: map[int]*webtest.PageBranch{}}
	if refused, _ := p.Ask(webtest.Object{"do": "step"}); !strings.HasPrefix(refused, "⟦") {
		t.Errorf("refused with %q", refused)
	}
	for _, code := range []string{"en", "zh"} {
		if _, body := s.Do(t, http.MethodGet, "/?lang="+code, nil); strings.Contains(strings.ReplaceAll(body, "⟦English⟧", ""), "⟦") {
			t.Errorf("%s speaks the third language", code)
		}
	}
}

// With two languages the switch is a link to the other one.
func TestTheOtherLanguage(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, speaking(t, twoLanguages(t)))
	for code, other := range map[string]string{"en": `hreflang="zh-CN" lang="zh-CN" data-keeps-place>中文</a>`, "zh": `hreflang="en" lang="en" data-keeps-place>English</a>`} {
		_, body := s.Do(t, http.MethodGet, "/locks?lang="+code, nil)
		if !strings.Contains(body, other) || strings.Count(body, "hreflang=") != 1 {
			t.Errorf("%s: no %s", code, other)
		}
	}
}
