package words_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/go/packages"
)

// textTypes are the types whose constants are translated.
var textTypes = []string{"relock/engine/phrase.Text"}

// said matches what a script says: say("…").
var said = regexp.MustCompile(`\bsay\(\s*("(?:[^"\\]|\\.)*")`)

// verb matches one of fmt's verbs, with its argument's number where it is
// named.
var verb = regexp.MustCompile(`%(?:\[(\d+)\])?[-+# 0]*\d*(?:\.\d+)?([a-zA-Z%])`)

// TestEverythingIsTranslated fails where a text has no translation, where a
// translation has no text any more, and where the two take other arguments.
func TestEverythingIsTranslated(t *testing.T) {
	inGo, inScripts := textsInGo(t), textsInScripts(t)
	files, err := filepath.Glob("zh/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no translations:", err)
	}
	has := map[string]string{} // text to file
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var texts map[string]string
		if err := yaml.Unmarshal(data, &texts); err != nil {
			t.Fatal(err)
		}
		needed := inGo
		if filepath.Base(name) == "scripts.yaml" {
			needed = inScripts
		}
		for text, translation := range texts {
			has[filepath.Base(name)+"\x00"+text] = translation
			if needed[text] == "" {
				t.Errorf("%s: %q is said nowhere", name, text)
			}
			if a, b := verbs(text), verbs(translation); !slices.Equal(a, b) {
				t.Errorf("%s: %q takes %v, its translation %v", name, text, a, b)
			}
			if strings.TrimSpace(translation) == "" {
				t.Errorf("%s: %q has an empty translation", name, text)
			}
		}
	}
	translated := func(text string, script bool) bool {
		for key := range has {
			file, one, _ := strings.Cut(key, "\x00")
			if one == text && (file == "scripts.yaml") == script {
				return true
			}
		}
		return false
	}
	for _, text := range slices.Sorted(maps.Keys(inGo)) {
		if !translated(text, false) {
			t.Errorf("%s: no translation of %q", inGo[text], text)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(inScripts)) {
		if !translated(text, true) {
			t.Errorf("%s: no translation of %q in zh/scripts.yaml", inScripts[text], text)
		}
	}
}

// textsInGo are all constants of textTypes in the module, and where they are.
func textsInGo(t *testing.T) map[string]string {
	t.Helper()
	list, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
	}, "relock/...")
	if err != nil {
		t.Fatal(err)
	}
	if packages.PrintErrors(list) > 0 {
		t.Fatal("the module does not compile")
	}
	found := map[string]string{}
	for _, p := range list {
		for expr, tv := range p.TypesInfo.Types {
			if tv.Value == nil || tv.Value.Kind() != constant.String || !isText(tv.Type) {
				continue
			}
			if _, named := expr.(*ast.Ident); named {
				continue // its declaration is there as well
			}
			if text := constant.StringVal(tv.Value); text != "" {
				found[text] = p.Fset.Position(expr.Pos()).String()
			}
		}
	}
	return found
}

func isText(typ types.Type) bool {
	named, ok := types.Unalias(typ).(*types.Named)
	return ok && slices.Contains(textTypes, named.String())
}

// textsInScripts are all that the page's scripts say.
func textsInScripts(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../static/js/*.js")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts:", err)
	}
	found := map[string]string{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range said.FindAllSubmatch(data, -1) {
			text, err := strconv.Unquote(string(m[1]))
			if err != nil {
				t.Fatalf("%s: %s: %v", name, m[1], err)
			}
			found[text] = name
		}
	}
	return found
}

// verbs are the arguments that a text takes, in their order.
func verbs(text string) []string {
	var out []string
	next := 1
	for _, m := range verb.FindAllStringSubmatch(text, -1) {
		if m[2] == "%" {
			continue
		}
		n := next
		if m[1] != "" {
			n, _ = strconv.Atoi(m[1])
		}
		out = append(out, fmt.Sprintf("%d%s", n, m[2]))
		next = n + 1
	}
	slices.Sort(out)
	return out
}
