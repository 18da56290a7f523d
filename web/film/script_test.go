package film_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/engine/outside/ownlock/ownlocktest"
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

// The commands of a call belong together, whatever is told between them. Each line was
// checked by hand against the script.
func TestWhereScriptsStand(t *testing.T) {
	free, refused := append([]int{12}, lines(18, 36)...), slices.Concat(lines(11, 16), []int{20}, lines(24, 36))
	again := slices.Concat(lines(11, 16), lines(19, 22), []int{26, 33, 34})
	for _, c := range []struct {
		lesson string
		seq    int
		want   film.ScriptMoment
	}{
		{"two-threads", 1, film.ScriptMoment{Script: "lock.lua", Line: 10, Ran: []int{10}, Next: 14, Untaken: free}},
		{"two-threads", 3, film.ScriptMoment{Script: "lock.lua", Line: 15, Ran: []int{10, 14, 15}, Untaken: free}},
		{"two-threads", 7, film.ScriptMoment{Script: "lock.lua", Line: 18, Ran: []int{10, 18}, Untaken: refused}},
		{"two-threads", 18, film.ScriptMoment{Script: "lock.lua", Line: 30, Ran: []int{10, 18, 24, 30}, Untaken: again}},
		{"two-threads", 22, film.ScriptMoment{Script: "renew.lua", Line: 10, Ran: []int{6, 10}, Next: 11, Untaken: []int{7}}},
		{"two-threads", 36, film.ScriptMoment{Script: "unlock.lua", Line: 17, Ran: []int{8, 12, 17}, Untaken: []int{9, 14, 20, 22}}},
		{"two-threads", 38, film.ScriptMoment{Script: "unlock.lua", Line: 8, Ran: []int{8}, Next: 12, Untaken: []int{9, 14, 21, 22}}},
		{"two-threads", 41, film.ScriptMoment{Script: "unlock.lua", Line: 20, Ran: []int{8, 12, 17, 20}, Untaken: []int{9, 14, 21, 22}}},
	} {
		p := lessonstest.Play(t, c.lesson+".yaml")
		got := *standing(filmed(p, words.English, false), p.Events)[c.seq]
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s, %d: %s", c.lesson, c.seq, diff)
		}
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

// Of a script of one's own, too, it is known where it went; of a trace that does not say
// what its scripts were called with, only which commands ran.
func TestWhereAnOwnScriptStands(t *testing.T) {
	const text = `lock:
  protocol: own
  retry: {times: 1, interval: 20ms}
  scripts:
    lock: |
      if redis.call('EXISTS', KEYS[1]) == 1 then
        -- somebody has it
        return 0
      else
        redis.call('SET', KEYS[1],
          ARGV[1], 'PX',
          ARGV[3])
      end
      return 1
    unlock: |
      return redis.call('DEL', KEYS[1])
threads: [{name: A, work: 10ms}, {name: B, start: 5ms, work: 10ms}]`
	p := play(ownlocktest.Boxed(t), t, parse(t, text))
	moments := standing(filmed(p, words.English, false), p.Events)
	older := slices.Clone(p.Events)
	for i, e := range older {
		if c, ok := e.Body.(trace.Command); ok {
			c.Eval = nil
			older[i].Body = c
		}
	}
	p.Events = older
	without := standing(filmed(p, words.English, false), older)
	var taken, refused bool
	for _, e := range older {
		c, ok := e.Body.(trace.Command)
		if !ok {
			continue
		}
		m, old := *moments[e.Seq], *without[e.Seq]
		switch {
		case c.Script == "lock.lua" && m.Line == 1 && m.Next == 0:
			refused = true
			if diff := cmp.Diff([]int{4, 5, 6, 7, 9}, m.Untaken); diff != "" {
				t.Errorf("%d, refused: %s", e.Seq, diff)
			}
		case c.Script == "lock.lua":
			taken = true
			if diff := cmp.Diff([]int{2, 3}, m.Untaken); diff != "" {
				t.Errorf("%d, taken: %s", e.Seq, diff)
			}
		}
		m.Untaken = []int{}
		if diff := cmp.Diff(m, old); diff != "" {
			t.Errorf("%d, of an older trace: %s", e.Seq, diff)
		}
	}
	if !taken || !refused {
		t.Errorf("taken %t, refused %t", taken, refused)
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
