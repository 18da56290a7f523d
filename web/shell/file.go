package shell

import (
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"strconv"

	"relock/web/export"
	"relock/web/link"
	"relock/web/site"
	"relock/web/site/keep"
	"relock/web/words"
)

// FormatOf returns the format that r asks for.
func FormatOf(r *http.Request) (export.Format, error) {
	format, err := export.ParseFormat(r.URL.Query().Get("format"))
	if err != nil {
		return "", site.Refuse(http.StatusBadRequest, "There is no such format", "A run can be exported in these formats: %s.", export.Allowed())
	}
	return format, nil
}

// AnswerFile answers with a run as a file. State is the link under which it can
// be stepped; of a lab there is none.
func (s *Pages) AnswerFile(w http.ResponseWriter, r *http.Request, f export.Format, file export.Run, state link.Contents) error {
	file.Language = words.From(r.Context()).Plain()
	file.Title = TitleOf(file.Language, file.Scenario)
	if !file.Header.Framed() {
		open, err := link.Encode(state)
		if err != nil {
			return fmt.Errorf("shell: %w", err)
		}
		file.Link = s.Origin(r) + "/play#" + open
	}
	file.Style = s.Static.PictureStyle()
	data, err := export.Render(r.Context(), f, file)
	switch {
	case r.Context().Err() != nil:
		return nil //nolint:nilerr // the visitor has left
	case err != nil:
		return fmt.Errorf("shell: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", f.MediaType())
	h.Set("Content-Length", strconv.Itoa(len(data)))
	h.Set("Content-Language", file.Language.Code())
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.FileName(file.Title)}))
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(data) // a visitor who has left hears nothing
	return nil
}

// NotKept returns the page for a shelf that could not be asked, or err if that
// says nothing to visitors.
func (s *Pages) NotKept(r *http.Request, err error) error {
	if !errors.Is(err, keep.ErrAway) {
		return fmt.Errorf("shell: %w", err)
	}
	s.Log.WarnContext(r.Context(), "shelf away", slog.String("error", err.Error()))
	shown := site.Explained(http.StatusServiceUnavailable, "One moment, please", keep.ErrAway)
	shown.After = site.Soon
	return shown
}
