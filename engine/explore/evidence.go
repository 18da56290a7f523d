package explore

import (
	"math/bits"

	"relock/engine/phrase"
	"relock/engine/verdict"
)

// threads is a set of threads, by their places in the scenario.
type threads uint16

// renamed maps the threads of a set to the threads they become.
func (t threads) renamed(as naming) threads {
	if as == nil {
		return t
	}
	var to threads
	for i, name := range as {
		to |= (t >> i & 1) << name
	}
	return to
}

// alone is the threads that were inside while no other was, in the events since the
// last call.
func (w *worker) alone() threads {
	var shown verdict.Witness
	events, _ := w.log.Since(w.seen)
	w.seen += len(events)
	for i := range events {
		shown.See(events[i])
	}
	w.passed.shown.Join(&shown)
	var set threads
	for i := range w.s.sc.Threads {
		if shown.Alone[w.s.sc.Threads[i].Name] {
			set |= 1 << i
		}
	}
	return set
}

// Evidence returns what the schedules that were seen have shown. The search must have
// ended.
func (s *Space) Evidence() *verdict.Evidence {
	e := verdict.Of(s.search.sc, nil)
	if s.search.b.MaxFaults > 0 {
		e = verdict.Of(s.search.sc, s.search.b.Kinds)
	}
	if e.Misused = s.search.book.fit.Asks(); s.search.book.fit.Lines() != nil {
		e.Advice.Misused.Says = phrase.Say("Write it, if that is how your program calls them.")
	}
	e.Add(&s.search.passed.shown)
	e.Inside = s.inside
	for _, r := range s.Rules() {
		e.Broken = append(e.Broken, r.Name)
	}
	if s.ending != Exhausted {
		e.Cut = s.Why()
		if s.givesWay {
			e.Advice.Cut.Says = phrase.Say("Bound the retries, retry: {times: N}; a jitter keeps threads from starting over at the same instants.")
		}
	}
	return e
}

// Judgement returns what we can say about the scenario within the bounds, if orders drawn
// at random were tried, too; else nil; and what a real Redis has answered otherwise. The
// search must have ended.
func (s *Space) Judgement(drawn *Sample, unlike ...phrase.Wording) verdict.Judgement {
	e := s.Evidence()
	e.Unlike = unlike
	if drawn != nil {
		e.Broken = append(e.Broken, drawn.Rules...)
	}
	return e.Judge()
}

// mostInside is how many threads were inside in one schedule, each while no other
// was: 0, 1, or 2 for two or more. Order has each node after all to which it leads.
func (s *Space) mostInside(order []int32) int {
	nodes := s.search.nodes
	most := bits.OnesCount16(uint16(s.search.before))
	came := make([]threads, len(nodes)) // that were inside on some way to a node
	if len(nodes) > 0 {
		came[root] = s.search.before
	}
	for i := len(order) - 1; i >= 0; i-- {
		for _, e := range nodes[order[i]].edges {
			if e.to == untried {
				continue
			}
			before := came[order[i]]
			switch {
			case bits.OnesCount16(uint16(e.alone)) > 1, e.alone != 0 && before&^e.alone != 0:
				return 2
			case e.alone != 0:
				most = max(most, 1)
			}
			if e.to >= 0 {
				came[e.to] |= (before | e.alone).renamed(s.search.namings.all[e.as])
			}
		}
	}
	return min(most, 2)
}
