package journal

import (
	"slices"
	"strings"
)

// reads are the commands that change no data; a message (PUBLISH) does not.
var reads = []string{
	"EXISTS", "TYPE", "PTTL", "TTL", "EXPIRETIME", "PEXPIRETIME", "TIME", "GET", "STRLEN",
	"HEXISTS", "HGET", "HMGET", "HGETALL", "HLEN", "HKEYS", "HVALS", "HSTRLEN", "HTTL", "HPTTL", "HEXPIRETIME", "HPEXPIRETIME",
	"MGET", "GETRANGE", "LINDEX", "LLEN", "LRANGE", "LPOS", "SISMEMBER", "SMISMEMBER", "SMEMBERS", "SCARD",
	"ZCARD", "ZSCORE", "ZMSCORE", "ZRANGE", "ZRANGEBYSCORE", "ZREVRANGE", "ZREVRANGEBYSCORE", "ZRANK", "ZREVRANK", "ZCOUNT", "PUBLISH", "WAIT",
}

// frees are the commands that change data and need no memory for it. Source: the
// commands without the flag denyoom in the command table of Redis 7.
var frees = []string{
	"DEL", "UNLINK", "GETDEL", "DELEX", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST", "GETEX",
	"HDEL", "HEXPIRE", "HPEXPIRE", "HEXPIREAT", "HPEXPIREAT", "HPERSIST", "LPOP", "RPOP", "LREM", "LTRIM", "SREM", "SPOP", "ZREM", "ZPOPMIN", "ZPOPMAX", "ZREMRANGEBYSCORE", "ZREMRANGEBYRANK",
}

// answersNothing are the commands that have changed nothing where they answer nil, 0
// or an empty list: Redis does not replicate them then. HSET may answer 0 and have
// written. Source: signalModifiedKey and server.dirty in the commands of Redis 7.
var answersNothing = []string{
	"SET", "SETNX", "GETDEL", "DEL", "UNLINK", "DELEX", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST", "MSETNX", "RENAMENX", "COPY",
	"HSETNX", "HDEL", "LPOP", "RPOP", "LMOVE", "RPOPLPUSH", "LREM", "SADD", "SREM", "SPOP", "SMOVE",
	"ZREM", "ZPOPMIN", "ZPOPMAX", "ZREMRANGEBYSCORE", "ZREMRANGEBYRANK",
}

// Wrote reports whether a command that Redis has run without an error has changed
// data, as far as its reply tells: true where that is not known.
func Wrote(args []string, reply any) bool {
	verb := strings.ToUpper(args[0])
	has := func(option string) bool {
		return slices.ContainsFunc(args[1:], func(arg string) bool { return strings.EqualFold(arg, option) })
	}
	switch {
	case !Writes(verb):
		return false
	case verb == "SET" && has("GET"): // it answers what was there
		return !has("XX") && (reply == nil || !has("NX")) || has("XX") && reply != nil
	case !slices.Contains(answersNothing, verb):
		return true
	}
	switch r := reply.(type) {
	case nil:
		return false
	case int64:
		return r != 0
	case []any:
		return len(r) > 0
	default:
		return true
	}
}

// Writes reports whether a command can change data. It is true for unknown commands:
// better one write too many than one unseen.
func Writes(verb string) bool { return !slices.Contains(reads, strings.ToUpper(verb)) }

// Sweeps reports whether a command drops the members of a sorted set that are over, whoever
// put them there.
func Sweeps(verb string) bool {
	verb = strings.ToUpper(verb)
	return verb == "ZREMRANGEBYSCORE" || verb == "ZREMRANGEBYRANK"
}
