package catalog

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"relock/engine/course"
	"relock/engine/scenario"
	"relock/engine/strict"
	"relock/web/lesson"
	"relock/web/site"
)

// Schema is what an editor reads to help with one kind of file.
type Schema struct {
	Name string // of the kind; people's files have it in the schema's address, so it stays
	Make func() strict.Object
}

// Schemas returns all of them. The list is the caller's own.
func Schemas() []Schema {
	return []Schema{{"scenario", scenario.Schema}, {"chapter", course.Schema}, {"lesson", lesson.Schema}}
}

// Schema answers with a JSON Schema. Any page may read it: it says nothing of anybody.
func (s *Pages) Schema(w http.ResponseWriter, r *http.Request) error {
	all := Schemas()
	at := slices.IndexFunc(all, func(one Schema) bool { return one.Name+".json" == r.PathValue("name") })
	if at < 0 {
		return site.ErrNoPage
	}
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Content-Type", "application/schema+json")
	text, err := json.Marshal(all[at].Make())
	if err != nil {
		return fmt.Errorf("catalog: schema: %w", err)
	}
	_, _ = w.Write(text) // the visitor has left: nobody to tell
	return nil
}
