package board

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/lesson"
)

var update = flag.Bool("update", false, "write what the referee decides into the tables of testdata")

// Each file of testdata is a table of requests and what they come to, with the
// real engine:
//
//	given  lease-expiry; h host; a b play A; b away   the room, and who is in it
//	a1 step A        > made 0/0 [0]; stand 0@1        a's first command, and its entries
//	+10s             > seats A a b                    that long after, without a request
//
// Words after a command are what its members would send: N@M is a branch and
// moves, key=value any key.
func TestTheRefereesTables(t *testing.T) {
	tables, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(tables) == 0 {
		t.Fatal("no tables", err)
	}
	for _, path := range tables {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			var b *bench
			for n, line := range strings.SplitAfter(string(text), "\n") {
				request, want, ordered := strings.Cut(strings.TrimSuffix(line, "\n"), ">")
				given, begins := strings.CutPrefix(line, "given ")
				switch {
				case begins:
					b = newBench(t, given)
					out.WriteString(line)
				case !ordered:
					out.WriteString(line)
				default:
					got := b.decide(t, strings.Fields(request))
					fmt.Fprintf(&out, "%-22s > %s\n", strings.TrimSpace(request), got)
					if got != strings.TrimSpace(want) && !*update {
						t.Errorf("line %d: %s\n got  %s\n want %s", n+1, strings.TrimSpace(request), got, strings.TrimSpace(want))
					}
				}
			}
			if *update {
				if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// bench is a referee on a table, with a clock that stands still.
type bench struct {
	f     *referee
	now   time.Time
	known map[int]bool // branches
}

// plannedExample stands so many moves into an example as the row that is named.
func plannedExample(_ context.Context, at lesson.Place) (Plan, error) {
	text, err := os.ReadFile(filepath.Join("../../lessons/scenarios", filepath.Base(at.Example)+".yaml"))
	if err != nil {
		return Plan{}, phrase.New("there is no example of that name")
	}
	sc, err := scenario.Parse(text)
	if err != nil {
		return Plan{}, err
	}
	return Plan{Scenario: sc.WithSchedule(make([]scenario.Move, at.Row())), At: at.Row()}, nil
}

func newBench(t *testing.T, given string) *bench {
	t.Helper()
	parts := strings.Split(given, ";")
	plan, err := plannedExample(t.Context(), lesson.Place{Example: strings.TrimSpace(parts[0])})
	if err != nil {
		t.Fatal(err)
	}
	scene, stand, err := plan.scene(0)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{now: time.UnixMilli(1_000_000), known: map[int]bool{0: true}}
	asked := func(context.Context, *scenario.Scenario, int) (*Question, error) {
		return &Question{Text: map[string]string{"en": "?"}, Options: map[string][]string{"en": {"a", "b"}}}, nil
	}
	// Of an item NAME/… the question stands after the first move of that example.
	examined := func(ctx context.Context, item string) (Plan, *Question, error) {
		name, _, _ := strings.Cut(item, "/")
		plan, err := plannedExample(ctx, lesson.Place{Example: name})
		if err != nil {
			return Plan{}, nil, err
		}
		plan.Scenario, plan.At = plan.Scenario.WithSchedule(make([]scenario.Move, 2)), 1
		q, err := asked(ctx, nil, 0)
		return plan, q, err
	}
	b.f = &referee{state: &State{}, now: func() time.Time { return b.now }, note: func(err error) { t.Error(err) }, plan: plannedExample, ask: asked, exam: examined, matters: func(e trace.Event) bool { return e.Kind() == trace.KindExpired }, runs: &runs{}}
	s := &State{Scene: *scene, Stand: *stand, Made: 1, People: map[string]*Member{}, Seats: map[string]Seat{}, Rules: Rules{Allowed: []string{}}}
	for _, part := range parts[1:] {
		var who []string
		if n, slices := strings.CutPrefix(strings.TrimSpace(part), "slices of "); slices {
			b.f.most = number(t, n)
			continue
		}
		if kilobytes, limited := strings.CutPrefix(strings.TrimSpace(part), "limit KB "); limited {
			b.f.bytes = number(t, kilobytes) << 10
			continue
		}
		if name, taught := strings.CutPrefix(strings.TrimSpace(part), "lesson "); taught {
			text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
			if err == nil {
				s.Lesson, err = lesson.Parse(text)
			}
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		fields := strings.Fields(part)
		for i, word := range fields {
			switch word {
			case "away":
				for _, id := range who {
					s.People[id].Conn = ""
				}
			case "host", "audience", "play", "stage":
				is := Part(word)
				if word == "play" {
					is = Player
					if i+1 < len(fields) {
						s.Seats[fields[i+1]] = Seat{By: append(s.Seats[fields[i+1]].By, who...)}
					}
				}
				for _, id := range who {
					s.People[id] = &Member{ID: id, Part: is, Conn: "x/" + id}
				}
			default:
				who = append(who, word)
			}
		}
	}
	b.f.state.Fold(Entry{Seq: 1, Whole: s})
	if b.f.run, err = b.f.runs.of(0, scene.Scenario); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.f.runs.close)
	return b
}

// decide makes a request, or lets time pass, and returns what is in the log then.
func (b *bench) decide(t *testing.T, words []string) string {
	t.Helper()
	if after, passes := strings.CutPrefix(words[0], "+"); passes {
		d, err := time.ParseDuration(after)
		if err != nil {
			t.Fatal(err)
		}
		b.now = b.now.Add(d)
		return b.told(b.f.tick(t.Context()))
	}
	who := strings.TrimRight(words[0], "0123456789")
	id := strings.TrimPrefix(words[0], who)
	text, err := json.Marshal(commandOf(t, words[1], words[2:]))
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseCommand(Class, []byte(`{"id":`+id+`,`+string(text[1:])))
	if err != nil {
		return `refused "` + err.Error() + `"`
	}
	o := Request{Conn: "x/" + who, Member: who, Lang: "en", Command: c}
	if words[1] == DoJoin {
		o.Fresh = "fresh"
	}
	last := int64(0)
	if m := b.f.state.People[who]; m != nil {
		last = m.Last
	}
	list := b.f.decide(t.Context(), o)
	if c.ID <= last {
		return "again " + b.told(list)
	}
	return b.told(list)
}

// commandOf makes a command of the words of a table.
func commandOf(t *testing.T, do string, words []string) map[string]any {
	t.Helper()
	c := map[string]any{"do": do}
	names := map[string][]string{
		"step": {"thread"}, "claim": {"thread"}, "release": {"thread"}, "give": {"thread", "member"}, "decide": {"thread", "wish"}, "remove": {"member"},
		"restore": {"member"}, "time": {"to", "by"}, "run": {"to", "thread"}, DoOpen: {"example"}, "lesson": {"to"}, "ask": {"kind"}, DoJoin: {"part"},
	}[do]
	var list []string
	for _, word := range words {
		branch, at, place := strings.Cut(word, "@")
		key, value, named := strings.Cut(word, "=")
		switch {
		case place:
			if branch != "" {
				c["branch"] = number(t, branch)
			}
			c["at"] = number(t, at)
		case named:
			var v any
			if json.Unmarshal([]byte(value), &v) != nil {
				v = value
			}
			c[key] = v
		case word == "watchdog":
			c["background"] = true
		default:
			list = append(list, word)
		}
	}
	switch do {
	case "strike":
		f := map[string]any{"do": list[0], "thread": list[1]}
		if len(list) > 2 {
			f["for"] = list[2]
		}
		c["fault"] = f
	case "allow":
		c["faults"] = append([]string{}, list...)
	case "vote":
		c["option"] = number(t, list[0])
	case "drop":
		c["branch"] = number(t, list[0])
	default:
		for i, word := range list {
			c[names[i]] = word
		}
	}
	return c
}

func number(t *testing.T, word string) int {
	t.Helper()
	n, err := strconv.Atoi(word)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (b *bench) told(list []Entry) string {
	if len(list) == 0 {
		return "-"
	}
	var all []string
	for _, e := range list {
		all = append(all, b.toldOne(e))
	}
	return strings.Join(all, " | ")
}

// toldOne is what an entry changes, as the tables have it.
func (b *bench) toldOne(e Entry) string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if e.Refused != "" {
		add("refused %q", strings.ReplaceAll(e.Refused, "\u00a0", " ")) // people write the tables
	}
	if e.Whole != nil {
		add("whole")
	}
	for _, m := range e.People {
		is := string(m.Part)
		if m.Conn == "" {
			is += " away"
		}
		if m.Removed {
			is += " removed"
		}
		if m.Lost {
			is += " lost"
		}
		add("%s is %s", m.ID, is)
	}
	if e.Scene != nil {
		add("scene from %d", e.Scene.First)
		b.known[e.Scene.First] = true
	}
	if e.Dropped != nil {
		add("dropped %d", *e.Dropped)
	}
	for _, m := range e.Made {
		add("made %s %s", b.madeAt(m.Branch, m.Parent, m.Fork, m.After), jsonOf(m.Moves))
	}
	if g := e.Going; g != nil {
		add("%s", strings.TrimSpace(strings.Join([]string{"going", cmp.Or(g.To, "no more"), g.Thread}, " ")))
	}
	if s := e.Stand; s != nil {
		at := fmt.Sprintf("stand %d@%d", s.Branch, s.At)
		if s.Row > 0 || s.Moment > 0 {
			at += fmt.Sprintf(" row %d moment %d", s.Row, s.Moment)
		}
		out = append(out, strings.TrimSpace(at+" "+s.Focus))
	}
	for _, thread := range slices.Sorted(maps.Keys(e.Seats)) {
		s := e.Seats[thread]
		seat := strings.Join(append([]string{"seats", thread}, s.By...), " ")
		for _, id := range slices.Sorted(maps.Keys(s.Wishes)) {
			seat += " " + id + ":" + s.Wishes[id]
		}
		if s.Tied {
			seat += " tied"
		}
		out = append(out, seat)
	}
	if q := e.Question; q != nil {
		add("question %d round %d closed %t votes %v before %d", q.ID, q.Round, q.Closed, q.Votes, len(q.Before))
		if q.Until > 0 {
			add("for %ds", (q.Until-b.now.UnixMilli())/1000)
		}
		if q.Told {
			add("told")
		}
		if q.Kind == Own {
			add("%q %q right %d", q.Text["zh-CN"], q.Options["zh-CN"], q.Right)
		}
	}
	if e.Shelved {
		add("shelved")
	}
	if e.Vote != nil {
		add("vote %s %d", e.Vote.Member, e.Vote.Option)
	}
	if e.Rules != nil {
		add("locked %t allowed %v", e.Rules.Locked, e.Rules.Allowed)
		if e.Rules.Held {
			add("held")
		}
		if e.Rules.Lobby {
			add("lobby")
		}
		if e.Rules.Veiled {
			add("veiled")
		}
		if e.Rules.Reserved {
			add("reserved")
		}
	}
	if e.Taught != nil {
		at := fmt.Sprintf("lesson %d at %d@%d", e.Taught.Step, e.Taught.Stand.Branch, e.Taught.Stand.At)
		if e.Taught.Asked {
			at += " asked"
		}
		out = append(out, at)
	}
	if e.Ended {
		add("ended")
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, "; ")
}

// madeAt is where moves were made: 0/2 at the end of branch 0, after two; 1<0/2
// on the new branch 1, which leaves branch 0 there.
func (b *bench) madeAt(branch, parent, fork, after int) string {
	if b.known[branch] {
		return fmt.Sprintf("%d/%d", branch, after)
	}
	b.known[branch] = true
	return fmt.Sprintf("%d<%d/%d", branch, parent, fork)
}

func jsonOf(list []json.RawMessage) string {
	if list == nil {
		list = []json.RawMessage{}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
