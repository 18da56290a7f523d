package catalog_test

import (
	"net/http"
	"strings"
	"testing"

	"relock/web/page"
	"relock/web/webtest"
)

// What a search calls things here is on one of the pages that have one, in both languages.
func TestOtherNamesLeadSomewhere(t *testing.T) {
	s := webtest.Open(t, nil)
	for _, language := range []string{"en", "zh-CN"} {
		var all strings.Builder
		for _, path := range []string{"/scenarios", "/incidents", "/glossary"} {
			_, text := s.Ask(t, http.MethodGet, path+"?lang="+language, "", nil)
			for _, one := range strings.Split(text, "data-find=")[1:] {
				all.WriteString(strings.ToLower(one))
			}
		}
		for line := range strings.Lines(page.Also) {
			_, here, ok := strings.Cut(strings.TrimSpace(line), ": ")
			for name := range strings.SplitSeq(here, ", ") {
				if !ok || !strings.Contains(all.String(), name) {
					t.Errorf("%s: nothing is called %q", language, name)
				}
			}
		}
	}
}
