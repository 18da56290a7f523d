package site

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"relock/engine/panics"
	"relock/web/words"
)

// Page is live in the visitor's turn.
func (s *Site) Page(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	answer := s.Live(h)
	return func(w http.ResponseWriter, r *http.Request) {
		d := deliveryOf(r)
		if d.count() != nil {
			return // deliver says why
		}
		seat := d.seat
		if seat.Take(r.Context()) != nil {
			return // the visitor has left
		}
		defer seat.Done()
		answer(w, r)
	}
}

// Live answers with what the handler writes, or with the page of its error. It
// takes no turn: sockets take one for each command.
func (s *Site) Live(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		set := s.SettingsOf(r)
		s.keepSettings(w, r, set)
		w.Header().Add("Vary", "Accept-Language, Cookie")
		r = r.WithContext(words.With(r.Context(), set.Language))
		err := panics.Catch(func() error { return h(w, r) })
		if err == nil || errors.Is(err, context.Canceled) && r.Context().Err() != nil || deliveryOf(r).refused.Load() != nil {
			return // answered, or the visitor has left, or deliver says why not
		}
		var status *Error
		var panicked *panics.Error
		if !errors.As(err, &status) {
			if errors.As(err, &panicked) {
				s.Panicked(r.Context(), OfPage, panicked)
				err = errPanic
			}
			s.log.ErrorContext(r.Context(), "request failed", slog.String("path", r.URL.Path), slog.String("error", err.Error()))
			status = Refuse(http.StatusInternalServerError, "Something went wrong here", "It was logged. Please try again.")
		}
		s.AnswerError(w, r, status)
	}
}

// methods are those that some route has, in the order in which Allow names them.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost}

// NoRoute answers what no route of mux does: a method that its address does not
// have, or no such address.
func NoRoute(w http.ResponseWriter, r *http.Request, mux *http.ServeMux) error {
	var allowed []string
	for _, method := range methods {
		other := *r
		other.Method = method
		if _, pattern := mux.Handler(&other); pattern != "" && pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return ErrNoPage
	}
	list := strings.Join(append(allowed, http.MethodOptions), ", ")
	w.Header().Set("Allow", list)
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return Refuse(http.StatusMethodNotAllowed, "That cannot be done at this address", "Allowed here: %s.", list)
}
