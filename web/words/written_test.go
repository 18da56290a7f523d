package words_test

import (
	"path/filepath"
	"regexp"
	"testing"
)

// unwritten are what nobody writes in Chinese, each with what is wrong.
var unwritten = []struct {
	what    string
	pattern *regexp.Regexp
}{
	{"two spaces", regexp.MustCompile(`\S  `)}, // at the start of a line they are its indent
	{"a half-width mark at a Chinese word", regexp.MustCompile(`\p{Han}[,;:!?.(]|[,;:!?)]\p{Han}`)},
	{"a space at a full-width mark", regexp.MustCompile(` [，。：；、？！（）]|[，。：；、？！（] `)},
	{"no space between a Chinese and a Latin word", regexp.MustCompile(`\p{Han}[A-Za-z0-9]|[A-Za-z0-9]\p{Han}`)},
	{"no space between a Chinese word and an argument", regexp.MustCompile(`\p{Han}%|%(\[\d\])?[sdq]\p{Han}`)},
	{"three full stops", regexp.MustCompile(`\.\.\.`)},
	{"straight quotes around a Chinese word", regexp.MustCompile(`"\p{Han}|\p{Han}"`)},
}

// TestChineseIsWrittenAlike reads every translation, and the documents, as a proofreader does.
func TestChineseIsWrittenAlike(t *testing.T) {
	// The text there is Chinese, too.
	allowed := map[string]bool{"删掉%s": true, "%s这里先换成另一个场景，从头开始。": true}
	files, err := filepath.Glob("zh-CN/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no translations:", err)
	}
	documents, err := filepath.Glob(chineseDocuments + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, documents...)
	read := 0
	for _, name := range files {
		if base := filepath.Base(name); base == "comments.yaml" || base == "quoted.yaml" {
			continue // beside code, with pieces of it: {1, 0}; others' sentences
		}
		texts := textsIn(t, name)
		if filepath.Ext(name) == ".md" {
			texts = proseOf(t, name)
		}
		for _, text := range texts {
			read++
			for _, u := range unwritten {
				if found := u.pattern.FindString(text); found != "" && !allowed[text] {
					t.Errorf("%s: %s, %q: %s", name, u.what, found, text)
				}
			}
		}
	}
	if read < 500 {
		t.Errorf("only %d texts were read", read)
	}
}
