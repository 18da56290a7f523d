package explore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"relock/engine/scenario"
	"relock/engine/trace"
)

// End is how some schedules end.
type End struct {
	Results []trace.Result // by thread, in the scenario's order; "" for one that never ends

	// At is the latest instant, since the run began, at which all threads of such a
	// schedule have ended; if one never does, the end of the run.
	At time.Duration

	node, edge int32 // of the last move
	cost       int
}

// finish notes how a run ended: of all that end alike, the latest, and among
// these the first that was found, which no other is cheaper than.
func (s *Space) finish(id int32, i int, f found) {
	e := End{Results: f.ended, At: f.at, node: id, edge: int32(i), cost: s.search.spent(&s.search.nodes[id], s.search.nodes[id].edges[i].option)}
	results := s.search.alike(e.Results)
	at := slices.IndexFunc(s.ends, func(old End) bool { return slices.Equal(s.search.alike(old.Results), results) })
	switch {
	case at < 0:
		s.ends = append(s.ends, e)
	case e.At > s.ends[at].At || e.At == s.ends[at].At && e.cost < s.ends[at].cost:
		s.ends[at] = e
	}
}

// Ends returns the ways in which the schedules that were seen end, one for each
// combination of results, the first found first. If several threads are configured alike,
// it makes no difference which one it is.
func (s *Space) Ends() []End { return s.ends }

// Moves returns a schedule that ends so, from the scenario's start, all of it.
// It fails with the error of a run.
func (s *Space) Moves(ctx context.Context, e End) ([]scenario.Move, error) {
	path := []edgeRef{{e.node, e.edge}}
	for id := e.node; id != root; id = s.search.nodes[id].parent {
		parent := s.search.nodes[id].parent
		via := s.search.nodes[id].via
		edge := slices.IndexFunc(s.search.nodes[parent].edges, func(x edge) bool { return x.option == via })
		path = append(path, edgeRef{parent, int32(edge)})
	}
	slices.Reverse(path)
	return s.whole(ctx, path)
}

// whole returns a way to the end of a run as a schedule.
func (s *Space) whole(ctx context.Context, path []edgeRef) ([]scenario.Move, error) {
	_, st, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer st.Close(nil)
	moves, _, err := s.follow(ctx, st, path)
	if err != nil {
		return nil, err
	}
	if !st.Over() {
		return nil, fmt.Errorf("%w: it did not end", errUnrepeated)
	}
	return moves, nil
}
