package words_test

import (
	"cmp"
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"relock/engine/phrase"
	"relock/web/words"
)

var translated = flag.Bool("translated", false, "write into lessons/docs/zh-CN of which English each section is the translation now")

const (
	documents        = "../../lessons/docs"
	chineseDocuments = documents + "/zh-CN"
)

// section is a heading of a document and what is below it, up to the next heading.
type section struct {
	heading string // with its number signs
	text    string // below the heading
	of      string // in a Chinese document: the English that it was made from
}

func (s section) level() int { return len(s.heading) - len(strings.TrimLeft(s.heading, "#")) }

func (s section) sum() string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(s.heading+"\n"+strings.TrimSpace(s.text))))[:12]
}

var (
	madeFrom = regexp.MustCompile(`^<!-- English ([0-9a-f]{12}) -->$`)
	linked   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	spanned  = regexp.MustCompile("`[^`]+`")
	quoted   = regexp.MustCompile(`"([^"]+)"`)
	number   = regexp.MustCompile(`[0-9]+([,.][0-9]+)*`)
	remark   = regexp.MustCompile(`(^|\s+)(#|//)\s.*$`)
	bold     = regexp.MustCompile(`(.?)\*\*(.+?)\*\*(.?)`)
	unbold   = regexp.MustCompile(`^\p{Han}\*\*[\p{P}\x60]|[\p{P}\x60]\*\*\p{Han}$`) // Markdown takes these for stars
	item     = regexp.MustCompile(`^(- |\||[0-9]+\. )`)
)

// sections are those of a Markdown file; the first is what stands before all headings.
func sections(t *testing.T, name string) []section {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	all, fenced := []section{{}}, false
	for line := range strings.Lines(string(data)) {
		last, bare := &all[len(all)-1], strings.TrimSpace(line)
		if strings.HasPrefix(bare, "```") {
			fenced = !fenced
		}
		switch of := madeFrom.FindStringSubmatch(bare); {
		case !fenced && strings.HasPrefix(line, "#"):
			all = append(all, section{heading: bare})
		case of != nil:
			last.of = of[1]
		default:
			last.text += line
		}
	}
	return all
}

// TestDocumentsInChineseAreAsNewAsTheEnglish names each section whose English has changed
// since it was translated, and what the two do not have in common: code, commands, figures,
// rows, links, and what buttons are called.
func TestDocumentsInChineseAreAsNewAsTheEnglish(t *testing.T) {
	zh, ok := words.BuiltIn().Find("zh-CN")
	if !ok {
		t.Fatal("no Chinese")
	}
	for _, name := range []string{"README", "USE", "LAB", "SCENARIOS", "TEACH", "MYLOCK", "OPERATE", "WORK"} {
		here, there := filepath.Join(chineseDocuments, name+".md"), filepath.Join(documents, name+".md")
		if name == "README" {
			there = "../../README.md"
		}
		chinese, english := sections(t, here), sections(t, there)
		if len(chinese) != len(english) {
			t.Errorf("%s has %d headings, %s has %d", here, len(chinese)-1, there, len(english)-1)
			continue
		}
		for i, from := range english {
			into := chinese[i]
			if i == 0 {
				continue // the line that leads from one language to the other
			}
			where := fmt.Sprintf("%s, %q (%s, %q)", here, into.heading, there, from.heading)
			if *translated {
				chinese[i].of = from.sum()
			} else if into.of != from.sum() {
				t.Errorf("%s: the English has changed since it was translated: it was %s and is %s. Translate it, then go test ./web/words -run DocumentsInChinese -translated",
					where, cmp.Or(into.of, "never noted"), from.sum())
			}
			if into.level() != from.level() {
				t.Errorf("%s: levels %d and %d", where, into.level(), from.level())
			}
			for _, part := range bold.FindAllString(into.text, -1) {
				if unbold.MatchString(part) {
					t.Errorf("%s: these stars stay stars: %s", where, part)
				}
			}
			said, _ := apart(from.text)
			for _, label := range quoted.FindAllStringSubmatch(spanned.ReplaceAllString(strings.Join(said, " "), ""), -1) {
				if says := zh.Say(phrase.Text(label[1])); says != label[1] && !strings.Contains(into.text, "“"+says+"”") {
					t.Errorf("%s: %q is “%s” on the page", where, label[1], says)
				}
			}
			one, other := measured(from.text), measured(into.text)
			for _, what := range slices.Sorted(maps.Keys(one)) {
				if a, b := one[what], other[what]; !slices.Equal(a, b) {
					t.Errorf("%s: %s: only the English has %q, only the Chinese %q", where, what, without(a, b), without(b, a))
				}
			}
		}
		if *translated {
			write(t, here, chinese)
		}
	}
}

