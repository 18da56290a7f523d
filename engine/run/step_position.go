package run

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"relock/engine/check"
	"relock/engine/clock"
	"relock/engine/fault"
	"relock/engine/recall"
	"relock/engine/scenario"
)

// told notes something that t heard, and cannot have known.
func (t *thread) told(kind byte, what ...any) {
	if t.r.told != nil {
		t.r.told.note(t.spec.Name, kind, what...)
	}
}

// note notes that a task moves.
func (r *Run) note(task clock.Task) {
	if r.told != nil {
		asked, _ := task.Doing.(request)
		r.told.note(task.Process, toldMove, task.Business, int(task.State), task.Name, int64(task.At), asked.node, asked.call.Name)
	}
}

// Position is what the rest of a run depends on, digested: two steppers of one
// scenario whose positions are equal do the same from here on if they make the
// same moves. It is the instant; each thread's history, since a thread is a function of
// what it heard and when; what is armed and under way; the nodes; the resource; and the
// state of the rules.
type Position [16]byte

// Position returns the stepper's, and by whose name each thread goes in it, both by
// their places in the scenario; nil is each by its own, and is always so without
// Options.Twins. Of two steppers with one position, those threads do the same from
// then on that go by one name. The run must have been made with Options.Memory.
func (s *Stepper) Position() (p Position, as []int8) {
	n := s.r.newNaming()
	sum := sha256.Sum256(s.appendState(nil, n))
	copy(p[:], sum[:])
	if n.rename == nil {
		return p, nil
	}
	return p, n.as
}

// appendState writes what Position digests, and names the threads.
func (s *Stepper) appendState(b []byte, as *naming) []byte {
	b = s.clock.AppendState(b, s.pauses, as.of)
	as.complete()
	threads := as.inOrder()
	for _, t := range threads {
		b = append(b, s.r.told.of(t.spec.Name)...)
	}
	b = append(b, s.r.told.of(networkName)...)
	for _, n := range s.nodes {
		b = n.appendState(b, s.failsOver, s.r.protocol().Replicas > 0, as)
	}
	for _, t := range threads {
		for _, f := range s.waiting[t] {
			b = fmt.Appendf(b, "%s %s %s %s %d,", as.of(t.spec.Name), f.Do, f.Error, f.At, f.For)
		}
	}
	b = binary.AppendVarint(b, int64(len(s.faults)))
	b = binary.AppendVarint(b, int64(s.idle))
	b = binary.AppendVarint(b, int64(s.end))
	b = s.r.network.appendState(b, as)
	if r := s.r.resource; r != nil {
		b = fmt.Appendf(b, "%d %d %d %v %d;", r.value, r.version, r.token, named(r.bought, as), r.first)
	}
	if s.endless {
		refused := named(s.standstill.refused, as)
		for _, name := range slices.Sorted(maps.Keys(refused)) {
			b = fmt.Appendf(b, "%s %d,", name, refused[name])
		}
	}
	return s.checker.AppendState(b, s.clock.Now(), as.of)
}

// named returns what we know about each thread, by the name that it goes by.
func named[T any](byThread map[string]T, as *naming) map[string]T {
	list := make(map[string]T, len(byThread))
	for thread, one := range byThread {
		list[as.of(thread)] = one
	}
	return list
}

func (n *node) appendState(b []byte, writes, waits bool, as *naming) []byte {
	b = n.server.(*recall.Redis).AppendState(b, writes, as.rename)
	b = binary.AppendVarint(b, int64(n.ahead))
	out := named(n.outages, as)
	for _, thread := range slices.Sorted(maps.Keys(out)) {
		b = fmt.Appendf(b, "%s %s %d ", thread, out[thread].answer.Code, out[thread].until)
	}
	if waits { // else nobody asks
		lives := named(n.wrote, as)
		for _, thread := range slices.Sorted(maps.Keys(lives)) {
			b = fmt.Appendf(b, "%s %t ", thread, lives[thread] == n.lives)
		}
		b = binary.AppendVarint(b, int64(n.unacked))
	}
	if n.old != nil {
		b = n.old.server.(*recall.Redis).AppendState(b, false, as.rename)
		b = fmt.Appendf(b, "%q %d %d", slices.Sorted(maps.Keys(named(n.old.threads, as))), n.old.since, n.old.until)
	}
	return append(b, ';')
}

// foresee finds out what can still happen that positions must tell apart: faults
// of the scenario, and those that are struck by hand.
func (s *Stepper) foresee(byHand []scenario.Fault) {
	does := func(kind string) bool {
		is := func(f scenario.Fault) bool { return f.Do == kind }
		return slices.ContainsFunc(byHand, is) || slices.ContainsFunc(s.r.sc.Faults, is)
	}
	loses := func(f scenario.Fault) bool { return f.Lose > 0 }
	s.pauses = does(fault.Pause)
	s.failsOver = does(fault.FailOver) || does(fault.TwoMasters) || slices.ContainsFunc(byHand, loses) || slices.ContainsFunc(s.r.sc.Faults, loses)
	s.endless = slices.ContainsFunc(s.r.threads, (*thread).endless)
}

// Ready names who can move, by their choice: a thread's business, or another task
// of its process.
func (s *Stepper) Ready() []string {
	list := make([]string, len(s.ready))
	for i, task := range s.ready {
		list[i] = task.Process
		if !task.Business {
			list[i] += " in the background"
		}
	}
	return list
}

// Faults returns which of Options.ByHand would strike now. It fails with Redis'
// error.
func (s *Stepper) Faults(ctx context.Context) ([]int, error) {
	if s.over || len(s.r.o.ByHand) == 0 {
		return nil, nil
	}
	scripts, err := s.hasScripts(ctx, s.nodes[0]) // to which each of them happens
	if err != nil {
		return nil, err
	}
	var list []int
	for i, f := range s.r.o.ByHand {
		if s.refusal(f, scripts) == nil {
			list = append(list, i)
		}
	}
	return list, nil
}

// Notes are what a stepper has noted of its run to find broken rules: who
// believes what, and the state of each rule.
type Notes struct {
	checker    *check.Checker
	believed   beliefs
	standstill standstill
}

// Notes returns a copy of the stepper's.
func (s *Stepper) Notes() Notes { return Notes{s.checker, s.believed, s.standstill}.clone() }

func (n Notes) clone() Notes {
	n.checker = n.checker.Clone()
	n.believed = n.believed.clone()
	n.standstill.refused = maps.Clone(n.standstill.refused)
	return n
}

// Mute has the stepper write down nothing until Resume: moves that were made
// before, and did not end the run, are made again faster.
func (s *Stepper) Mute() { s.muted = true }

// Resume has the stepper write down what happens from now on. Its notes are the ones of
// the same moves when they were made before.
func (s *Stepper) Resume(n Notes) {
	n = n.clone()
	s.muted, s.checker, s.believed, s.standstill, s.broken = false, n.checker, n.believed, n.standstill, nil
}

// Broken returns the rules that were broken since it was last called, which may
// repeat.
func (s *Stepper) Broken() []string {
	broken := s.broken
	s.broken = nil
	return broken
}
