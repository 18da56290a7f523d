package infer_test

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"relock/engine/check"
	"relock/engine/outside/infer"
)

// The keys that a command names, whether it writes, whether it may take a lock, and its name in
// an order: as in Redis' documentation.
func TestCommands(t *testing.T) {
	data, err := os.ReadFile("testdata/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, "|")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		args := strings.Fields(parts[0])
		f := infer.Touches(args)
		keys := strings.ReplaceAll(strings.Join(f.Keys, " "), "\x00", "#")
		if f.All {
			keys = "*"
		}
		writes := map[bool]string{true: "writes", false: "reads"}[f.Writes]
		takes := map[bool]string{true: "lock", false: ""}[infer.MakesLock(args)]
		if have := []string{parts[0], keys, writes, takes, infer.Shown(args)}; !slices.Equal(have, parts) {
			t.Errorf("%q, want %q", have, parts)
		}
	}
}

// The order of two commands matters where one writes what the other names.
func TestConflicts(t *testing.T) {
	for _, c := range []struct {
		one, other string
		want       bool
	}{
		{"GET k", "GET k", false},
		{"GET k", "SET k v", true},
		{"SET k v", "SET k v", true},
		{"SET k v", "SET l v", false},
		{"GET l", "RENAME k l", true},
		{"GET k", "FLUSHALL", true},
		{"GET news", "PUBLISH news m", false},
		{"MGET a b", "DEL c b", true},
	} {
		one, other := infer.Touches(strings.Fields(c.one)), infer.Touches(strings.Fields(c.other))
		if one.Conflicts(other) != c.want || other.Conflicts(one) != c.want {
			t.Errorf("%s and %s: %v, want %v", c.one, c.other, !c.want, c.want)
		}
	}
}

// A mark is an ECHO of one of three words, and nothing else.
func TestMarks(t *testing.T) {
	for text, want := range map[string]string{
		"ECHO relock:enter": infer.MarkEnter, "echo relock:leave": infer.MarkLeave, "ECHO relock:round": infer.MarkRound,
		"ECHO hello": "", "ECHO relock:enter twice": "", "GET relock:enter": "",
	} {
		if have := infer.Mark(strings.Fields(text)); have != want {
			t.Errorf("%s: %q, want %q", text, have, want)
		}
	}
}

func TestALockIsReadAsItIsWritten(t *testing.T) {
	for text, want := range map[string]infer.Lock{
		"stock": {Key: "stock"}, "a:b": {Key: "a:b"}, "a:b:exclusive": {Key: "a:b", Kind: check.Kind{Exclusive: true}}, "doc:9:readers": {Key: "doc:9", Kind: check.Kind{Readers: true}}, "p:permits=2": {Key: "p", Kind: check.Kind{Permits: 2}},
		"a,b:c,d": {Key: "a", Also: []string{"b:c", "d"}},
	} {
		got, err := infer.ParseLock(text)
		if err != nil || !reflect.DeepEqual(got, want) || got.String() != text {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"": "no key", ":readers": "no key", "p:permits": "exclusive, readers, permits=N", "p:permits=0": "permits=1 to", "a,": "each once", "a,a": "each once", "a,b:permits=2": "a single thread",
	} {
		if got, err := infer.ParseLock(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}
