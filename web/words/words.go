// Package words translates the interface. As with gettext, code writes a text
// in English where it uses it, and that text is the key of its translation. A
// language is a folder of translations beside this file, in files named after
// places of the page; the tests find every text a language lacks.
package words

import (
	"cmp"
	"context"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"relock/engine/phrase"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
	"golang.org/x/text/width"
)

// Language is a language of the interface. Numbers among the arguments are
// formatted for it. Equal languages compare equal. It is safe for concurrent
// use.
type Language struct{ *dialect }

// dialect is the data of a language.
type dialect struct {
	tag         language.Tag
	code        string
	name        string
	rightToLeft bool
	read        func() (*texts, error) // once

	onPages   bool     // it is the language as pages say it
	elsewhere *dialect // the other of the two
}

// texts are the texts in a language.
type texts struct {
	said    map[string]string // by their English; nil for English
	scripts map[string]string // texts of the page's scripts
	printer *message.Printer

	beforeMillis, afterMillis string // around a number of milliseconds
}

// English is the language texts are written in, the default, and the fallback
// for missing translations.
var English = func() Language {
	own := &texts{}
	own.speak(message.NewPrinter(language.English))
	return twice(dialect{tag: language.English, code: "en", name: "English", read: func() (*texts, error) { return own, nil }})
}()

// texts are the language's.
func (l Language) texts() *texts {
	all, err := l.read()
	if err != nil {
		panic(err) // they are embedded; other files were read before
	}
	return all
}

// Code returns the language for HTML's lang: "en" or "zh-CN".
func (l Language) Code() string { return l.code }

// Name returns the language's name in itself: "English", "中文".
func (l Language) Name() string { return l.name }

// Direction returns the writing direction for HTML's dir: "ltr" or "rtl".
func (l Language) Direction() string {
	if l.rightToLeft {
		return "rtl"
	}
	return "ltr"
}

// Say translates a text and formats it with its arguments; without arguments it
// is not a format, and a % in it is a %. A text without a translation stays
// English.
func (l Language) Say(text phrase.Text, args ...any) string {
	return l.Written(l.texts().say(text, args...))
}

func (t *texts) say(text phrase.Text, args ...any) string {
	if len(args) == 0 {
		return cmp.Or(t.said[string(text)], string(text))
	}
	return t.printer.Sprintf(string(text), args...)
}

// Each translates several texts.
func (l Language) Each(texts []phrase.Text) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = l.Say(text)
	}
	return out
}

// List joins names: "A", "A and B", "A, B and C".
func (l Language) List(names phrase.Names) string {
	n := len(names)
	if n < 2 {
		return strings.Join(names, "")
	}
	before, last := strings.Join(names[:n-1], l.Say(", ")), names[n-1]
	said := l.Say("%s and %s", before, last)
	between, first := strings.CutPrefix(said, before)
	between, second := strings.CutSuffix(between, last)
	if !first || !second {
		return said
	}
	if r, _ := utf8.DecodeLastRuneInString(before); full(r) {
		between = strings.TrimLeft(between, " ") // which is next to a Latin word
	}
	if r, _ := utf8.DecodeRuneInString(last); full(r) {
		between = strings.TrimRight(between, " ")
	}
	return before + between + last
}

// full reports whether a character, a Han character or a full-width mark, contains its own
// space.
func full(r rune) bool {
	kind := width.LookupRune(r).Kind()
	return kind == width.EastAsianWide || kind == width.EastAsianFullwidth
}

// Clause translates a wording, as a part of a sentence.
func (l Language) Clause(w phrase.Wording) string { return w.Render(l.Say, l.List, l.Duration) }

// Sentence turns a wording, a clause, into a sentence: with a full stop, and a
// capital unless it starts with one of its values.
func (l Language) Sentence(w phrase.Wording) string {
	clause := l.Clause(w)
	if !strings.HasPrefix(string(w.Text), "%") {
		clause = Capital(clause)
	}
	return l.Say("%s.", clause)
}

