package infer_test

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"relock/engine/outside/infer"
	"relock/engine/trace"
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

// A mark is an ECHO of one of three words, behind which those of a critical section may have more.
func TestMarks(t *testing.T) {
	for text, want := range map[string]string{
		"ECHO relock:enter": infer.MarkEnter, "echo relock:leave": infer.MarkLeave, "ECHO relock:round": infer.MarkRound,
		"ECHO relock:enter stock read": infer.MarkEnter, "ECHO  relock:leave  stock": infer.MarkLeave,
		"ECHO hello": "", "ECHO relock:entering": "", "ECHO relock:round 2": "", "ECHO": "", "GET relock:enter": "",
	} {
		verb, rest, more := strings.Cut(text, " ")
		args := []string{verb}
		if more {
			args = append(args, rest)
		}
		if have := infer.Mark(args); have != want {
			t.Errorf("%s: %q, want %q", text, have, want)
		}
	}
}

func TestALockIsReadAsItIsWritten(t *testing.T) {
	for text, want := range map[string]infer.Lock{
		"stock": {Key: "stock"}, "a:b": {Key: "a:b"}, "a,b:c,d": {Key: "a", Also: []string{"b:c", "d"}},
	} {
		got, err := infer.ParseLock(text)
		if err != nil || !reflect.DeepEqual(got, want) || got.String() != text {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"": "no key", "a,": "each once", "a,a": "each once",
		"p:permits=2": "-inside N", "doc:9:readers": "the word read", "a:b:exclusive": "the worker does", "p:permits": "-key KEY",
	} {
		if got, err := infer.ParseLock(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// The two lines are in the language of the worker's command.
func TestTheMarksAsLinesOfAWorker(t *testing.T) {
	for command, want := range map[string]string{
		"python3 worker.py": `r.echo("relock:enter")`, "/usr/bin/python3 -u -m stock": `r.echo("relock:enter")`, "go run worker.go": `client.Echo(ctx, "relock:enter")`,
		"node stock.mjs": `await client.echo("relock:enter")`, "java -jar stock.jar": `client.echo("relock:enter")`, "./stock": "ECHO relock:enter", "": "ECHO relock:enter",
	} {
		enter, leave := infer.MarkLines(strings.Fields(command))
		if enter != want || leave != strings.ReplaceAll(want, infer.MarkEnter, infer.MarkLeave) {
			t.Errorf("%s: %s and %s, want %s", command, enter, leave, want)
		}
	}
}

func TestStatesAreEqualIfNothingOfThemDiffers(t *testing.T) {
	a, b := "a", "b"
	states := []trace.KeyState{
		trace.Absent(),
		{Type: trace.TypeString, Value: &a, PTTL: 10},
		{Type: trace.TypeString, Value: &b, PTTL: 10},
		{Type: trace.TypeString, Value: &a, PTTL: 9},
		{Type: trace.TypeHash, Fields: map[string]string{"a": "1"}, PTTL: 10},
		{Type: trace.TypeHash, Fields: map[string]string{"a": "2"}, PTTL: 10},
		{Type: trace.TypeSet, Fields: map[string]string{"a": "1"}, PTTL: 10},
		{Type: trace.TypeList, Length: 1, PTTL: 10},
		{Type: trace.TypeList, Length: 2, PTTL: 10},
	}
	for i, one := range states {
		for j, other := range states {
			if infer.Equal(one, other) != (i == j) {
				t.Errorf("%+v and %+v: equal is %v", one, other, i != j)
			}
		}
	}
}