// apart are the lines of a text, and those of its blocks of code.
func apart(text string) (prose, code []string) {
	fenced := false
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case fenced:
			code = append(code, line)
		default:
			prose = append(prose, line)
		}
	}
	return prose, code
}

// measured is what a translation keeps of a text.
func measured(text string) map[string][]string {
	lines, code := apart(text)
	rows := 0
	for _, line := range lines {
		if item.MatchString(line) {
			rows++
		}
	}
	for i, line := range code {
		code[i] = strings.TrimSpace(remark.ReplaceAllString(line, ""))
	}
	prose := strings.Join(lines, " ")
	links := len(linked.FindAllString(prose, -1))
	prose = linked.ReplaceAllString(prose, "]")
	return map[string][]string{
		"commands":            code,
		"list items and rows": {fmt.Sprint(rows)},
		"links":               {fmt.Sprint(links)},
		"code":                set(spanned.FindAllString(prose, -1)),
		"figures":             set(number.FindAllString(spanned.ReplaceAllString(prose, ""), -1)),
	}
}

// proseOf are the lines and the cells of a document without its code, each piece of which is
// a Latin word.
func proseOf(t *testing.T, name string) (texts []string) {
	t.Helper()
	for _, s := range sections(t, name) {
		lines, _ := apart(s.heading + "\n" + s.text)
		for _, line := range lines {
			line = linked.ReplaceAllString(spanned.ReplaceAllString(line, "code"), "]")
			for cell := range strings.SplitSeq(line, "|") {
				texts = append(texts, strings.TrimRight(cell, " "))
			}
		}
	}
	return texts
}

func set(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}

func without(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(others, one) })
}

func write(t *testing.T, name string, all []section) {
	t.Helper()
	text := all[0].text
	for _, s := range all[1:] {
		text += s.heading + "\n<!-- English " + s.of + " -->\n" + s.text
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestLinksBetweenDocumentsLead follows each link of a document to a file or a heading here,
// and holds the Chinese ones to their own language.
func TestLinksBetweenDocumentsLead(t *testing.T) {
	names := []string{"../../README.md"}
	for _, pattern := range []string{"../../.github/*.md", documents + "/*.md", chineseDocuments + "/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) < 1 {
			t.Fatalf("%s: %d documents: %v", pattern, len(found), err)
		}
		names = append(names, found...)
	}
	anchors := map[string][]string{}
	for _, name := range names {
		for _, s := range sections(t, name) {
			anchors[name] = append(anchors[name], anchor(s.heading))
		}
	}
	for _, name := range names {
		for i, s := range sections(t, name) {
			for _, to := range linked.FindAllStringSubmatch(s.text, -1) {
				if strings.Contains(to[1], "://") {
					continue
				}
				file, at, _ := strings.Cut(to[1], "#")
				if file = filepath.Join(filepath.Dir(name), file); strings.HasPrefix(to[1], "#") {
					file = name
				}
				if _, err := os.Stat(file); err != nil {
					t.Errorf("%s, %q: %s leads nowhere", name, s.heading, to[1])
				} else if at != "" && !slices.Contains(anchors[file], at) {
					t.Errorf("%s, %q: %s: no such heading", name, s.heading, to[1])
				}
				own := filepath.Join(chineseDocuments, filepath.Base(file))
				if i > 0 && filepath.Dir(name) == filepath.Clean(chineseDocuments) && file != own && filepath.Ext(file) == ".md" && anchors[own] != nil {
					t.Errorf("%s, %q: %s is here in Chinese", name, s.heading, to[1])
				}
			}
		}
	}
	first, _, _ := strings.Cut(sections(t, "../../README.md")[0].text, "\n")
	if !strings.Contains(first, "](lessons/docs/zh-CN/README.md)") {
		t.Errorf("README.md begins with %q, which does not lead to the Chinese", first)
	}
}

// anchor is what GitHub makes of a heading for links to it.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsNumber(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(strings.TrimLeft(heading, "#")))
}
