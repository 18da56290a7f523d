package words_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestEachNounHasOneTerm reads the texts that terms.yaml names: each calls a notion by its
// one word. Texts that still owe a word must owe it: what is clean is held from then on.
func TestEachNounHasOneTerm(t *testing.T) {
	var book struct {
		Terms []struct {
			Noun, Term, Never string
			Except, Owing     []string
		}
		Texts []string
	}
	data, err := os.ReadFile("terms.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &book); err != nil {
		t.Fatal(err)
	}
	if len(book.Terms) < 25 {
		t.Fatalf("only %d terms", len(book.Terms))
	}
	for _, pattern := range book.Texts {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no texts: %v", pattern, err)
		}
		for _, one := range book.Terms {
			owes, found := slices.Contains(one.Owing, pattern), 0
			never := regexp.MustCompile(one.Never)
			for _, name := range files {
				for _, text := range textsIn(t, name) {
					rest := text
					for _, may := range one.Except {
						rest = strings.ReplaceAll(rest, may, "")
					}
					if word := never.FindString(rest); word != "" {
						if found++; !owes {
							t.Errorf("%s: %s is %s, not %s: %s", name, one.Noun, one.Term, word, text)
						}
					}
				}
			}
			if owes && found == 0 {
				t.Errorf("%s owes %s no more: take it off its list", pattern, one.Term)
			}
		}
	}
}

// textsIn are the Chinese texts of a file: translations, those of a lesson in both languages,
// or lines.
func textsIn(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(name) != ".yaml" {
		return strings.Split(string(data), "\n")
	}
	var texts []string
	var said map[string]string
	if err := yaml.Unmarshal(data, &said); err != nil {
		var lesson any
		if err := yaml.Unmarshal(data, &lesson); err != nil {
			t.Fatal(err)
		}
		return chineseIn(lesson)
	}
	for _, text := range said {
		texts = append(texts, text)
	}
	return texts
}

// chineseIn are the Chinese texts below a node of a lesson's file.
func chineseIn(node any) (texts []string) {
	switch below := node.(type) {
	case map[string]any:
		for key, value := range below {
			if text, ok := value.(string); ok && key == "zh-CN" {
				texts = append(texts, text)
			} else {
				texts = append(texts, chineseIn(value)...)
			}
		}
	case []any:
		for _, value := range below {
			texts = append(texts, chineseIn(value)...)
		}
	}
	return texts
}
