package words_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// terms are the nouns of the field in Chinese: one for each. What else they are
// called elsewhere is not written here.
var terms = []struct {
	noun, term string
	never      *regexp.Regexp
}{
	{"owner, holder", "持有者", regexp.MustCompile(`主人`)},
	{"reply", "响应", regexp.MustCompile(`答复|回复`)},
	{"replica", "从节点", regexp.MustCompile(`副本(接手|顶替)|切到副本|复制给副本|备机`)},
	{"master", "主节点", regexp.MustCompile(`主库|主服务器`)},
	{"lost update", "丢失更新", regexp.MustCompile(`更新丢失`)},
	{"orphan", "孤儿键", regexp.MustCompile(`没人要的键|遗留的键`)},
	{"fencing token", "防护令牌", regexp.MustCompile(`^fencing token|[^（]fencing token|[^译]栅栏令牌|^栅栏令牌`)}, // its other names once, in the glossary
	{"renew", "续期", regexp.MustCompile(`续约`)},
	{"lease", "租约", regexp.MustCompile(`租期`)},
	{"belief", "认知", regexp.MustCompile(`信念`)},
	{"atomic", "原子", regexp.MustCompile(`不可分割`)},
	{"host of a room", "主持人", regexp.MustCompile(`房主`)},
}

// TestEachNounHasOneTerm reads every Chinese text, those of the course, too.
func TestEachNounHasOneTerm(t *testing.T) {
	files, err := filepath.Glob("zh-CN/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	course, err := filepath.Glob("../../lessons/course/*/zh.md")
	if err != nil || len(files) == 0 || len(course) == 0 {
		t.Fatal("no texts:", err)
	}
	for _, name := range append(files, course...) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(data), "\n")
		if filepath.Ext(name) == ".yaml" {
			var texts map[string]string
			if err := yaml.Unmarshal(data, &texts); err != nil {
				t.Fatal(err)
			}
			lines = nil
			for _, text := range texts {
				lines = append(lines, text)
			}
		}
		for _, line := range lines {
			for _, n := range terms {
				if found := n.never.FindString(line); found != "" {
					t.Errorf("%s: %s is %s, not %s: %s", name, n.noun, n.term, found, line)
				}
			}
		}
	}
}
