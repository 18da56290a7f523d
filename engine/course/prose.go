package course

import (
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"relock/engine/phrase"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	gmtext "github.com/yuin/goldmark/text"
)

// text is a chapter's text in a language.
type text struct {
	file  string
	title string
	intro *part
	items map[string]*itemText
}

// itemText is an item's.
type itemText struct {
	title string
	line  int
	parts map[string]*part // "" is what comes first; others by their heading
}

// part is some Markdown with functions in it.
type part struct {
	file   string
	line   int // of its first
	source string
	made   quoted
}

var (
	itemHeading = regexp.MustCompile(`^## (.+?) \{#([a-z0-9-]+)\}\s*$`)
	partHeading = regexp.MustCompile(`^### ([a-z][a-z0-9-]*)\s*$`)
	// computed, and what is no text: places of links and ids of headings.
	computed = regexp.MustCompile(`\{\{[^}]*\}\}|\]\([^)]*\)|\{#[^}]*\}`)
	typed    = regexp.MustCompile(`(?:^|[^\pL\d-])\d+|\p{Han}\d+`)
)

// text reads a chapter's text in a language.
func (r *reader) text(fsys fs.FS, ch *Chapter, file, code string) {
	t := r.parse(fsys, file)
	if t == nil {
		return
	}
	ch.texts[code] = t
	r.fits(ch, t)
	r.compile(t.intro)
	for _, one := range t.items {
		for _, p := range one.parts {
			r.compile(p)
		}
	}
}

// parse reads a text, nil if there is none in its language: it comes in another.
func (r *reader) parse(fsys fs.FS, file string) *text {
	data, err := readFile(fsys, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		r.mistake(file, 0, "%s", err)
		return nil
	}
	t := &text{file: file, items: map[string]*itemText{}, intro: &part{file: file, line: 2}}
	into := t.intro
	var item *itemText
	for n, line := range strings.Split(string(data), "\n") {
		at := n + 1
		if found := typed.FindString(computed.ReplaceAllString(line, "")); found != "" && !strings.HasPrefix(line, "## ") {
			r.mistake(file, at, "%q is typed; a number comes from a run ({{…}}), or is a word", strings.TrimSpace(found))
		}
		switch {
		case strings.HasPrefix(line, "# "):
			t.title = strings.TrimSpace(line[2:])
			continue
		case strings.HasPrefix(line, "## "):
			m := itemHeading.FindStringSubmatch(line)
			if m == nil || t.items[m[2]] != nil {
				r.mistake(file, at, "a heading of an item is: ## Its title {#its-id}, once")
				continue
			}
			into = &part{file: file, line: at + 1}
			item = &itemText{title: m[1], line: at, parts: map[string]*part{"": into}}
			t.items[m[2]] = item
			continue
		case strings.HasPrefix(line, "### "):
			m := partHeading.FindStringSubmatch(line)
			if m == nil || item == nil || item.parts[m[1]] != nil {
				r.mistake(file, at, "a heading within an item is goal, nudge, after, or the id of an option, once")
				continue
			}
			into = &part{file: file, line: at + 1}
			item.parts[m[1]] = into
			continue
		}
		into.source += line + "\n"
	}
	if t.title == "" {
		r.mistake(file, 1, "the first line is the chapter's title: # …")
	}
	return t
}

// fits holds a text to the items of its chapter.
func (r *reader) fits(ch *Chapter, t *text) {
	known := map[string]*Item{}
	for _, i := range ch.all() {
		known[i.ID] = i
		one := t.items[i.ID]
		if one == nil {
			r.mistake(t.file, 0, "there is no text of the item %q: ## Its title {#%s}", i.ID, i.ID)
			continue
		}
		wants := []string{""}
		switch {
		case ch.check:
			wants = append(wants, "goal")
		case i.Kind != Read:
			wants = append(wants, "goal", "nudge", "after")
		}
		for _, o := range i.Options {
			wants = append(wants, o.ID)
		}
		labels, says := i.headings()
		wants = append(append(wants, labels...), says...)
		for _, w := range wants {
			if p := one.parts[w]; p == nil || strings.TrimSpace(p.source) == "" {
				r.mistake(t.file, one.line, "%s has no text under %q", i.ID, "### "+w)
			}
		}
		for heading, p := range one.parts {
			if !slices.Contains(wants, heading) {
				r.mistake(t.file, p.line-1, "%s has no option %q, and no situation or fault of that id", i.ID, heading)
			}
		}
		r.claimed(t, i)
		if n := wordCount(one.parts[""].source); n > MaxWords {
			r.mistake(t.file, one.line, "%s has %d words before its goal; allowed: %d", i.ID, n, MaxWords)
		}
	}
	for id, one := range t.items {
		if known[id] == nil && len(r.mistakes) == 0 {
			r.mistake(t.file, one.line, "chapter.yaml has no item %q", id)
		}
	}
}

// wordCount counts words; two Han characters are one.
func wordCount(source string) int {
	plain := computed.ReplaceAllString(source, " x ")
	han, others := 0, 0
	for _, word := range strings.Fields(plain) {
		own := 0
		for _, c := range word {
			if unicode.Is(unicode.Han, c) {
				own++
			}
		}
		if han += own; own == 0 {
			others++
		}
	}
	return others + han/2
}

// syntax is the Markdown of the texts.
var syntax = goldmark.New(goldmark.WithExtensions(extension.Table)).Parser()

// compile reads the functions of a part, and refuses HTML in it.
func (r *reader) compile(p *part) {
	made, line, err := readQuoted(p.source, nobody.functions())
	if err != nil {
		r.mistake(p.file, p.line+line, "%s", err)
		return
	}
	p.made = made
	source := []byte(p.source)
	_ = ast.Walk(syntax.Parse(gmtext.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker never fails
		if entering && (n.Kind() == ast.KindRawHTML || n.Kind() == ast.KindHTMLBlock) {
			r.mistake(p.file, p.line, "HTML is not allowed in a text")
		}
		return ast.WalkContinue, nil
	})
}

// markdown is a part with what t tells filled in. It fails with a Mistake.
func (p *part) markdown(t teller) (string, error) {
	if p == nil || p.made == nil {
		return "", nil
	}
	said, line, err := p.made.say(t.functions())
	if err != nil {
		return "", Mistakes{wrongIn(p.file, p.line+line, phrase.Wording{Args: []any{err}})}
	}
	return said, nil
}

// split parts the first paragraph, an option's label, from the rest. Both are
// compiled.
func (p *part) split() (label, rest *part) {
	if p == nil || p.made == nil {
		return nil, nil
	}
	start := len(p.source) - len(strings.TrimLeft(p.source, "\n"))
	end := strings.Index(p.source[start:], "\n\n")
	if end < 0 {
		return p, nil
	}
	end += start
	cut := func(from, to int) *part {
		one := &part{file: p.file, line: p.line + strings.Count(p.source[:from], "\n"), source: p.source[from:to]}
		one.made, _, _ = readQuoted(one.source, nobody.functions()) // the whole was read
		return one
	}
	return cut(start, end), cut(end, len(p.source))
}
