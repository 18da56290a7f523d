package strict_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"relock/engine/strict"

	"golang.org/x/tools/go/packages"
)

// complaint is how package yaml begins a sentence about a text that it cannot scan or parse.
var complaint = regexp.MustCompile(`^(did not|could not|found|block sequence|mapping (keys|values)|control|map merge|document contains|incomplete|invalid [lUt]|unexpected low)`)

// Every message of package yaml becomes a phrase: none is passed on as it is.
func TestEverythingOfYAMLIsTold(t *testing.T) {
	list, err := packages.Load(&packages.Config{Mode: packages.NeedFiles}, "go.yaml.in/yaml/v3")
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	unknown, _ := unreadText("whatever it says next year")
	seen := 0
	for _, name := range list[0].GoFiles {
		switch filepath.Base(name) {
		case "scannerc.go", "parserc.go", "readerc.go", "decode.go":
		default:
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil || !complaint.MatchString(text) || text == "invalid character sequence" {
				return true
			}
			seen++
			if says, _ := unreadText(text); says == unknown {
				t.Errorf("%s: %q is not told", filepath.Base(name), text)
			}
			return true
		})
	}
	if seen < 50 {
		t.Errorf("only %d sentences were read", seen)
	}
}

func unreadText(text string) (says string, line int) {
	why := strict.WhyUnread(errors.New("yaml: line 7: " + text))[0]
	return why.What.String(), why.Line
}
