package words_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"relock/engine/phrase"
	"relock/web/words"
)

// folder is a file system with one language's folder in it.
func folder(tag string, files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[tag+"/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func TestReadALanguage(t *testing.T) {
	all, err := words.Read(folder("ar", map[string]string{
		"language.yaml": "name: العربية\ndirection: rtl",
		"frame.yaml":    "Locks: أقفال\n\"%s ms\": \"%s م.ث\"\n\"%d of %s\": \"%[2]s: %[1]d\"",
		"scripts.yaml":  "Loading: تحميل",
	}))
	if err != nil {
		t.Fatal(err)
	}
	l, ok := all.Find("ar-EG,en;q=0.5")
	if !ok || len(all.All()) != 2 || all.All()[0] != words.English || l != all.All()[1] {
		t.Fatalf("%d languages, found %v", len(all.All()), ok)
	}
	if l.Code() != "ar" || l.Name() != "العربية" || l.Direction() != "rtl" || words.English.Direction() != "ltr" {
		t.Errorf("%s, %s, %s", l.Code(), l.Name(), l.Direction())
	}
	if got := l.Say("Locks"); got != "أقفال" {
		t.Errorf("said %q", got)
	}
	if got := l.Say("%d of %s", 3, "x"); !strings.HasPrefix(got, "x: ") {
		t.Errorf("said %q", got)
	}
	if got := l.Say("not translated"); got != "not translated" {
		t.Errorf("without a translation %q", got)
	}
	if got := l.Duration(62 * time.Millisecond); !strings.HasSuffix(got, " م.ث") {
		t.Errorf("62 ms are %q", got)
	}
	if got := l.ForScripts(); len(got) != 1 || got["Loading"] != "تحميل" {
		t.Errorf("for scripts: %v", got)
	}
	if _, ok := all.Find("de"); ok {
		t.Error("German is found")
	}
	if got := all.Match("zh"); got != words.English {
		t.Errorf("Chinese is %s, which is not here", got.Code())
	}
}

func TestBadFoldersAreRefused(t *testing.T) {
	const named = "name: Some"
	for _, c := range []struct {
		name  string
		files fstest.MapFS
		want  string
	}{
		{"no tag", folder("not a tag", map[string]string{"language.yaml": named}), "tag"},
		{"a tag in another spelling", folder("de-de", map[string]string{"language.yaml": named}), "de-DE"},
		{"English twice", folder("en", map[string]string{"language.yaml": named}), "twice"},
		{"nothing about it", folder("de", map[string]string{"frame.yaml": "a: b"}), "language.yaml"},
		{"no name", folder("de", map[string]string{"language.yaml": "direction: ltr"}), "a name"},
		{"no direction", folder("de", map[string]string{"language.yaml": named + "\ndirection: up"}), "ltr or rtl"},
		{"an unknown field", folder("de", map[string]string{"language.yaml": named + "\ncolour: red"}), "colour"},
		{"no texts", folder("de", map[string]string{"language.yaml": named, "frame.yaml": "[1]"}), "frame.yaml"},
		{"two translations", folder("de", map[string]string{"language.yaml": named, "frame.yaml": "Locks: a", "home.yaml": "Locks: b"}), "two ways"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := words.Read(c.files); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// A text without arguments is no format: a lesson may speak of 5 % of something.
func TestPerCent(t *testing.T) {
	for _, l := range words.All() {
		if got := l.Say("5 % of it"); got != "5 % of it" {
			t.Errorf("%s: %q", l.Code(), got)
		}
		if got := l.Clause(phrase.Say("50%")); got != "50%" {
			t.Errorf("%s: %q", l.Code(), got)
		}
	}
}

func TestAllLanguagesHaveNames(t *testing.T) {
	var codes, names []string
	for _, l := range words.All() {
		codes, names = append(codes, l.Code()), append(names, l.Name())
	}
	if codes[0] != "en" || !slices.Contains(codes, "zh-CN") {
		t.Errorf("languages %v", codes)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(codes) || slices.Contains(names, "") {
		t.Errorf("the names of %v are %v", codes, names)
	}
}
