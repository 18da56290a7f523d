package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"relock/engine/journal"
	"relock/engine/phrase"
	"relock/engine/recall"
	"relock/engine/scenario"
	"relock/engine/store"
)

// second is the Redis of this machine that is asked, too, what the embedded one is asked;
// nil where there is none.
type second struct{ *recall.Second }

func checkFlag(fs *flag.FlagSet, env environment) *bool {
	return fs.Bool("check-redis", true, env.say("ask a redis-server of this machine, too, what each script answers, where one is installed"))
}

// withSecond returns a context in which it is asked, and a function that ends it.
func withSecond(ctx context.Context, env environment, on bool) (in context.Context, s second, end func()) {
	if !on {
		return ctx, s, func() {}
	}
	r, err := recall.NewSecond(ctx)
	if err != nil {
		if !errors.Is(err, store.ErrNoServer) {
			env.tell("a Redis beside the embedded one does not start: %s", err)
		}
		return ctx, s, func() {}
	}
	return recall.WithSecond(ctx, r), second{r}, func() { _ = r.Close() }
}

// says is what it has answered in a search of a lock: that all was the same, or where
// it was not. Both are zero where nothing was asked.
func (s second) says(lock scenario.Lock) (same, differs phrase.Wording) {
	if s.Second == nil {
		return same, differs
	}
	n, d := s.Take()
	if d == nil {
		if n > 0 {
			same = phrase.Say("Checked on Redis %[1]s: %[2]d answers of scripts are the same there.", s.Version(), n)
		}
		return same, differs
	}
	name := ""
	for _, script := range lock.Implementation().Scripts {
		if journal.Wrap(script.Source) == d.Text {
			name = script.Name
		}
	}
	return same, phrase.Say("Redis %[1]s answers %[2]s otherwise. In the state %[3]s, with the keys %[4]s and the arguments %[5]s: here %[6]s; there %[7]s.",
		s.Version(), name, d.State, fmt.Sprintf("%q", d.Keys), fmt.Sprintf("%q", d.Args), d.Here, d.Real)
}
