// Package module is where the Go workers of ../_workers are built: a module of its own, so that nobody who builds the playground
// downloads their libraries. `go -C lessons/libraries/module get …@VERSION` changes a version.
package module

import (
	_ "github.com/bsm/redislock"
	_ "github.com/go-redsync/redsync/v4"
	_ "github.com/redis/go-redis/v9"
	_ "github.com/redis/rueidis"
	_ "github.com/redis/rueidis/rueidislock"

	_ "relock/engine/lock"
)
