// Package words says the interface in English and in Chinese. A text is
// written in English where it is used, as in gettext, and looked up by that;
// the tests find every one that has no translation.
package words

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"relock/engine/phrase"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/message/catalog"
	"golang.org/x/text/number"
)

//go:embed zh/*.yaml
var translations embed.FS

// forScripts is the file of the texts that the page's scripts say.
const forScripts = "zh/scripts.yaml"

// Language is one of those that the interface speaks. Numbers among the
// arguments are written as that language does. It is safe for concurrent use.
type Language struct {
	tag     language.Tag
	printer *message.Printer
}

var (
	chinese, scripts = load()
	built            = build()

	// English is what texts are written in.
	English = Language{language.English, message.NewPrinter(language.English, message.Catalog(built))}
	// Chinese is zh-CN.
	Chinese = Language{language.SimplifiedChinese, message.NewPrinter(language.SimplifiedChinese, message.Catalog(built))}

	matcher = language.NewMatcher([]language.Tag{language.English, language.SimplifiedChinese})
)

// load reads the translations; what is built in and broken panics.
func load() (all, scripts map[string]string) {
	all = map[string]string{}
	files, err := fs.Glob(translations, "zh/*.yaml")
	if err != nil {
		panic("words: " + err.Error())
	}
	for _, name := range files {
		data, err := translations.ReadFile(name)
		if err != nil {
			panic("words: " + err.Error())
		}
		var texts map[string]string
		if err := yaml.Unmarshal(data, &texts); err != nil {
			panic("words: " + name + ": " + err.Error())
		}
		for text, translation := range texts {
			if had, twice := all[text]; twice && had != translation {
				panic(fmt.Sprintf("words: %q is translated in two ways", text))
			}
		}
		maps.Copy(all, texts)
		if name == forScripts {
			scripts = texts
		}
	}
	return all, scripts
}

func build() catalog.Catalog {
	b := catalog.NewBuilder(catalog.Fallback(language.English))
	for text, translation := range chinese {
		if err := b.SetString(language.SimplifiedChinese, text, translation); err != nil {
			panic(fmt.Sprintf("words: %q: %v", text, err))
		}
	}
	return b
}

// Match returns the language for what a person chose, each as in an
// Accept-Language header: the first that names one of ours counts. Without
// any it is English.
func Match(chosen ...string) Language {
	for _, c := range chosen {
		tags, _, err := language.ParseAcceptLanguage(c)
		if err != nil || len(tags) == 0 {
			continue
		}
		if _, index, confidence := matcher.Match(tags...); confidence > language.No {
			if index == 1 {
				return Chinese
			}
			return English
		}
	}
	return English
}

// Code is the language as in HTML's lang: "en" or "zh-CN".
func (l Language) Code() string {
	if l.tag == language.SimplifiedChinese {
		return "zh-CN"
	}
	return "en"
}

// Say says a text with its arguments. A text without a translation is said
// in English.
func (l Language) Say(text phrase.Text, args ...any) string {
	if len(args) == 0 && !strings.Contains(string(text), "%") {
		if l.tag == language.SimplifiedChinese {
			return cmp.Or(chinese[string(text)], string(text))
		}
		return string(text)
	}
	return l.printer.Sprintf(string(text), args...)
}

// List joins names: "A", "A and B", "A, B and C".
func (l Language) List(names phrase.Names) string {
	n := len(names)
	if n < 2 {
		return strings.Join(names, "")
	}
	return l.Say("%s and %s", strings.Join(names[:n-1], l.Say(", ")), names[n-1])
}

// Clause says a wording as a part of a sentence.
func (l Language) Clause(w phrase.Wording) string { return w.Render(l.Say, l.List, l.Duration) }

// Sentence says a wording, a clause, as a sentence: with a capital, unless it
// begins with what it names, and a full stop.
func (l Language) Sentence(w phrase.Wording) string {
	clause := l.Clause(w)
	if !strings.HasPrefix(string(w.Text), "%") {
		first, size := utf8.DecodeRuneInString(clause)
		clause = string(unicode.ToUpper(first)) + clause[size:]
	}
	return l.Say("%s.", clause)
}

// Explain says what an error tells a person, and whether it tells one anything.
func (l Language) Explain(err error) (sentence string, ok bool) {
	w, ok := phrase.Of(err)
	if !ok {
		return "", false
	}
	return l.Sentence(w), true
}

// Pick returns the text for l where both are written down, as in lessons.
func (l Language) Pick(english, chinese string) string {
	if l.tag == language.SimplifiedChinese {
		return chinese
	}
	return english
}

// Duration says a length of time, or an instant since the run began, in
// milliseconds: "62 ms", "1,266.667 ms". A whole number of seconds from a
// minute on is said in two larger units: "4 min 20 s", "2 d".
func (l Language) Duration(d time.Duration) string {
	d = d.Round(time.Microsecond)
	if d >= time.Minute && d%time.Second == 0 {
		return l.long(d)
	}
	return l.Millis(d) + " ms"
}

// Millis is a length of time as a number of milliseconds, without the unit:
// "62", "1,266.667".
func (l Language) Millis(d time.Duration) string {
	if d%time.Millisecond == 0 {
		if ms := d.Milliseconds(); 0 <= ms && ms < 1000 { // nothing to group, and most of what is said
			return strconv.FormatInt(ms, 10)
		}
		return l.printer.Sprintf("%d", d.Milliseconds())
	}
	return l.printer.Sprint(number.Decimal(float64(d)/float64(time.Millisecond), number.MaxFractionDigits(3)))
}

// long says whole seconds in the largest two units that are enough.
func (l Language) long(d time.Duration) string {
	const day = 24 * time.Hour
	in := func(unit time.Duration) int64 { return int64(d / unit) }
	rest := func(unit, smaller time.Duration) int64 { return int64(d % unit / smaller) }
	switch {
	case d%day == 0:
		return l.Say("%d d", in(day))
	case d > day && d%time.Hour == 0:
		return l.Say("%d d %d h", in(day), rest(day, time.Hour))
	case d%time.Hour == 0:
		return l.Say("%d h", in(time.Hour))
	case d > time.Hour && d%time.Minute == 0:
		return l.Say("%d h %d min", in(time.Hour), rest(time.Hour, time.Minute))
	case d%time.Minute == 0:
		return l.Say("%d min", in(time.Minute))
	default:
		return l.Say("%d min %d s", in(time.Minute), rest(time.Minute, time.Second))
	}
}

// ForScripts are the translations of what the page's scripts say, by text;
// none for English.
func (l Language) ForScripts() map[string]string {
	if l.tag == language.SimplifiedChinese {
		return maps.Clone(scripts)
	}
	return map[string]string{}
}

type contextKey struct{}

// With returns a context for pages in l.
func With(ctx context.Context, l Language) context.Context {
	return context.WithValue(ctx, contextKey{}, l)
}

// From returns the language of a context: English where none was set.
func From(ctx context.Context) Language {
	if l, ok := ctx.Value(contextKey{}).(Language); ok {
		return l
	}
	return English
}
