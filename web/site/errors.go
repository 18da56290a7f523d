package site

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"relock/engine/phrase"
	"relock/web/site/limit"
	"relock/web/words"
)

// Error is an error with its own page. It is immutable.
type Error struct {
	Status int
	Head   phrase.Text
	Text   func(words.Language) string
	Limit  string        // the limit that was met, "" for none
	After  time.Duration // when it makes sense to ask again, 0 for any time
}

func (e *Error) Error() string { return string(e.Head) }

// Refuse returns the Error of a page with a head and a text.
func Refuse(status int, head, text phrase.Text, args ...any) *Error {
	return &Error{Status: status, Head: head, Text: func(l words.Language) string { return l.Say(text, args...) }}
}

// Explained returns the Error of a page with a head, whose text says why.
func Explained(status int, head phrase.Text, why phrase.Speaker) *Error {
	e := &Error{
		Status: status, Head: head, Text: func(l words.Language) string { return l.Sentence(why.Says()) }, Limit: LimitName(why),
	}
	if later, ok := why.(interface{ After() time.Duration }); ok {
		e.After = later.After()
	}
	return e
}

// Soon is how long to wait before asking again for what could not be reached.
const Soon = 5 * time.Second

// errPanic is logged for a panic whose stack is already in the log.
var errPanic = errors.New("panic")

// Errors of addresses that show nothing.
var (
	ErrNoPage = Refuse(http.StatusNotFound, "There is no such page", "The address may be mistyped.")
	ErrNoRun  = Refuse(http.StatusNotFound, "There is no such run",
		"The server forgets runs that nobody has looked at for a while, and all runs when it restarts. Run the scenario again: on the virtual clock the same seed gives the same run.")
)

// OfLimit returns the page of a limit that was met, or err if it is no
// limit's.
func OfLimit(err error) error {
	if met := limitPage(err); met != nil {
		return met
	}
	return err
}

// limitPage returns the page of a limit that was met, or nil.
func limitPage(err error) *Error {
	var met interface {
		phrase.Speaker
		Limit() string
		After() time.Duration
	}
	if !errors.As(err, &met) {
		return nil
	}
	if every := (*limit.Error)(nil); errors.As(err, &every) && !every.Met.Own {
		return Explained(http.StatusServiceUnavailable, "No room just now", met)
	}
	return Explained(http.StatusTooManyRequests, "One moment, please", met)
}

// LimitName returns the name of the limit that was met, in metrics and logs; ""
// if err is no limit's.
func LimitName(err error) string {
	var met interface{ Limit() string }
	if !errors.As(err, &met) {
		return ""
	}
	return met.Limit()
}

// Unusable returns the page that says why what was sent cannot be used, if err
// says something to visitors; of a limit that was met OfLimit's.
func Unusable(err error, head phrase.Text) error {
	if met := limitPage(err); met != nil {
		return met
	}
	var why phrase.Speaker
	if !errors.As(err, &why) {
		return fmt.Errorf("site: %w", err)
	}
	return Explained(http.StatusUnprocessableEntity, head, why)
}
