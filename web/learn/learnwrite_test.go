package learn_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"relock/engine/outside/box"
	"relock/web"
	"relock/web/webtest"
)

// A script that is sent is judged, on the item's page and without a script of the
// page's own, in both languages.
func TestAWrittenScriptIsJudgedOnThePage(t *testing.T) {
	t.Parallel()
	b, err := box.New(box.Options{Unwalled: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	s := webtest.Open(t, func(c *web.Config) { c.Box = b })
	const item = "/learn/lock/mend-the-unlock"
	for _, c := range []struct {
		name, lang, script string
		want, not          string
	}{
		{"right", "en", "if redis.call('GET', KEYS[1]) == ARGV[1] then\r\n  redis.call('DEL', KEYS[1])\r\n  return 1\r\nend\r\nreturn 0", "None that we know needs fewer.", "Not yet."},
		{"right, in Chinese", "zh-CN", "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) return 1 end return 0", "我们已知的解法都不比它少", "还不行"},
		{"beside the lock's own", "en", "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) return 1 end return 0", "one solution among others", "Not yet."},
		{"too many commands", "en", "redis.call('PTTL', KEYS[1]) if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) return 1 end return 0", "3 commands in one go; it can be done with 2", "Not yet."},
		{"still broken", "en", "redis.call('DEL', KEYS[1]) return 1", "This still breaks", "data-solved"},
		{"nothing is deleted", "en", "return 1", "This still breaks: shut out", "data-solved"},
		{"no Lua", "en", "return 1\nif", `data-wrong="2"`, "data-solved"},
		{"no end", "zh-CN", "while true do end", "它一直没有结束", "data-solved"},
		{"markup", "en", "</textarea><script>x</script>", "&lt;/textarea&gt;&lt;script&gt;x", "<script>x"},
		{"nothing", "en", "", "a script has 1 to", "data-solved"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, body := s.Do(t, http.MethodPost, item+"?lang="+c.lang, url.Values{"script": {c.script}})
			if res.StatusCode != http.StatusOK || !strings.Contains(strings.ToLower(body), strings.ToLower(c.want)) || strings.Contains(body, c.not) {
				t.Errorf("%d, %q is missing or %q is there", res.StatusCode, c.want, c.not)
			}
		})
	}
	if res, _ := s.Do(t, http.MethodPost, "/learn/lock/one-command", url.Values{"script": {"return 1"}}); res.StatusCode != http.StatusNotFound {
		t.Errorf("of an item in which nothing is written: %d", res.StatusCode)
	}
	without := webtest.Open(t, nil)
	if _, body := without.Do(t, http.MethodGet, item, nil); strings.Contains(body, ">Judge it<") || !strings.Contains(body, "does not run your own scripts") {
		t.Error("a server without a box does not say so")
	}
	if res, _ := without.Do(t, http.MethodPost, item, url.Values{"script": {"return 1"}}); res.StatusCode == http.StatusOK || res.StatusCode >= http.StatusInternalServerError {
		t.Errorf("without a box: %d", res.StatusCode)
	}
}
