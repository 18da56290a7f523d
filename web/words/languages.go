package words

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"relock/engine/phrase"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/message/catalog"
)

//go:embed */*.yaml
var folders embed.FS

// The two files of a language's folder that are not only texts.
const (
	aboutFile   = "language.yaml" // the language's own name, and which way it is written
	scriptsFile = "scripts.yaml"  // texts of the page's scripts, sent to the page
)

// Languages are those that can be chosen from. They are immutable, so that
// they are safe for concurrent use.
type Languages struct {
	list    []Language
	matcher language.Matcher
}

// builtIn are English and the folders beside this file.
var builtIn = func() *Languages {
	l, err := Read(folders)
	if err != nil {
		panic(err) // it is embedded
	}
	return l
}()

// BuiltIn are the languages that come with the program.
func BuiltIn() *Languages { return builtIn }

// All are the languages that come with the program, as [Languages.All] lists
// them.
func All() []Language { return builtIn.All() }

// Match chooses from the languages that come with the program, as
// [Languages.Match] does.
func Match(chosen ...string) Language { return builtIn.Match(chosen...) }

// Read returns English and a language for each folder of texts at the top of
// fsys. A folder is named after its language's tag ("zh-CN") and holds
// language.yaml and texts: any number of files, each text's English to its
// translation.
func Read(fsys fs.FS) (*Languages, error) {
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

// All lists the languages: English, and the others by tag. The caller must not
// change it.
func (s *Languages) All() []Language { return s.list }

// Match returns the language for what a person chose, each as in an
// Accept-Language header: the first that names one of ours, or one whose
// readers read it (Unicode's CLDR knows), counts. Without any it is English.
func (s *Languages) Match(chosen ...string) Language {
	if l, ok := s.Find(chosen...); ok {
		return l
	}
	return English
}

// Find is Match, and tells whether there was one.
func (s *Languages) Find(chosen ...string) (found Language, ok bool) {
	for _, c := range chosen {
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

// about is what language.yaml says.
type about struct {
	Name      string `yaml:"name"`      // in the language itself: "中文"
	Direction string `yaml:"direction"` // "ltr", which "" stands for, or "rtl"
}

// readLanguage reads the folder of that name.
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
	d := &dialect{tag: tag, code: folder, name: is.Name, rightToLeft: is.Direction == "rtl", texts: map[string]string{}}
	files, err := fs.Glob(fsys, folder+"/*.yaml")
	if err != nil {
		return Language{}, err
	}
	built := catalog.NewBuilder(catalog.Fallback(language.English))
	for _, name := range files {
		if path.Base(name) == aboutFile {
			continue
		}
		var texts map[string]string
		if err := readYAML(fsys, name, &texts); err != nil {
			return Language{}, err
		}
		if path.Base(name) == scriptsFile {
			d.scripts = texts
		}
		for text, translation := range texts {
			if had, twice := d.texts[text]; twice && had != translation {
				return Language{}, fmt.Errorf("%q is translated in two ways", text)
			}
			d.texts[text] = translation
			if err := built.SetString(tag, text, translation); err != nil {
				return Language{}, fmt.Errorf("%q: %w", text, err)
			}
		}
	}
	d.printer = message.NewPrinter(tag, message.Catalog(built))
	return d.language(), nil
}

// readYAML reads a file whose fields are all known.
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

// language is d once its texts are there.
func (d *dialect) language() Language {
	l := Language{d}
	millis := l.Say(inMillis)
	d.beforeMillis, d.afterMillis, _ = strings.Cut(millis, "%s")
	return l
}

// inMillis is a length of time in milliseconds.
const inMillis phrase.Text = "%s ms"
