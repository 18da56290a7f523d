package catalog_test

import (
	"net/http"
	"strings"
	"testing"

	"relock/web"
	"relock/web/webtest"
)

// The storybook is for those who work on the page: without the flag there is
// none.
func TestStorybookIsForDevelopment(t *testing.T) {
	t.Parallel()
	if res, body := webtest.Open(t, nil).Do(t, http.MethodGet, "/storybook", nil); res.StatusCode != http.StatusNotFound || strings.Contains(body, "RowView") {
		t.Errorf("without the flag: %d", res.StatusCode)
	}
	s := webtest.Open(t, func(c *web.Config) { c.Dev = true })
	for language, want := range map[string]string{"en": "lock: refused", "zh": "lock：被拒绝"} {
		res, body := s.Do(t, http.MethodGet, "/storybook?theme=dark&lang="+language, nil)
		for _, part := range []string{want, `data-theme="dark"`, "RowView: parted", `src="/static/dev/story.js"`} {
			if !strings.Contains(body, part) {
				t.Errorf("%s: %d, no %q", language, res.StatusCode, part)
			}
		}
	}
	if res, body := s.Do(t, http.MethodGet, "/static/dev/story.js", nil); res.StatusCode != http.StatusOK || !strings.Contains(body, "lua.js") {
		t.Errorf("its script: %d", res.StatusCode)
	}
	if _, body := s.Do(t, http.MethodGet, "/", nil); strings.Contains(body, "story.js") {
		t.Error("other pages load the storybook's script")
	}
}
