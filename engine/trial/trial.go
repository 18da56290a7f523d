// Package trial runs a Lua script on a Redis in a given state, so that two
// scripts can be compared by what they do, not by how they are written.
package trial

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"relock/engine/lock/exhibit"
	"relock/engine/store"
	"relock/engine/trace"

	"github.com/redis/go-redis/v9"
)

// Case is how a script finds Redis, and what it is called with.
type Case struct {
	Before [][]string // commands that are run before
	Args   []string   // its ARGV
}

// Outcome is what came of a script.
type Outcome struct {
	Was   trace.KeyState // before the script
	Key   trace.KeyState // after it
	Reply string         // as Lua writes it: "{1, 0}", "nil"
	Err   string         // why Redis could not run it, or ""
}

// Equal reports whether two scripts did the same.
func (o Outcome) Equal(other Outcome) bool {
	return o.Reply == other.Reply && o.Err == other.Err && reflect.DeepEqual(o.Key, other.Key)
}

// Lines are the lines of a script of a lock, by its file's name without ".lua".
func Lines(protocol, name string) ([]string, error) {
	for _, s := range exhibit.Named(protocol).Scripts {
		if strings.TrimSuffix(s.Name, ".lua") == name {
			return strings.Split(strings.TrimSuffix(s.Source, "\n"), "\n"), nil
		}
	}
	return nil, fmt.Errorf("trial: the lock %q has no script %q", protocol, name)
}

// Run runs a script on an embedded Redis, once in each case, with KEYS[1] as
// the key. The script must end by itself. It fails if a case's own commands do.
func Run(ctx context.Context, script, key string, cases []Case) ([]Outcome, error) {
	now := time.UnixMilli(0).Add(time.Hour)
	server := store.NewEmbedded(now)
	defer func() { _ = server.Close() }() // in memory: nothing is lost
	out := make([]Outcome, len(cases))
	for n, c := range cases {
		if err := server.Fill(now, nil); err != nil {
			return nil, fmt.Errorf("trial: %w", err)
		}
		for _, command := range c.Before {
			args := make([]any, len(command))
			for i, one := range command {
				args[i] = one
			}
			if err := server.Client().Do(ctx, args...).Err(); err != nil {
				return nil, fmt.Errorf("trial: %s: %w", strings.Join(command, " "), err)
			}
		}
		out[n].Was = server.Key(key)
		args := make([]any, len(c.Args))
		for i, one := range c.Args {
			args[i] = one
		}
		reply, err := server.Client().Eval(ctx, script, []string{key}, args...).Result()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("trial: %w", ctx.Err())
		}
		out[n].Key = server.Key(key)
		out[n].Reply = written(reply)
		if err != nil && !errors.Is(err, redis.Nil) { // Nil: it returned nothing
			out[n].Err, out[n].Reply = plain(err.Error()), ""
		}
	}
	return out, nil
}

// written is a reply as Lua writes it.
func written(reply any) string {
	switch r := reply.(type) {
	case nil:
		return "nil"
	case []any:
		parts := make([]string, len(r))
		for i, one := range r {
			parts[i] = written(one)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	default:
		return fmt.Sprint(r)
	}
}

// plain is an error of Redis without where in its own code it arose.
func plain(text string) string {
	text, _, _ = strings.Cut(text, " script: ")
	text = place.ReplaceAllString(text, "")
	return strings.TrimSpace(text)
}

var place = regexp.MustCompile(`^ERR (?:Error compiling script \([^)]*\): )?\S*:\d+: `)
