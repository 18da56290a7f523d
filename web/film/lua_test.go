package film_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/engine/lock/exhibit"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/film"
	"relock/web/words"
)

// parse reads a scenario of a lock.
func parse(t *testing.T, yaml string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Parse([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func scriptsOf(t *testing.T, protocol string) []film.Script {
	t.Helper()
	return film.Scripts(words.English, parse(t, "lock: {protocol: "+protocol+"}\nthreads: [{name: A}]"))
}

func scriptNamed(t *testing.T, list []film.Script, name string) film.Script {
	t.Helper()
	for _, s := range list {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no %s", name)
	return film.Script{}
}

// Each line was checked by hand against the script.
func TestWhereACallOfAScriptStands(t *testing.T) {
	for _, c := range []struct {
		name, protocol, script string
		ran                    []int
		next                   int
		over                   bool
		untaken                []int
	}{
		{"first acquisition, EXISTS", "reentrant", "lock.lua", []int{10}, 14, false, append(lines(18, 36), 12)},
		{"first acquisition, HINCRBY", "reentrant", "lock.lua", []int{10, 14}, 15, false, append(lines(18, 36), 12)},
		{"first acquisition, over", "reentrant", "lock.lua", []int{10, 14, 15}, 0, true, append(lines(18, 36), 12)},
		{"reentry, EXISTS", "reentrant", "lock.lua", []int{10}, 18, false, lines(11, 16)},
		{"reentry, HGET", "reentrant", "lock.lua", []int{10, 18, 24}, 30, false, []int{11, 12, 13, 14, 15, 16, 19, 20, 21, 22, 26}},
		{"reentry, over", "reentrant", "lock.lua", []int{10, 18, 24, 30}, 0, true, []int{11, 12, 13, 14, 15, 16, 19, 20, 21, 22, 26, 33, 34}},
		{"refused", "reentrant", "lock.lua", []int{10, 18}, 0, true, append(lines(11, 16), lines(24, 36)...)},
		{"asked, and nothing else known", "reentrant", "lock.lua", []int{10}, 0, false, []int{}},
		{"gone at a level above 1", "reentrant", "lock.lua", []int{10}, 0, true, append(lines(14, 16), lines(18, 36)...)},
		{"the first acquisition, sent again", "reentrant", "lock.lua", []int{10, 18, 24, 32, 34}, 0, true, []int{11, 12, 13, 14, 15, 16, 19, 20, 21, 22, 26, 29, 30}},
		{"unlock to 1", "reentrant", "unlock.lua", []int{8, 12, 17}, 0, true, []int{9, 14, 20}},
		{"unlock to 0", "reentrant", "unlock.lua", []int{8, 12, 17, 20}, 0, true, []int{9, 14, 21, 22}},
		{"unlock to 0, HEXISTS", "reentrant", "unlock.lua", []int{8}, 12, false, []int{9}},
		{"unlock of nothing", "reentrant", "unlock.lua", []int{8}, 0, true, lines(11, 24)},
		{"renewed", "reentrant", "renew.lua", []int{6, 10, 11}, 0, true, []int{7}},
		{"nothing to renew", "reentrant", "renew.lua", []int{6, 10}, 0, true, []int{7, 11}},
		{"a line that is not known", "reentrant", "lock.lua", []int{10, 0}, 15, false, []int{}},
		{"commands of another script", "reentrant", "lock.lua", []int{99}, 0, true, []int{}},
		{"a crash after SETNX", "mutex-unsafe", "lock", []int{1}, 0, true, []int{2}},
		{"a crash where two commands could follow", "setnx-hash", "lock", []int{1}, 0, true, []int{2, 3, 4, 5}},
		{"SETNX, then PEXPIRE", "mutex-unsafe", "lock", []int{1}, 2, false, []int{}},
		{"WRONGTYPE", "setnx-hash", "lock", []int{1, 2, 3}, 0, true, []int{4, 5}},
		{"of an equal value", "setnx-hash", "lock", []int{1, 4}, 0, true, []int{2, 3, 5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scriptNamed(t, scriptsOf(t, c.protocol), c.script)
			var ran []film.Ran
			for _, line := range c.ran {
				ran = append(ran, film.Ran{Line: line})
			}
			got := s.At(ran, c.next, c.over)
			want := code(s, c.untaken)
			if diff := cmp.Diff(want, code(s, got.Untaken)); diff != "" {
				t.Errorf("untaken (want -, got +):\n%s", diff)
			}
			if got.Script != c.script || got.Line != c.ran[len(c.ran)-1] || got.Next != c.next || !slices.IsSorted(got.Ran) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// full is an answer that a script can catch.
type full struct{}

const fullText = "OOM command not allowed when used memory > 'maxmemory'."

// Where the answers are known, so is what the script made of them. Each line
// was checked by hand against the script.
func TestAnswersTellWhichWayAScriptTook(t *testing.T) {
	type ran struct {
		line  int
		verb  string
		reply any
	}
	one, none := int64(1), int64(0)
	pair := func(count, number string) []any { return []any{count, number} }
	nothing := []any{nil, nil}
	for _, c := range []struct {
		name, protocol, script string
		level                  int
		number                 int64
		ran                    []ran
		untaken                []int
	}{
		{
			"numbered, free", "reentrant-sequenced", "sequenced-lock.lua", 1, 1,
			[]ran{{23, "EXISTS", none}, {12, "HINCRBY", one}, {13, "HSET", one}, {14, "PEXPIRE", one}},
			slices.Concat(lines(28, 61), []int{74}),
		},
		{
			"numbered, refused", "reentrant-sequenced", "sequenced-lock.lua", 1, 1,
			[]ran{{23, "EXISTS", one}, {28, "HMGET", nothing}, {33, "EXISTS", one}},
			slices.Concat(lines(12, 16), []int{25, 31}, lines(36, 43), lines(45, 61), []int{69, 72}),
		},
		{
			"numbered, refused, and calls of others are over", "reentrant-sequenced", "sequenced-lock.lua", 1, 1,
			[]ran{{23, "EXISTS", int64(2)}, {28, "HMGET", nothing}, {36, "HGET", nil}},
			slices.Concat(lines(12, 16), []int{25, 31, 34, 38, 41}, lines(45, 61), []int{69, 72}),
		},
		{
			"numbered, reentry", "reentrant-sequenced", "sequenced-lock.lua", 2, 4,
			[]ran{{28, "HMGET", pair("1", "3")}, {54, "HINCRBY", int64(2)}, {56, "HSET", none}},
			slices.Concat(lines(12, 16), lines(23, 26), lines(30, 43), []int{47, 50, 59, 69, 74}),
		},
		{
			"numbered, sent again", "reentrant-sequenced", "sequenced-lock.lua", 1, 4,
			[]ran{{23, "EXISTS", one}, {28, "HMGET", pair("1", "4")}, {56, "HSET", none}, {57, "PTTL", int64(150)}, {59, "PEXPIRE", one}},
			slices.Concat(lines(12, 16), []int{25}, lines(30, 43), []int{47, 50, 54, 69, 74}),
		},
		{
			"numbered, outer level gone", "reentrant-sequenced", "sequenced-lock.lua", 2, 4,
			[]ran{{28, "HMGET", nothing}},
			slices.Concat(lines(12, 16), lines(23, 26), lines(33, 43), lines(45, 61), []int{69, 72}),
		},
		{
			"numbered, late: another call came since", "reentrant-sequenced", "sequenced-lock.lua", 1, 2,
			[]ran{{23, "EXISTS", one}, {28, "HMGET", pair("2", "5")}},
			slices.Concat(lines(12, 16), []int{25}, lines(30, 43), lines(49, 61), []int{69, 72}),
		},
		{
			"numbered, late: a later call is over", "reentrant-sequenced", "sequenced-lock.lua", 1, 2,
			[]ran{{23, "EXISTS", one}, {28, "HMGET", nothing}, {33, "EXISTS", none}, {36, "HGET", "5 900040"}},
			slices.Concat(lines(12, 16), []int{25, 31, 34}, lines(40, 43), lines(45, 61), []int{69, 72}),
		},
		{
			"numbered, free: an earlier call is over", "reentrant-sequenced", "sequenced-lock.lua", 1, 7,
			[]ran{
				{23, "EXISTS", one},
				{28, "HMGET", nothing},
				{33, "EXISTS", none},
				{36, "HGET", "5 900040"},
				{12, "HINCRBY", one},
				{13, "HSET", one},
				{14, "PEXPIRE", one},
			},
			slices.Concat([]int{25, 31, 34, 38, 43}, lines(45, 61), []int{74}),
		},
		{
			"numbered, a release after a call without an answer", "reentrant-sequenced", "sequenced-unlock.lua", 1, 7,
			[]ran{{15, "HMGET", pair("1", "6")}, {27, "DEL", one}, {40, "TIME", pair("0", "60000")}, {42, "HGETALL", []any{}}, {52, "HSET", one}, {53, "PEXPIRE", one}},
			slices.Concat([]int{17, 20, 24}, lines(30, 34), lines(44, 50)),
		},
		{
			"numbered, an old note is forgotten", "reentrant-sequenced", "sequenced-unlock.lua", 1, 7,
			[]ran{
				{15, "HMGET", pair("1", "6")},
				{27, "DEL", one},
				{40, "TIME", pair("999", "0")},
				{42, "HGETALL", []any{"b/B", "3 900040", "c/C", "2 990000"}},
				{49, "HDEL", one},
				{52, "HSET", one},
				{53, "PEXPIRE", one},
			},
			slices.Concat([]int{17, 20, 24}, lines(30, 34), []int{46}),
		},
		{
			"numbered, a later call is noted already", "reentrant-sequenced", "sequenced-unlock.lua", 1, 7,
			[]ran{{15, "HMGET", nothing}, {40, "TIME", pair("0", "60000")}, {42, "HGETALL", []any{"a/A", "9 900040"}}},
			slices.Concat(lines(19, 34), lines(48, 50), lines(52, 53)),
		},
		{
			"numbered, no room for a note", "reentrant-sequenced", "sequenced-unlock.lua", 1, 7,
			[]ran{{15, "HMGET", pair("1", "6")}, {27, "DEL", one}, {40, "TIME", pair("0", "60000")}, {42, "HGETALL", []any{}}, {52, "HSET", full{}}, {53, "PEXPIRE", none}},
			slices.Concat([]int{17, 20, 24}, lines(30, 34), lines(44, 50)),
		},
		{
			"numbered, level 2 left", "reentrant-sequenced", "sequenced-unlock.lua", 2, 7,
			[]ran{{15, "HMGET", pair("2", "6")}, {31, "HINCRBY", one}, {33, "HSET", none}},
			slices.Concat([]int{17, 20, 24, 27, 28}, lines(40, 54), []int{61}),
		},
		{
			"numbered, a late release", "reentrant-sequenced", "sequenced-unlock.lua", 2, 3,
			[]ran{{15, "HMGET", pair("2", "5")}},
			slices.Concat([]int{17}, lines(22, 34), lines(40, 54), []int{61}),
		},
		{
			"numbered, a release of nothing", "reentrant-sequenced", "sequenced-unlock.lua", 1, 3,
			[]ran{{15, "HMGET", nothing}},
			slices.Concat(lines(19, 34), lines(40, 54), []int{61}),
		},
		{
			"fenced, refused", "fenced", "fenced-lock.lua", 1, 1,
			[]ran{{23, "EXISTS", one}, {28, "HMGET", nothing}, {33, "EXISTS", one}},
			slices.Concat(lines(12, 16), []int{25, 31}, lines(36, 43), lines(45, 61), lines(72, 82), []int{86, 89}),
		},
		{
			"fenced, the clock is ahead", "fenced", "fenced-lock.lua", 1, 1,
			[]ran{{23, "EXISTS", none}, {72, "INCR", int64(2)}, {73, "TIME", pair("0", "105000")}, {77, "SET", "OK"}, {12, "HINCRBY", one}, {13, "HSET", one}, {14, "PEXPIRE", one}},
			slices.Concat(lines(28, 61), []int{78, 79}, lines(84, 91)),
		},
		{
			"fenced, the clock is behind", "fenced", "fenced-lock.lua", 1, 1,
			[]ran{{23, "EXISTS", none}, {72, "INCR", int64(2)}, {73, "TIME", pair("0", "1")}, {79, "PEXPIRE", one}, {12, "HINCRBY", one}, {13, "HSET", one}, {14, "PEXPIRE", one}},
			slices.Concat(lines(28, 61), []int{76, 77}, lines(84, 91)),
		},
		{
			"in line", "reentrant-fair", "fair-lock.lua", 1, 1,
			[]ran{
				{7, "TIME", pair("0", "0")},
				{65, "EXISTS", one},
				{70, "HMGET", nothing},
				{75, "EXISTS", one},
				{127, "ZADD", one},
				{128, "RPUSH", one},
				{131, "PTTL", int64(-1)},
				{132, "PEXPIRE", one},
				{131, "PTTL", int64(-1)},
				{132, "PEXPIRE", one},
				{136, "PTTL", int64(180)},
			},
			slices.Concat(lines(14, 42), lines(54, 58), []int{67, 73}, lines(78, 85), lines(87, 103), lines(115, 118), []int{121, 124}),
		},
		{
			"first in an empty queue", "reentrant-fair", "fair-lock.lua", 1, 1,
			[]ran{{7, "TIME", nil}, {65, "EXISTS", none}, {15, "LPOP", nil}, {54, "HINCRBY", one}, {55, "HSET", one}, {56, "PEXPIRE", one}},
			slices.Concat(lines(19, 40), lines(70, 103), lines(123, 136)),
		},
		{
			"handed over to the second", "reentrant-fair", "fair-unlock.lua", 1, 3,
			[]ran{
				{7, "TIME", nil},
				{57, "HMGET", pair("1", "2")},
				{69, "DEL", one},
				{15, "LPOP", "b inbox B 1"},
				{19, "ZSCORE", "1625443200000"},
				{20, "ZREM", one},
				{28, "PUBLISH", none},
				{15, "LPOP", "c inbox C 1"},
				{19, "ZSCORE", "1625443200000"},
				{20, "ZREM", one},
				{28, "PUBLISH", one},
				{35, "HINCRBY", one},
				{36, "HSET", one},
				{37, "PEXPIRE", one},
			},
			slices.Concat([]int{17, 22}, lines(30, 32), []int{59, 62, 66}, lines(72, 76), lines(82, 96), []int{104}),
		},
		{
			"nobody to wake", "reentrant-notify", "notify-unlock.lua", 1, 2,
			[]ran{{15, "HMGET", pair("1", "1")}, {27, "DEL", one}, {62, "ZPOPMIN", []any{}}},
			slices.Concat([]int{17, 20, 24}, lines(30, 34), lines(40, 54), lines(66, 73), []int{82}),
		},
		{
			"no right to send a message", "reentrant-notify", "notify-unlock.lua", 1, 2,
			[]ran{{15, "HMGET", pair("1", "1")}, {27, "DEL", one}, {62, "ZPOPMIN", []any{"b inbox", "1"}}, {67, "PUBLISH", full{}}},
			slices.Concat([]int{17, 20, 24}, lines(30, 34), lines(40, 54), []int{64}, lines(71, 73), []int{82}),
		},
		{"refused", "reentrant", "lock.lua", 1, 0, []ran{{10, "EXISTS", one}, {18, "HEXISTS", none}}, slices.Concat(lines(11, 16), []int{20}, lines(24, 36))},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scriptNamed(t, scriptsOf(t, c.protocol), c.script)
			var seen []film.Ran
			for _, r := range c.ran {
				args := []string{r.verb, "KEY", "owner", "#A"}
				if r.verb == "HGET" {
					args = []string{r.verb, "{KEY}:over", "owner/A"}
				}
				one := trace.Command{Level: c.level, Number: c.number, Args: args, Reply: r.reply}
				if _, ok := r.reply.(full); ok {
					one.Reply, one.Error = nil, fullText
				}
				seen = append(seen, film.NewRan(r.line, one))
			}
			if diff := cmp.Diff(code(s, c.untaken), code(s, s.At(seen, 0, true).Untaken)); diff != "" {
				t.Errorf("untaken (want -, got +):\n%s", diff)
			}
			for i := range seen { // what runs next is never passed by
				if m := s.At(seen[:i], seen[i].Line, false); slices.Contains(m.Untaken, seen[i].Line) {
					t.Errorf("before line %d: %+v", seen[i].Line, m)
				}
			}
		})
	}
}

// An error ends a script where it stands.
func TestAnErrorEndsAScript(t *testing.T) {
	s := scriptNamed(t, scriptsOf(t, "value"), "value-lock.lua")
	seen := []film.Ran{
		film.NewRan(6, trace.Command{Args: []string{"EXISTS", "KEY"}, Reply: int64(1)}),
		film.NewRan(10, trace.Command{Args: []string{"GET", "KEY"}, Error: "WRONGTYPE"}),
	}
	if diff := cmp.Diff(slices.Concat(lines(7, 8), []int{11, 13}), code(s, s.At(seen, 0, true).Untaken)); diff != "" {
		t.Errorf("untaken (want -, got +):\n%s", diff)
	}
}

// lines are from to to, both included.
func lines(from, to int) []int {
	var out []int
	for n := from; n <= to; n++ {
		out = append(out, n)
	}
	return out
}

// code leaves out the lines without code.
func code(s film.Script, numbers []int) []int {
	out := []int{}
	for _, n := range numbers {
		if n <= len(s.Lines) && strings.TrimSpace(strings.SplitN(s.Lines[n-1].Text(), "--", 2)[0]) != "" {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Nothing is lost in cutting the sources into tokens, and all are understood.
func TestScriptsAreShownAsTheyAre(t *testing.T) {
	for _, p := range exhibit.All() {
		list := scriptsOf(t, p.Name)
		if len(list) == 0 {
			t.Errorf("%s shows nothing", p.Name)
		}
		for _, source := range exhibit.Named(p.Name).Scripts {
			s := scriptNamed(t, list, source.Name)
			var b strings.Builder
			for i, l := range s.Lines {
				if l.Number != i+1 {
					t.Errorf("%s: line %d has number %d", s.Name, i+1, l.Number)
				}
				b.WriteString(l.Text() + "\n")
			}
			if diff := cmp.Diff(source.Source, b.String()); diff != "" {
				t.Errorf("%s: %s", s.Name, diff)
			}
		}
		for _, s := range list {
			if s.Plain != (s.Note != "" && len(s.Lines) > 0) || len(s.Lines) == 0 && s.Note == "" {
				t.Errorf("%s, %s: no reason why it shows what it does: %+v", p.Name, s.Name, s)
			}
		}
	}
}

func TestTokens(t *testing.T) {
	for _, c := range []struct {
		protocol, script string
		line             int
		want             []film.ScriptToken
	}{
		{"reentrant", "lock.lua", 1, []film.ScriptToken{{Class: "c", Text: "-- Enter one level of a reentrant lock."}}},
		{"reentrant", "lock.lua", 10, []film.ScriptToken{
			{Class: "k", Text: "if"},
			{Text: " "},
			{Class: "f", Text: "redis.call"},
			{Text: "("},
			{Class: "r", Text: "'EXISTS'"},
			{Text: ", "},
			{Class: "v", Text: "KEYS"},
			{Text: "["},
			{Class: "m", Text: "1"},
			{Text: "]) == "},
			{Class: "m", Text: "0"},
			{Text: " "},
			{Class: "k", Text: "then"},
		}},
		{"redsync", "lock", 1, []film.ScriptToken{
			{Class: "k", Text: "for"},
			{Text: " node "},
			{Class: "k", Text: "in"},
			{Text: " nodes "},
			{Class: "k", Text: "do"},
			{Text: " "},
			{Class: "c", Text: "-- all at once"},
		}},
		{"mutex", "lock", 1, []film.ScriptToken{
			{Class: "r", Text: "SET"},
			{Text: "(key, owner, "},
			{Class: "s", Text: "'NX'"},
			{Text: ", "},
			{Class: "s", Text: "'PX'"},
			{Text: ", lease)"},
		}},
	} {
		s := scriptNamed(t, scriptsOf(t, c.protocol), c.script)
		if diff := cmp.Diff(c.want, s.Lines[c.line-1].Tokens); diff != "" {
			t.Errorf("%s, line %d: %s", c.script, c.line, diff)
		}
	}
}

func TestScriptsInChinese(t *testing.T) {
	for _, p := range exhibit.All() {
		sc := parse(t, "lock: {protocol: "+p.Name+"}\nthreads: [{name: A}]")
		for i, s := range film.Scripts(words.Match("zh"), sc) {
			if english := film.Scripts(words.English, sc)[i]; s.Note != "" && s.Note == english.Note {
				t.Errorf("%s: %s", p.Name, s.Note)
			}
		}
	}
}

// The comments of a lock's scripts are in the language of the page. Each line is where it
// is, and all that runs in it is as in English; of somebody's own scripts also the comments.
func TestCommentsInTheLanguageOfThePage(t *testing.T) {
	han := regexp.MustCompile(`\p{Han}`)
	comments := 0
	for _, p := range exhibit.All() {
		sc := parse(t, "lock: {protocol: "+p.Name+"}\nthreads: [{name: A}]")
		chinese := film.Scripts(words.Match("zh"), sc)
		for i, s := range film.Scripts(words.English, sc) {
			if len(s.Lines) != len(chinese[i].Lines) {
				t.Fatalf("%s, %s: %d lines, in Chinese %d", p.Name, s.Name, len(s.Lines), len(chinese[i].Lines))
			}
			for n, line := range s.Lines {
				for k, token := range line.Tokens {
					switch said := chinese[i].Lines[n].Tokens[k].Text; {
					case token.Class != "c" && said != token.Text:
						t.Errorf("%s, %s:%d: %q runs, and %q is shown", p.Name, s.Name, n+1, token.Text, said)
					case token.Class == "c" && !strings.HasPrefix(said, "--"):
						t.Errorf("%s, %s:%d: %q is no comment", p.Name, s.Name, n+1, said)
					case token.Class == "c" && han.MatchString(said):
						comments++
					}
				}
			}
		}
	}
	if comments < 300 {
		t.Errorf("only %d comments are in Chinese", comments)
	}
	own := parse(t, "lock: {protocol: own, like: reentrant, scripts: {lock: \"-- Enter one level of a reentrant lock.\\nreturn 1\"}}\nthreads: [{name: A}]")
	if got := film.Scripts(words.Match("zh"), own)[0].Lines[0].Text(); got != "-- Enter one level of a reentrant lock." {
		t.Errorf("of an own script %q is shown", got)
	}
}
