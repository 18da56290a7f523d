package catalog_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"relock/web/webtest"
)

func TestSchemasAreServed(t *testing.T) {
	s := webtest.Open(t, nil)
	for name, title := range map[string]string{"scenario.json": "Relock scenario", "chapter.json": "Relock chapter", "lesson.json": "Relock lesson"} {
		res, body := s.Do(t, http.MethodGet, "/schema/"+name, nil)
		var read struct{ Title string }
		if err := json.Unmarshal([]byte(body), &read); err != nil || read.Title != title || res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d, %q, %v", name, res.StatusCode, read.Title, err)
		}
		if got := res.Header.Get("Content-Type"); got != "application/schema+json" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if res, _ := s.Do(t, http.MethodGet, "/schema/room.json", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("a schema that there is not: %d", res.StatusCode)
	}
}
