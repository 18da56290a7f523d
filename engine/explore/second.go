package explore

import (
	"context"
	"errors"
	"fmt"

	"relock/engine/journal"
	"relock/engine/phrase"
	"relock/engine/recall"
	"relock/engine/scenario"
	"relock/engine/store"
)

// Second is the Redis of this machine that is asked, too, what the embedded one is asked in
// a search. The zero value is none.
type Second struct{ redis *recall.Second }

// WithSecond returns a context in which a redis-server of this machine is asked, if one is
// installed. Close it. It fails where one is, and does not start.
func WithSecond(ctx context.Context) (context.Context, Second, error) {
	r, err := recall.NewSecond(ctx)
	switch {
	case errors.Is(err, store.ErrNoServer):
		return ctx, Second{}, nil
	case err != nil:
		return ctx, Second{}, fmt.Errorf("explore: %w", err)
	}
	return recall.WithSecond(ctx, r), Second{r}, nil
}

// Close ends it.
func (s Second) Close() error {
	if s.redis == nil {
		return nil
	}
	return s.redis.Close()
}

// Checked is what a second Redis has answered. The zero value is of one that was not asked.
type Checked struct {
	On            string         // its version: "7.0.15"
	Same, Differs phrase.Wording // that all answers were the same, or what was not, a sentence
}

// Says is what it has answered since it was last asked for that, of one lock.
func (s Second) Says(lock scenario.Lock) Checked {
	if s.redis == nil {
		return Checked{}
	}
	n, d := s.redis.Take()
	switch on := s.redis.Version(); {
	case d == nil && n == 0:
		return Checked{}
	case d == nil:
		return Checked{On: on, Same: phrase.Say("Checked on Redis %[1]s: %[2]d answers of scripts are the same there.", on, n)}
	}
	name := ""
	for _, script := range lock.Implementation().Scripts {
		if journal.Wrap(script.Source) == d.Text {
			name = script.Name
		}
	}
	return Checked{On: s.redis.Version(), Differs: phrase.Say("Redis %[1]s answers %[2]s otherwise. In the state %[3]s, with the keys %[4]s and the arguments %[5]s: here %[6]s; there %[7]s.",
		s.redis.Version(), name, d.State, fmt.Sprintf("%q", d.Keys), fmt.Sprintf("%q", d.Args), d.Here, d.Real)}
}
