package web_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"relock/lessons"
	"relock/web/link"
)

// Each incident stands on its page, in both languages, with links that open.
func TestIncidentsHaveAPage(t *testing.T) {
	s := open(t, nil)
	symptoms, err := lessons.Incidents()
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range []string{"en", "zh-CN"} {
		res, body := s.do(t, http.MethodGet, "/incidents", nil, "Accept-Language", language)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d", language, res.StatusCode)
		}
		opened := map[string]bool{}
		for _, m := range regexp.MustCompile(`href="/play#([^"]+)"`).FindAllStringSubmatch(body, -1) {
			state, err := link.Decode(html.UnescapeString(m[1]))
			if err != nil {
				t.Errorf("%s: %v", m[1], err)
				continue
			}
			opened[state.Scenario.Title] = true
		}
		for _, symptom := range symptoms {
			for _, i := range symptom.Incidents {
				if !strings.Contains(body, `id="`+i.ID+`"`) || !opened[string(i.Title)] {
					t.Errorf("%s: %s is not there, or opens nothing", language, i.ID)
				}
				for _, source := range i.Sources {
					if !strings.Contains(body, `href="`+source.URL+`"`) {
						t.Errorf("%s: %s lacks %s", language, i.ID, source.URL)
					}
				}
				if said := html.EscapeString(string(i.Seen)); (language == "en") != strings.Contains(body, said) {
					t.Errorf("%s: %s in the wrong language", language, i.ID)
				}
			}
		}
	}
}
