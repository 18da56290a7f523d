package film_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/engine/trace"
	"relock/lessons/lessonstest"
	"relock/web/film"
	"relock/web/words"
)

// In all lessons the lines that ran are never among those that are said to be
// passed by, every command has its line, and its line has the command.
func TestMomentsOfTheLessons(t *testing.T) {
	for _, name := range lessonstest.Names(t) {
		t.Run(name, func(t *testing.T) {
			p := lessonstest.Play(t, name)
			f := filmed(p, words.English, false)
			moments := standing(f, p.Events)
			for _, e := range p.Events {
				c, ok := e.Body.(trace.Command)
				if !ok {
					continue
				}
				m := moments[e.Seq]
				if m == nil {
					t.Fatalf("%d: no script has %+v", e.Seq, c)
				}
				s, ok := film.FindScript(f.Scripts(), c)
				line := s.LineOf(c)
				if !ok || s.Name != m.Script || line == 0 || !strings.Contains(s.Lines[line-1].Text(), c.Args[0]) {
					t.Errorf("%d: line %d of %s has no %s", e.Seq, line, s.Name, c.Args[0])
				}
				if !slices.Contains(m.Ran, line) || m.Line != line {
					t.Errorf("%d: line %d is not the last that ran: %+v", e.Seq, line, m)
				}
				for _, n := range append(slices.Clone(m.Ran), m.Next) {
					if slices.Contains(m.Untaken, n) {
						t.Errorf("%d: line %d ran or runs next, and is untaken: %+v", e.Seq, n, m)
					}
				}
			}
		})
	}
}

// The commands of a call belong together, whatever is told between them.
func TestWhereScriptsStand(t *testing.T) {
	for _, c := range []struct {
		lesson string
		seq    int
		want   film.ScriptMoment
	}{
		{"two-threads", 1, film.ScriptMoment{Script: "lock.lua", Line: 10, Ran: []int{10}, Next: 14}},
		{"two-threads", 3, film.ScriptMoment{Script: "lock.lua", Line: 15, Ran: []int{10, 14, 15}}},
		{"two-threads", 7, film.ScriptMoment{Script: "lock.lua", Line: 18, Ran: []int{10, 18}}},
		{"two-threads", 18, film.ScriptMoment{Script: "lock.lua", Line: 30, Ran: []int{10, 18, 24, 30}}},
		{"two-threads", 22, film.ScriptMoment{Script: "renew.lua", Line: 10, Ran: []int{6, 10}, Next: 11}},
		{"two-threads", 36, film.ScriptMoment{Script: "unlock.lua", Line: 17, Ran: []int{8, 12, 17}}},
		{"two-threads", 38, film.ScriptMoment{Script: "unlock.lua", Line: 8, Ran: []int{8}, Next: 12}},
		{"two-threads", 41, film.ScriptMoment{Script: "unlock.lua", Line: 20, Ran: []int{8, 12, 17, 20}}},
	} {
		p := lessonstest.Play(t, c.lesson+".yaml")
		got := *standing(filmed(p, words.English, false), p.Events)[c.seq]
		if len(got.Untaken) == 0 {
			t.Errorf("%s, %d: nothing is passed by: %+v", c.lesson, c.seq, got)
		}
		got.Untaken = nil
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s, %d: %s", c.lesson, c.seq, diff)
		}
	}
}

// SETNX and PEXPIRE are two decisions: what will follow the first is not known
// and so not passed by, and with the second both have run.
func TestPlainCommandsOfACallStandTogether(t *testing.T) {
	// B comes between A's two, and A's second round begins again.
	p := lessonstest.PlayScenario(t, parse(t, "lock: {protocol: mutex-unsafe, lease: 200ms}\nthreads: [{name: A, repeat: 2, work: 10ms}, {name: B, work: 10ms}]\nschedule: [0, 1, 0]"))
	moments := standing(filmed(p, words.English, false), p.Events)
	granted, timed := 0, 0
	for _, e := range p.Events {
		c, ok := e.Body.(trace.Command)
		switch m := moments[e.Seq]; {
		case ok && c.Args[0] == "SETNX" && c.Reply == int64(1):
			granted++
			if !slices.Equal(m.Ran, []int{1}) || len(m.Untaken) > 0 {
				t.Errorf("after SETNX: %+v", m)
			}
		case ok && c.Args[0] == "SETNX":
			if !slices.Equal(m.Ran, []int{1}) || !slices.Contains(m.Untaken, 2) {
				t.Errorf("after a SETNX that is refused: %+v", m)
			}
		case ok && c.Args[0] == "PEXPIRE":
			timed++
			if !slices.Equal(m.Ran, []int{1, 2}) || m.Line != 2 {
				t.Errorf("after PEXPIRE: %+v", m)
			}
		}
	}
	if granted == 0 || granted != timed {
		t.Errorf("%d SETNX were granted, %d PEXPIRE ran", granted, timed)
	}
}
