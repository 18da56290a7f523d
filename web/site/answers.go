package site

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/a-h/templ"
)

// errorJSON is what programs get for an error's page.
type errorJSON struct {
	Error string `json:"error"` // sentences
	Limit string `json:"limit"` // its name in metrics and logs, "" where none was met
}

// AsksForJSON reports whether r was sent by a program that does not want pages.
func AsksForJSON(r *http.Request) bool {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// AnswerJSON answers with a value of plain fields, as it is now.
func AnswerJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the visitor has left: nobody to tell
}

// Render writes a whole page or none.
func Render(ctx context.Context, w http.ResponseWriter, status int, c templ.Component) error {
	var b bytes.Buffer
	if err := c.Render(ctx, &b); err != nil {
		return fmt.Errorf("render: %w", err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // the visitor has left: nobody to tell
	return nil
}
