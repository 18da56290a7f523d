package lab

import (
	"crypto/sha1" //nolint:gosec // the name that Redis gives a script
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"relock/engine/journal"
)

// Marks of a worker's critical section and of its rounds, as arguments of ECHO.
const (
	MarkEnter = "relock:enter"
	MarkLeave = "relock:leave"
	MarkRound = "relock:round"
)

func verb(args []string) string { return strings.ToUpper(args[0]) }

// mark returns which mark a command is, or "".
func mark(args []string) string {
	if len(args) == 2 && verb(args) == "ECHO" && (args[1] == MarkEnter || args[1] == MarkLeave || args[1] == MarkRound) {
		return args[1]
	}
	return ""
}

func sub(args []string) string {
	if len(args) > 1 {
		return strings.ToUpper(args[1])
	}
	return ""
}

// passes reports whether a command is answered without a decision: a client sends
// it to get ready, or out of politeness.
func passes(args []string) bool {
	switch verb(args) {
	case "HELLO", "AUTH", "CLIENT", "INFO", "SELECT", "PING", "COMMAND", "QUIT", "SCRIPT",
		"MULTI", "DISCARD", "UNWATCH", "CONFIG", "ROLE", "RESET", "READONLY", "READWRITE",
		"SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE": // who listens is held until a message comes
		return true
	case "ECHO":
		return mark(args) == ""
	}
	return false
}

// blocks reports whether a command waits for others.
func blocks(args []string) bool {
	switch verb(args) {
	case "BLPOP", "BRPOP", "BLMOVE", "BRPOPLPUSH", "BZPOPMIN", "BZPOPMAX", "BLMPOP", "BZMPOP", "WAIT", "WAITAOF":
		return true
	case "XREAD", "XREADGROUP":
		return slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, "BLOCK") })
	}
	return false
}

// footprint is what a command can read or change.
type footprint struct {
	keys   []string
	all    bool // it may depend on anything
	writes bool
}

// channel is how a channel is named among keys.
func channel(name string) string { return "\x00" + name }

// everything is the footprint of what must not be moved past anything.
var everything = footprint{all: true, writes: true}

// touches returns the footprint of a command. What is not known depends on
// everything: better an order too many than one unseen.
func touches(args []string) footprint {
	at := func(from, to, step int) footprint {
		f := footprint{writes: journal.Writes(verb(args))}
		for i := from; i < to && i < len(args); i += step {
			f.keys = append(f.keys, args[i])
		}
		if len(f.keys) == 0 {
			return everything
		}
		return f
	}
	switch v := verb(args); v {
	case "GET", "SET", "SETNX", "SETEX", "PSETEX", "GETSET", "GETDEL", "GETEX", "DELEX", "APPEND", "STRLEN", "INCR", "INCRBY", "INCRBYFLOAT", "DECR", "DECRBY",
		"EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST", "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "TYPE",
		"HGET", "HSET", "HSETNX", "HMGET", "HMSET", "HDEL", "HEXISTS", "HINCRBY", "HGETALL", "HLEN", "HKEYS", "HVALS",
		"LPUSH", "RPUSH", "LPOP", "RPOP", "LLEN", "LRANGE", "LREM", "LINDEX", "LTRIM", "SADD", "SREM", "SISMEMBER", "SMEMBERS", "SCARD",
		"ZADD", "ZREM", "ZSCORE", "ZCARD", "ZRANGE", "ZRANK", "ZINCRBY", "ZPOPMIN", "ZPOPMAX", "ZRANGEBYSCORE", "ZREMRANGEBYSCORE", "ZCOUNT", "XADD", "XLEN":
		return at(1, 2, 1)
	case "DEL", "UNLINK", "EXISTS", "TOUCH", "MGET", "WATCH":
		f := at(1, len(args), 1)
		if v == "MGET" || v == "TOUCH" || v == "WATCH" {
			f.writes = false
		}
		return f
	case "MSET", "MSETNX":
		return at(1, len(args), 2)
	case "BLPOP", "BRPOP", "BZPOPMIN", "BZPOPMAX":
		return at(1, len(args)-1, 1)
	case "BLMOVE", "BRPOPLPUSH", "RENAME", "RENAMENX", "LMOVE", "RPOPLPUSH":
		return at(1, 3, 1)
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO":
		f := at(3, 3+keyCount(args), 1)
		f.writes = !strings.HasSuffix(v, "_RO")
		return f
	case "PUBLISH":
		if len(args) > 1 {
			return footprint{keys: []string{channel(args[1])}, writes: true}
		}
	}
	return everything
}

// keyCount returns how many keys a script is given.
func keyCount(args []string) int {
	if len(args) < 3 {
		return 0
	}
	n, err := strconv.Atoi(args[2])
	if err != nil || n < 0 || n > len(args)-3 {
		return 0
	}
	return n
}

// conflicts reports whether the order of two can matter.
func (f footprint) conflicts(g footprint) bool {
	if f.all || g.all {
		return true
	}
	if !f.writes && !g.writes {
		return false
	}
	return slices.ContainsFunc(f.keys, func(k string) bool { return slices.Contains(g.keys, k) })
}

// digest is the name that Redis gives a script.
func digest(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // no secret
	return hex.EncodeToString(sum[:])
}

// shown is how an order names a command: what it is and its keys, and none of the
// values, which are drawn again in each round.
func shown(args []string) string {
	v := verb(args)
	switch v {
	case "ECHO":
		return v + " " + args[1]
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO":
		if len(args) < 2 {
			return v
		}
		sha := strings.ToLower(args[1])
		if strings.HasPrefix(v, "EVAL") && !strings.HasPrefix(v, "EVALSHA") {
			sha = digest(args[1])
		}
		return strings.Join(append([]string{"EVALSHA", sha}, touches(args).keys...), " ")
	}
	f := touches(args)
	words := []string{v}
	for _, k := range f.keys {
		words = append(words, strings.TrimPrefix(k, "\x00"))
	}
	if v == "SET" {
		for _, a := range args[min(3, len(args)):] {
			if up := strings.ToUpper(a); up == "NX" || up == "XX" || up == "PX" || up == "EX" {
				words = append(words, up)
			}
		}
	}
	return strings.Join(words, " ")
}
