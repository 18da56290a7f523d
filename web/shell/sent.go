package shell

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/web/link"
	"relock/web/site"
)

// MaxForm is how many bytes of a form are read: the YAML, the YAML its form was
// made from, and the form itself, with each character encoded as up to three.
const MaxForm = 8 * scenario.MaxBytes

// maxTrace is how many bytes of a trace are read: ten thousand events and some; the rest
// of a file is for the form around it.
const maxTrace = site.MaxFile - (64 << 10)

// ReadForm reads what a form sent.
func ReadForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	r.Body = http.MaxBytesReader(w, r.Body, MaxForm)
	err := r.ParseForm()
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, site.Refuse(http.StatusRequestEntityTooLarge, "That form is too large", "A form may have %d KiB.", MaxForm>>10)
	case err != nil:
		return nil, site.Refuse(http.StatusBadRequest, "That form cannot be read", "Please go back and send it again.")
	default:
		return r.PostForm, nil
	}
}

// ReadFile reads the file in a form, or the body if that is the file itself, and unpacks gzip.
func ReadFile(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	r.Body = http.MaxBytesReader(w, r.Body, site.MaxFile)
	unreadable := site.Refuse(http.StatusBadRequest, "That file cannot be read", "Please choose a file and send it again.")
	var body io.Reader = r.Body
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		parts, err := r.MultipartReader()
		if err != nil {
			return nil, unreadable
		}
		for {
			part, err := parts.NextPart()
			if err != nil {
				return nil, unreadable
			}
			if part.FormName() == "file" {
				body = part
				break
			}
		}
	}
	data, err := io.ReadAll(io.LimitReader(site.Unpacked(body), maxTrace+1))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large), err == nil && len(data) > maxTrace:
		return nil, site.Refuse(http.StatusRequestEntityTooLarge, "That file is too large", "A scenario may have 64 KiB, a trace 8 MiB.")
	case err != nil, len(data) == 0:
		return nil, unreadable
	default:
		return data, nil
	}
}

// SentLink reads a link that was sent as the body. Whole is true if it has no position,
// which means the whole run. Head is the heading of refusals.
func (s *Pages) SentLink(w http.ResponseWriter, r *http.Request, head phrase.Text) (state link.Contents, whole bool, err error) {
	if err := s.Starts.Allow(site.Address(r)); err != nil {
		return state, false, site.OfLimit(err)
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, link.MaxPacked))
	if err != nil {
		return state, false, site.Explained(http.StatusRequestEntityTooLarge, head, link.ErrTooLong)
	}
	packed := strings.TrimSpace(string(text))
	if whole = !strings.Contains(packed, "~"); whole {
		packed += "~0"
	}
	if state, err = link.Decode(packed); err != nil {
		return state, false, site.Unusable(err, head)
	}
	return state, whole, nil
}

// NotShown returns the error to answer with when a run could not be made.
func NotShown(r *http.Request, err error, head phrase.Text) error {
	if r.Context().Err() != nil {
		return nil //nolint:nilerr // the visitor has left
	}
	return site.Unusable(err, head)
}
