package front

import (
	"encoding/json"
	"fmt"
	"net/http"

	"relock/engine/course"
	"relock/engine/scenario"
	"relock/web/site"
)

// schemas are what an editor reads, by the last part of their address. People have these
// addresses in their files: they stay.
var schemas = map[string]func() scenario.Object{"scenario.json": scenario.Schema, "chapter.json": course.Schema}

// Schema answers with a JSON Schema. Any page may read it: it says nothing of anybody.
func (s *Pages) Schema(w http.ResponseWriter, r *http.Request) error {
	made, ok := schemas[r.PathValue("name")]
	if !ok {
		return site.ErrNoPage
	}
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Content-Type", "application/schema+json")
	text, err := json.Marshal(made())
	if err != nil {
		return fmt.Errorf("front: schema: %w", err)
	}
	_, _ = w.Write(text) // the visitor has left: nobody to tell
	return nil
}