// Capital returns a clause with a capital at its start.
func Capital(clause string) string {
	first, size := utf8.DecodeRuneInString(clause)
	return string(unicode.ToUpper(first)) + clause[size:]
}

// Explain returns what an error tells a person, and whether it tells anything.
func (l Language) Explain(err error) (sentence string, ok bool) {
	w, ok := phrase.Of(err)
	if !ok {
		return "", false
	}
	return l.Sentence(w), true
}

// Duration formats a duration, or a time since the run began, in milliseconds,
// as exactly as a person can use it: "62 ms", "1,267 ms", "3.2 ms". A whole number of seconds from a minute up is given
// in its two largest units: "4 min 20 s", "2 d"; and where two cannot say it exactly, from
// two hours up as people say it: "about 2 d 7 h", "about 3 years".
func (l Language) Duration(d time.Duration) string {
	d = d.Round(time.Microsecond)
	if d >= time.Minute && d%time.Second == 0 || d >= wordy {
		return l.measured(l.long(d))
	}
	return l.inMillis(l.Millis(d))
}

// Millis formats a duration as a number of milliseconds without the unit: "62",
// "1,267", "3.2", "0.04". From 10 ms on it is rounded to whole ones: what a wall
// clock has beyond them means nothing.
func (l Language) Millis(d time.Duration) string {
	switch size := max(d, -d); {
	case size >= 10*time.Millisecond:
		d = d.Round(time.Millisecond)
	case size >= time.Millisecond:
		d = d.Round(100 * time.Microsecond)
	default:
		d = d.Round(10 * time.Microsecond)
	}
	if d%time.Millisecond == 0 {
		if ms := d.Milliseconds(); 0 <= ms && ms < 1000 { // nothing to group; the most frequent case
			return strconv.FormatInt(ms, 10)
		}
		return l.texts().printer.Sprintf("%d", d.Milliseconds())
	}
	return l.texts().printer.Sprint(number.Decimal(float64(d)/float64(time.Millisecond), number.MaxFractionDigits(3)))
}

// wordy is from where nobody counts minutes or milliseconds.
const wordy = 2 * time.Hour

// long formats a duration in its two largest units.
func (l Language) long(d time.Duration) string {
	const day, year = 24 * time.Hour, 24 * 36525 * time.Hour / 100
	in := func(unit time.Duration) int64 { return int64(d / unit) }
	rest := func(unit, smaller time.Duration) int64 { return int64(d % unit / smaller) }
	switch {
	case d > math.MaxInt64-day: // or longer than durations can be
		return l.Say("over %d years", in(year))
	case d >= 2*year:
		return l.Say("about %d years", int64(d.Round(year)/year))
	case d%day == 0:
		return l.Say("%d d", in(day))
	case d > day && d%time.Hour == 0:
		return l.Say("%d d %d h", in(day), rest(day, time.Hour))
	case d%time.Hour == 0:
		return l.Say("%d h", in(time.Hour))
	case d > time.Hour && d%time.Minute == 0:
		return l.Say("%d h %d min", in(time.Hour), rest(time.Hour, time.Minute))
	case d >= 2*day:
		return l.Say("about %s", l.long(d.Truncate(time.Hour)))
	case d >= wordy && d%time.Minute != 0:
		return l.Say("about %s", l.long(d.Truncate(time.Minute)))
	case d%time.Minute == 0:
		return l.Say("%d min", in(time.Minute))
	default:
		return l.Say("%d min %d s", in(time.Minute), rest(time.Minute, time.Second))
	}
}

// ForScripts returns the translations of the texts in the page's scripts; none
// for English.
func (l Language) ForScripts() map[string]string {
	out := map[string]string{}
	maps.Copy(out, l.texts().scripts)
	return out
}

type contextKey struct{}

// With returns a context for pages in l.
func With(ctx context.Context, l Language) context.Context {
	return context.WithValue(ctx, contextKey{}, l)
}

// From returns the language of a context, English if it has none.
func From(ctx context.Context) Language {
	if l, ok := ctx.Value(contextKey{}).(Language); ok {
		return l
	}
	return English
}
