package main

import (
	"context"
	"errors"
	"flag"

	"relock/engine/recall"
	"relock/engine/scenario"
	"relock/engine/store"
)

func checkFlag(fs *flag.FlagSet, env environment) *bool {
	return fs.Bool("check-redis", true, env.say("ask a redis-server of this machine, too, what each script answers, where one is installed"))
}

// startSecond starts a Redis of this machine that is asked, too, or returns nil where there
// is none, or it is not wanted.
func startSecond(ctx context.Context, env environment, on bool) *recall.Second {
	if !on {
		return nil
	}
	s, err := recall.NewSecond(ctx)
	if err != nil {
		if !errors.Is(err, store.ErrNoServer) {
			env.tell("a Redis beside the embedded one does not start: %s", err)
		}
		return nil
	}
	return s
}

// withSecond returns a context in which it is asked, and a function that ends it.
func withSecond(ctx context.Context, env environment, on bool) (in context.Context, s *recall.Second, end func()) {
	if s = startSecond(ctx, env, on); s == nil {
		return ctx, nil, func() {}
	}
	return recall.WithSecond(ctx, s), s, func() { _ = s.Close() }
}

// sourcesOf are a lock's scripts by name.
func sourcesOf(lock scenario.Lock) map[string]string {
	sources := map[string]string{}
	for _, s := range lock.Implementation().Scripts {
		sources[s.Name] = s.Source
	}
	return sources
}
