// Package module builds the Go workers of ../_workers. It is a separate module, so that a
// build of the playground does not download their libraries.
// `go -C lessons/libraries/module get …@VERSION` changes a version.
package module

import (
	_ "github.com/bsm/redislock"
	_ "github.com/go-redsync/redsync/v4"
	_ "github.com/redis/go-redis/v9"
	_ "github.com/redis/rueidis"
	_ "github.com/redis/rueidis/rueidislock"

	_ "relock/engine/lock"
)
