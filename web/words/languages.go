package words

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"relock/engine/phrase"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/message/catalog"
)

//go:embed */*.yaml
var folders embed.FS

// The two files in a language's folder that are not just texts.
const (
	aboutFile   = "language.yaml" // the language's own name and its writing direction
	scriptsFile = "scripts.yaml"  // texts of the page's scripts, sent to the page
)

// Languages are the languages to choose from. They are immutable, and so safe
// for concurrent use.
type Languages struct {
	list    []Language
	matcher language.Matcher
}

// builtIn are English and the folders beside this file. Their texts are read when
// somebody first reads one: a program that starts needs none.
var builtIn = sync.OnceValue(func() *Languages {
	l, err := list(folders)
	if err != nil {
		panic(err) // it is embedded
	}
	return l
})

// BuiltIn returns the languages that come with the program.
func BuiltIn() *Languages { return builtIn() }

// All returns the languages that come with the program, as [Languages.All]
// does.
func All() []Language { return builtIn().All() }

// Match chooses among the languages that come with the program, as
// [Languages.Match] does.
func Match(chosen ...string) Language { return builtIn().Match(chosen...) }

// Read returns English plus a language for each folder of texts at the top of
// fsys. A folder is named by its language's tag ("zh-CN") and holds
// language.yaml and any number of files that map English texts to their
// translations.
func Read(fsys fs.FS) (*Languages, error) {
	s, err := list(fsys)
	if err != nil {
		return nil, err
	}
	for _, l := range s.list {
		if _, err := l.read(); err != nil {
			return nil, fmt.Errorf("words: %s: %w", l.code, err)
		}
	}
	return s, nil
}

// list is Read, but leaves the texts to be read later.
func list(fsys fs.FS) (*Languages, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("words: %w", err)
	}
	s := &Languages{list: []Language{English}}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		l, err := readLanguage(fsys, e.Name())
		if err != nil {
			return nil, fmt.Errorf("words: %s: %w", e.Name(), err)
		}
		if l.code == English.code {
			return nil, fmt.Errorf("words: %s is there twice: texts are written in it", l.code)
		}
		s.list = append(s.list, l)
	}
	tags := make([]language.Tag, len(s.list))
	for i, l := range s.list {
		tags[i] = l.tag
	}
	s.matcher = language.NewMatcher(tags)
	return s, nil
}

// All returns the languages: English, then the others by tag. The caller must
// not change the slice.
func (s *Languages) All() []Language { return s.list }

// Match returns the language for a person's choices, each written as in an
// Accept-Language header. The first that names one of ours, or a language whose
// readers can read one of ours (as Unicode's CLDR has it), counts. The default
// is English.
func (s *Languages) Match(chosen ...string) Language {
	if l, ok := s.Find(chosen...); ok {
		return l
	}
	return English
}

// Find is Match, and reports whether any choice matched.
func (s *Languages) Find(chosen ...string) (found Language, ok bool) {
	for _, c := range chosen {
		if i := slices.IndexFunc(s.list, func(l Language) bool { return l.code == c }); i >= 0 {
			return s.list[i], true // as pages and rooms name it: nothing is to be parsed
		}
		tags, _, err := language.ParseAcceptLanguage(c)
		if err != nil || len(tags) == 0 {
			continue
		}
		if _, i, confidence := s.matcher.Match(tags...); confidence > language.No {
			return s.list[i], true
		}
	}
	return Language{}, false
}

// about is the content of language.yaml.
type about struct {
	Name      string `yaml:"name"`      // in the language itself: "中文"
	Direction string `yaml:"direction"` // "ltr" (the default) or "rtl"
}

// readLanguage reads the folder with a name, but for its texts.
func readLanguage(fsys fs.FS, folder string) (Language, error) {
	tag, err := language.Parse(folder)
	if err != nil {
		return Language{}, fmt.Errorf("the folder's name is no language's tag: %w", err)
	}
	if tag.String() != folder {
		return Language{}, fmt.Errorf("the language's tag is written %s", tag)
	}
	var is about
	if err := readYAML(fsys, path.Join(folder, aboutFile), &is); err != nil {
		return Language{}, err
	}
	if is.Name == "" || is.Direction != "" && is.Direction != "ltr" && is.Direction != "rtl" {
		return Language{}, fmt.Errorf("%s: a name is needed, and a direction is ltr or rtl", aboutFile)
	}
	return twice(dialect{
		tag: tag, code: folder, name: is.Name, rightToLeft: is.Direction == "rtl",
		read: sync.OnceValues(func() (*texts, error) { return readTexts(fsys, folder, tag) }),
	}), nil
}

// readTexts reads the texts in a folder.
func readTexts(fsys fs.FS, folder string, tag language.Tag) (*texts, error) {
	files, err := fs.Glob(fsys, folder+"/*.yaml")
	if err != nil {
		return nil, err
	}
	all := &texts{said: map[string]string{}}
	built := catalog.NewBuilder(catalog.Fallback(language.English))
	for _, name := range files {
		if path.Base(name) == aboutFile {
			continue
		}
		var some map[string]string
		if err := readYAML(fsys, name, &some); err != nil {
			return nil, err
		}
		if path.Base(name) == scriptsFile {
			all.scripts = some
		}
		for text, translation := range some {
			if had, twice := all.said[text]; twice && had != translation {
				return nil, fmt.Errorf("%q is translated in two ways", text)
			}
			all.said[text] = translation
			if err := built.SetString(tag, text, translation); err != nil {
				return nil, fmt.Errorf("%q: %w", text, err)
			}
		}
	}
	all.speak(message.NewPrinter(tag, message.Catalog(built)))
	return all, nil
}

// readYAML reads a file and rejects unknown fields.
func readYAML(fsys fs.FS, name string, into any) error {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", path.Base(name), err)
	}
	return nil
}

// speak has texts said by a printer.
func (t *texts) speak(p *message.Printer) {
	t.printer = p
	t.beforeMillis, t.afterMillis, _ = strings.Cut(t.say(inMillis), "%s")
}

// inMillis is a duration in milliseconds.
const inMillis phrase.Text = "%s ms"
