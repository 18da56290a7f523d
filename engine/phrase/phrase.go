// Package phrase holds texts for people before translation: a text in English,
// which is the key of its translation, and its values. Errors, mistakes and
// violations carry it, so that the terminal, the page and the trace say the
// same and nobody parses sentences.
package phrase

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Text is an English text with fmt verbs, and the key of its translation. Every
// constant of this type must be translated.
type Text string

// Names is a list of names, joined as each language joins them.
type Names []string

// String joins them as in English: "A", "A and B", "A and B and C".
func (n Names) String() string { return strings.Join(n, " and ") }

// Wording is a text with its values. It is immutable, and so safe for
// concurrent use.
type Wording struct {
	Text Text // "" if it is just its one argument
	// Args are strings, whole numbers, durations, Names, Wordings and errors.
	Args []any
}

// Say returns the wording of a text with values.
func Say(t Text, args ...any) Wording { return Wording{t, args} }

// Plain returns a wording that is the same in every language.
func Plain(text string) Wording { return Wording{Args: []any{text}} }

// String returns it in English, as errors and traces do.
func (w Wording) String() string {
	return w.Render(func(t Text, args ...any) string {
		if len(args) == 0 {
			return string(t)
		}
		return fmt.Sprintf(string(t), args...)
	}, Names.String, Duration)
}

// Render formats it with a language's texts, lists and durations.
func (w Wording) Render(say func(Text, ...any) string, list func(Names) string, length func(time.Duration) string) string {
	args := make([]any, len(w.Args))
	for i, one := range w.Args {
		switch one := one.(type) {
		case Names:
			args[i] = list(one)
		case time.Duration:
			args[i] = length(one)
		case Wording:
			args[i] = one.Render(say, list, length)
		case Speaker:
			args[i] = one.Says().Render(say, list, length)
		case error:
			args[i] = one
			if w, ok := Of(one); ok && w.String() == one.Error() { // it wraps a Speaker, and adds nothing
				args[i] = w.Render(say, list, length)
			}
		default:
			args[i] = one
		}
	}
	if w.Text == "" {
		return fmt.Sprint(args...)
	}
	return say(w.Text, args...)
}

// Causes returns a wording in which each error is what told says of it.
func (w Wording) Causes(told func(error) string) Wording {
	args := make([]any, len(w.Args))
	for i, one := range w.Args {
		switch one := one.(type) {
		case Wording:
			args[i] = one.Causes(told)
		case error:
			args[i] = told(one)
		default:
			args[i] = one
		}
	}
	return Wording{w.Text, args}
}

// Lines are clauses, a line each.
func Lines[C interface{ Says() Wording }](list []C) Wording {
	var lines Wording
	for i, one := range list {
		if i > 0 {
			lines.Args = append(lines.Args, "\n")
		}
		lines.Args = append(lines.Args, one.Says())
	}
	return lines
}

// IsZero reports whether nothing is said.
func (w Wording) IsZero() bool { return w.Text == "" && len(w.Args) == 0 }

// And returns a sentence and another one after it; just one of them where the other says
// nothing.
func (w Wording) And(more Wording) Wording {
	switch {
	case w.IsZero():
		return more
	case more.IsZero():
		return w
	}
	return Say("%[1]s %[2]s", w, more)
}

// Speaker is an error that can speak any language.
type Speaker interface {
	error
	// Says returns the error as a clause: no capital at the start, no full
	// stop.
	Says() Wording
}

// Of returns what the first Speaker among an error's causes says.
func Of(err error) (Wording, bool) {
	var s Speaker
	if !errors.As(err, &s) {
		return Wording{}, false
	}
	return s.Says(), true
}

// Error is an error that is just a wording: a sentinel, or the one sentence of
// a refusal.
type Error struct{ says Wording }

// New returns an error that says a text, a clause.
func New(t Text, args ...any) *Error { return &Error{Say(t, args...)} }

// Saying returns an error that says a wording.
func Saying(w Wording) *Error { return &Error{w} }

// Error returns the clause in English.
func (e *Error) Error() string { return e.says.String() }

// Says implements [Speaker].
func (e *Error) Says() Wording { return e.says }

// Duration formats d as scenarios do: in milliseconds below a second, and
// without parts that are zero.
func Duration(d time.Duration) string {
	if d < time.Second {
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64) + "ms"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// wire is a wording, or one of its values, on its way to another process.
type wire struct {
	Text Text            `json:"text,omitempty"`
	Args []wire          `json:"args,omitempty"`
	Kind string          `json:"kind,omitempty"` // of a value: what it is, if it is no wording
	Is   json.RawMessage `json:"is,omitempty"`
}

func wired(v any) (wire, error) {
	kind := ""
	switch v := v.(type) {
	case Wording:
		w := wire{Text: v.Text}
		for _, a := range v.Args {
			one, err := wired(a)
			if err != nil {
				return w, err
			}
			w.Args = append(w.Args, one)
		}
		return w, nil
	case Speaker:
		return wired(v.Says())
	case string:
		kind = "string"
	case int:
		kind = "int"
	case Names:
		kind = "names"
	case time.Duration:
		kind = "duration"
	default:
		return wired(fmt.Sprint(v))
	}
	data, err := json.Marshal(v)
	return wire{Kind: kind, Is: data}, err
}

func (w wire) value() (any, error) {
	var err error
	switch w.Kind {
	case "":
		v := Wording{Text: w.Text}
		for _, a := range w.Args {
			one, err := a.value()
			if err != nil {
				return nil, err
			}
			v.Args = append(v.Args, one)
		}
		return v, nil
	case "int":
		v := 0
		err = json.Unmarshal(w.Is, &v)
		return v, err
	case "names":
		var v Names
		err = json.Unmarshal(w.Is, &v)
		return v, err
	case "duration":
		v := time.Duration(0)
		err = json.Unmarshal(w.Is, &v)
		return v, err
	default:
		v := ""
		err = json.Unmarshal(w.Is, &v)
		return v, err
	}
}

// MarshalJSON writes a wording so that another process can say it in any language.
func (w Wording) MarshalJSON() ([]byte, error) {
	one, err := wired(w)
	if err != nil {
		return nil, fmt.Errorf("phrase: %w", err)
	}
	data, err := json.Marshal(one)
	if err != nil {
		return nil, fmt.Errorf("phrase: %w", err)
	}
	return data, nil
}

// UnmarshalJSON reads what MarshalJSON has written.
func (w *Wording) UnmarshalJSON(data []byte) error {
	var one wire
	if err := json.Unmarshal(data, &one); err != nil {
		return fmt.Errorf("phrase: %w", err)
	}
	v, err := one.value()
	if err != nil {
		return fmt.Errorf("phrase: %w", err)
	}
	if is, ok := v.(Wording); ok {
		*w = is
	}
	return nil
}
