package main

import (
	"context"
	"flag"

	"relock/engine/explore"
)

func checkFlag(fs *flag.FlagSet, env environment) *bool {
	return fs.Bool("check-redis", true, env.say("ask a redis-server of this machine, too, what each script answers, where one is installed"))
}

// withSecond returns a context in which it is asked, and a function that ends it.
func withSecond(ctx context.Context, env environment, on bool) (in context.Context, s explore.Second, end func()) {
	if !on {
		return ctx, s, func() {}
	}
	in, s, err := explore.WithSecond(ctx)
	if err != nil {
		env.tell("a Redis beside the embedded one does not start: %s", err)
	}
	return in, s, func() { _ = s.Close() }
}
