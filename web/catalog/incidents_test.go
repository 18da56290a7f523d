package catalog_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"relock/lessons"
	"relock/web/link"
	"relock/web/webtest"
)

// Each incident stands on the page, in both languages, and is staged at an address
// that leads back; so is its cure.
func TestIncidentsHaveAPage(t *testing.T) {
	s := webtest.Open(t, nil)
	symptoms, err := lessons.Incidents()
	if err != nil {
		t.Fatal(err)
	}
	opens := regexp.MustCompile(`data-open="([^"]+)"`)
	for _, language := range []string{"en", "zh-CN"} {
		get := func(path string) (int, string) {
			res, body := s.Do(t, http.MethodGet, path, nil, "Accept-Language", language)
			return res.StatusCode, body
		}
		status, body := get("/incidents")
		if status != http.StatusOK {
			t.Fatalf("%s: %d", language, status)
		}
		for _, symptom := range symptoms {
			for _, i := range symptom.Incidents {
				if !strings.Contains(body, `id="`+i.ID+`"`) {
					t.Errorf("%s: %s is not there", language, i.ID)
				}
				for _, source := range i.Sources {
					if !strings.Contains(body, `href="`+source.URL+`"`) {
						t.Errorf("%s: %s lacks %s", language, i.ID, source.URL)
					}
				}
				if !strings.Contains(body, "<span>"+html.EscapeString(i.Library)+"</span>") {
					t.Errorf("%s: %s lacks its library", language, i.ID)
				}
				if said := html.EscapeString(string(i.Seen)); (language == "en") != strings.Contains(body, said) {
					t.Errorf("%s: %s in the wrong language", language, i.ID)
				}
				for path, there := range map[string]bool{"/incidents/" + i.ID: true, "/incidents/" + i.ID + "/cured": i.Cured} {
					if strings.Contains(body, `href="`+path+`"`) != there {
						t.Errorf("%s: is there a link to %s? want %v", language, path, there)
					}
					status, staged := get(path)
					if !there {
						if status != http.StatusNotFound {
							t.Errorf("%s: %d", path, status)
						}
						continue
					}
					found := opens.FindStringSubmatch(staged)
					if status != http.StatusOK || found == nil || !strings.Contains(staged, `href="/incidents#`+i.ID+`"`) {
						t.Errorf("%s: %d, opens %q, or does not lead back", path, status, found)
						continue
					}
					state, err := link.Decode(html.UnescapeString(found[1]))
					if err != nil || state.Scenario.Title != string(i.Title) {
						t.Errorf("%s opens %+v, %v", path, state.Scenario, err)
						continue
					}
					if state.At == 0 || state.At != len(state.Scenario.Schedule) {
						t.Errorf("%s opens after %d of %d moves: is it where it goes wrong, or would?", path, state.At, len(state.Scenario.Schedule))
					}
					cured := strings.HasSuffix(path, "/cured")
					if changed := "What was changed: " + html.EscapeString(string(i.Here)); language == "en" && strings.Contains(staged, changed) != cured {
						t.Errorf("%s: does it say %q? want %v", path, changed, cured)
					}
					for _, other := range []string{"/incidents/" + i.ID, "/incidents/" + i.ID + "/cured"} {
						if want := other != path && (cured || i.Cured); strings.Contains(staged, `href="`+other+`"`) != want {
							t.Errorf("%s: is there a link to %s? want %v", path, other, want)
						}
					}
				}
			}
		}
	}
	if res, _ := s.Do(t, http.MethodGet, "/incidents/none", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("an incident that is not there: %d", res.StatusCode)
	}
}
