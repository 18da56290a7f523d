package luaflow_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/engine/lock/exhibit"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/luaflow"
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

func scriptsOf(t *testing.T, protocol string) []luaflow.Script {
	t.Helper()
	return luaflow.Scripts(words.English, parse(t, "lock: {protocol: "+protocol+"}\nthreads: [{name: A}]"))
}

func scriptNamed(t *testing.T, list []luaflow.Script, name string) luaflow.Script {
	t.Helper()
	for _, s := range list {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no %s", name)
	return luaflow.Script{}
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
		{"unlock to 0", "reentrant", "unlock.lua", []int{8, 12, 17, 20}, 0, true, []int{9, 14}},
		{"unlock to 0, HEXISTS", "reentrant", "unlock.lua", []int{8}, 12, false, []int{9}},
		{"unlock of nothing", "reentrant", "unlock.lua", []int{8}, 0, true, lines(11, 22)},
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
			var ran []luaflow.Ran
			for _, line := range c.ran {
				ran = append(ran, luaflow.Ran{Line: line})
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
			[]ran{{13, "EXISTS", none}, {15, "HGET", nil}, {24, "HINCRBY", one}, {25, "HSET", one}, {26, "PEXPIRE", one}},
			slices.Concat([]int{17, 22}, lines(29, 52)),
		},
		{
			"numbered, refused", "reentrant-sequenced", "sequenced-lock.lua", 1, 1,
			[]ran{{13, "EXISTS", one}, {15, "HGET", nil}, {29, "HMGET", nothing}},
			slices.Concat([]int{17}, lines(21, 27), []int{32}, lines(36, 52)),
		},
		{
			"numbered, reentry", "reentrant-sequenced", "sequenced-lock.lua", 2, 4,
			[]ran{{13, "EXISTS", one}, {29, "HMGET", pair("1", "3")}, {45, "HINCRBY", int64(2)}, {47, "HSET", none}},
			slices.Concat(lines(15, 18), lines(21, 27), lines(31, 34), []int{38, 41, 50}),
		},
		{
			"numbered, sent again", "reentrant-sequenced", "sequenced-lock.lua", 1, 4,
			[]ran{{13, "EXISTS", one}, {15, "HGET", "3"}, {29, "HMGET", pair("1", "4")}, {47, "HSET", none}, {48, "PTTL", int64(150)}, {50, "PEXPIRE", one}},
			slices.Concat([]int{17}, lines(21, 27), lines(31, 34), []int{38, 41, 44, 45}),
		},
		{
			"numbered, outer level gone", "reentrant-sequenced", "sequenced-lock.lua", 2, 4,
			[]ran{{13, "EXISTS", none}},
			slices.Concat(lines(15, 18), lines(24, 27), lines(29, 52)),
		},
		{
			"numbered, late: another call came since", "reentrant-sequenced", "sequenced-lock.lua", 1, 2,
			[]ran{{13, "EXISTS", one}, {15, "HGET", nil}, {29, "HMGET", pair("2", "5")}},
			slices.Concat([]int{17}, lines(21, 27), lines(31, 34), lines(40, 52)),
		},
		{
			"numbered, late: a later call is over", "reentrant-sequenced", "sequenced-lock.lua", 1, 2,
			[]ran{{13, "EXISTS", none}, {15, "HGET", "5"}},
			lines(20, 52),
		},
		{
			"numbered, a release after a call without an answer", "reentrant-sequenced", "sequenced-unlock.lua", 1, 7,
			[]ran{{14, "HMGET", pair("1", "6")}, {16, "HGET", nil}, {18, "HSET", one}, {19, "PEXPIRE", one}, {34, "HINCRBY", none}, {37, "DEL", one}},
			[]int{23, 26, 31, 38, 39},
		},
		{
			"numbered, level 2 left", "reentrant-sequenced", "sequenced-unlock.lua", 2, 7,
			[]ran{{14, "HMGET", pair("2", "6")}, {34, "HINCRBY", one}, {39, "HSET", none}},
			slices.Concat(lines(16, 20), []int{23, 26, 31, 37}),
		},
		{
			"numbered, a late release", "reentrant-sequenced", "sequenced-unlock.lua", 2, 3,
			[]ran{{14, "HMGET", pair("2", "5")}},
			slices.Concat(lines(16, 20), []int{23}, lines(28, 41)),
		},
		{
			"numbered, a release of nothing", "reentrant-sequenced", "sequenced-unlock.lua", 1, 3,
			[]ran{{14, "HMGET", nothing}},
			slices.Concat(lines(16, 20), lines(25, 41)),
		},
		{
			"fenced, refused", "fenced", "fenced-lock.lua", 1, 1,
			[]ran{{14, "EXISTS", one}, {16, "HGET", nil}, {30, "HMGET", nothing}},
			slices.Concat([]int{18}, lines(22, 28), []int{33}, lines(37, 52)),
		},
		{
			"in line", "reentrant-fair", "fair-lock.lua", 1, 1,
			[]ran{
				{8, "TIME", pair("1625443200", "0")},
				{50, "EXISTS", one},
				{52, "HGET", nil},
				{59, "HMGET", nothing},
				{91, "ZADD", one},
				{92, "RPUSH", one},
				{95, "PTTL", int64(-1)},
				{96, "PEXPIRE", one},
				{95, "PTTL", int64(-1)},
				{96, "PEXPIRE", one},
				{100, "PTTL", int64(180)},
			},
			slices.Concat(lines(13, 35), []int{54}, lines(62, 70), lines(72, 86), []int{88}),
		},
		{
			"first in an empty queue", "reentrant-fair", "fair-lock.lua", 1, 1,
			[]ran{{8, "TIME", nil}, {50, "EXISTS", none}, {52, "HGET", nil}, {14, "LPOP", nil}, {66, "HINCRBY", one}, {67, "HSET", one}, {68, "PEXPIRE", one}},
			slices.Concat(lines(18, 33), []int{54, 59, 63}, lines(71, 88), lines(90, 100)),
		},
		{
			"handed over to the second", "reentrant-fair", "fair-unlock.lua", 1, 3,
			[]ran{
				{8, "TIME", nil},
				{47, "HMGET", pair("1", "2")},
				{67, "HINCRBY", none},
				{70, "DEL", one},
				{14, "LPOP", "b inbox B 1"},
				{18, "ZSCORE", "1625443200000"},
				{19, "ZREM", one},
				{27, "PUBLISH", none},
				{14, "LPOP", "c inbox C 1"},
				{18, "ZSCORE", "1625443200000"},
				{19, "ZREM", one},
				{27, "PUBLISH", one},
				{28, "HINCRBY", one},
				{29, "HSET", one},
				{30, "PEXPIRE", one},
			},
			slices.Concat([]int{16, 21}, lines(49, 53), []int{56, 59, 64, 72, 73}),
		},
		{
			"nobody to wake", "reentrant-notify", "notify-unlock.lua", 1, 2,
			[]ran{{29, "HMGET", pair("1", "1")}, {49, "HINCRBY", none}, {52, "DEL", one}, {9, "ZPOPMIN", []any{}}},
			slices.Concat(lines(13, 16), lines(31, 35), []int{38, 41, 46, 54, 55}),
		},
		{"refused", "reentrant", "lock.lua", 1, 0, []ran{{10, "EXISTS", one}, {18, "HEXISTS", none}}, slices.Concat(lines(11, 16), []int{20}, lines(24, 36))},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scriptNamed(t, scriptsOf(t, c.protocol), c.script)
			var seen []luaflow.Ran
			for _, r := range c.ran {
				args := []string{r.verb, "KEY", "owner", "#A"}
				if r.verb == "HGET" {
					args = []string{r.verb, "{KEY}:over", "owner/A"}
				}
				seen = append(seen, luaflow.NewRan(r.line, trace.Command{Level: c.level, Number: c.number, Args: args, Reply: r.reply}))
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
	seen := []luaflow.Ran{
		luaflow.NewRan(6, trace.Command{Args: []string{"EXISTS", "KEY"}, Reply: int64(1)}),
		luaflow.NewRan(10, trace.Command{Args: []string{"GET", "KEY"}, Error: "WRONGTYPE"}),
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
func code(s luaflow.Script, numbers []int) []int {
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
		want             []luaflow.Token
	}{
		{"reentrant", "lock.lua", 1, []luaflow.Token{{Class: "c", Text: "-- Enter one level of a reentrant lock."}}},
		{"reentrant", "lock.lua", 10, []luaflow.Token{
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
		{"redsync", "lock", 1, []luaflow.Token{
			{Class: "k", Text: "for"},
			{Text: " node "},
			{Class: "k", Text: "in"},
			{Text: " nodes "},
			{Class: "k", Text: "do"},
			{Text: " "},
			{Class: "c", Text: "-- all at once"},
		}},
		{"mutex", "lock", 1, []luaflow.Token{
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
		for i, s := range luaflow.Scripts(words.Match("zh"), sc) {
			if english := luaflow.Scripts(words.English, sc)[i]; s.Note != "" && s.Note == english.Note {
				t.Errorf("%s: %s", p.Name, s.Note)
			}
		}
	}
}
