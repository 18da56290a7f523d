package infer

import (
	"crypto/sha1" //nolint:gosec // the name that Redis gives a script
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"relock/engine/check"
	"relock/engine/journal"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/verdict"
)

// Marks of a worker's critical section and of its rounds, as the argument of ECHO. Behind
// those of the critical section words may follow: the lock's name, where there are several,
// and MarkRead.
const (
	MarkEnter = "relock:enter"
	MarkLeave = "relock:leave"
	MarkRound = "relock:round"
	MarkRead  = "read"
)

// Verb is the name of a command, which must not be empty, in capitals.
func Verb(args []string) string { return strings.ToUpper(args[0]) }

// Mark returns the mark that a command is, or "".
func Mark(args []string) string {
	if len(args) != 2 || Verb(args) != "ECHO" || args[1] == "" {
		return ""
	}
	words := strings.Fields(args[1])
	if len(words) == 1 && words[0] == MarkRound || len(words) > 0 && (words[0] == MarkEnter || words[0] == MarkLeave) {
		return words[0]
	}
	return ""
}

// NamesLock reports whether a mark of a critical section says of which lock it is.
func NamesLock(mark []string) bool {
	name, _ := markWords(mark)
	return name != ""
}

// markWords returns what a mark of a critical section says: the lock's name, "" where it says
// none, and whether its thread shares the lock with other readers.
func markWords(args []string) (name string, reads bool) {
	words := strings.Fields(args[1])[1:]
	reads = slices.Contains(words, MarkRead)
	words = slices.DeleteFunc(words, func(w string) bool { return w == MarkRead })
	return strings.Join(words, " "), reads
}

// Footprint is what a command can read or change.
type Footprint struct {
	Keys   []string
	All    bool // it may depend on anything
	Writes bool
	Node   int // of several servers, from 1, the only one that it can read or change; 0: all
}

// Names reports whether a key is among them.
func (f Footprint) Names(key string) bool { return slices.Contains(f.Keys, key) }

// Channel returns the name of a channel among keys.
func Channel(name string) string { return "\x00" + name }

// Everything is the Footprint of a command that conflicts with every other one.
var Everything = Footprint{All: true, Writes: true}

// Touches returns the Footprint of a command. An unknown command conflicts with
// everything: better one order too many than one unseen.
func Touches(args []string) Footprint {
	at := func(from, to, step int) Footprint {
		f := Footprint{Writes: journal.Writes(Verb(args))}
		for i := from; i < to && i < len(args); i += step {
			f.Keys = append(f.Keys, args[i])
		}
		if len(f.Keys) == 0 {
			return Everything
		}
		return f
	}
	switch v := Verb(args); v {
	case "GET", "SET", "SETNX", "SETEX", "PSETEX", "GETSET", "GETDEL", "GETEX", "DELEX", "APPEND", "STRLEN", "INCR", "INCRBY", "INCRBYFLOAT", "DECR", "DECRBY",
		"EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST", "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "TYPE",
		"HSTRLEN", "HGET", "HSET", "HSETNX", "HMGET", "HMSET", "HDEL", "HEXISTS", "HINCRBY", "HGETALL", "HLEN", "HKEYS", "HVALS",
		"HEXPIRE", "HPEXPIRE", "HEXPIREAT", "HPEXPIREAT", "HPERSIST", "HTTL", "HPTTL", "HEXPIRETIME", "HPEXPIRETIME", "HSETEX", "HGETEX", "HGETDEL",
		"LPUSH", "RPUSH", "LPOP", "RPOP", "LLEN", "LRANGE", "LREM", "LINDEX", "LTRIM", "SADD", "SREM", "SISMEMBER", "SMISMEMBER", "SMEMBERS", "SCARD",
		"ZADD", "ZREM", "ZSCORE", "ZMSCORE", "ZCARD", "ZRANGE", "ZREVRANGE", "ZRANK", "ZREVRANK", "ZINCRBY", "ZPOPMIN", "ZPOPMAX",
		"ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZREMRANGEBYSCORE", "ZREMRANGEBYRANK", "ZCOUNT", "XADD", "XLEN":
		return at(1, 2, 1)
	case "DEL", "UNLINK", "EXISTS", "TOUCH", "MGET", "WATCH":
		f := at(1, len(args), 1)
		if v == "MGET" || v == "TOUCH" || v == "WATCH" {
			f.Writes = false
		}
		return f
	case "MSET", "MSETNX":
		return at(1, len(args), 2)
	case "BLPOP", "BRPOP", "BZPOPMIN", "BZPOPMAX":
		return at(1, len(args)-1, 1)
	case "BLMOVE", "BRPOPLPUSH", "RENAME", "RENAMENX", "COPY", "LMOVE", "RPOPLPUSH", "SMOVE":
		return at(1, 3, 1)
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO":
		f := at(3, 3+KeyCount(args), 1)
		f.Writes = !strings.HasSuffix(v, "_RO")
		return f
	case "PUBLISH":
		if len(args) > 1 {
			return Footprint{Keys: []string{Channel(args[1])}, Writes: true}
		}
	}
	return Everything
}

// KeyCount returns how many keys a script is given.
func KeyCount(args []string) int {
	if len(args) < 3 {
		return 0
	}
	n, err := strconv.Atoi(args[2])
	if err != nil || n < 0 || n > len(args)-3 {
		return 0
	}
	return n
}

// Conflicts reports whether the order of two commands can matter.
func (f Footprint) Conflicts(g Footprint) bool {
	if f.Node != g.Node && f.Node > 0 && g.Node > 0 {
		return false
	}
	if f.All || g.All {
		return true
	}
	if !f.Writes && !g.Writes {
		return false
	}
	return slices.ContainsFunc(f.Keys, func(k string) bool { return slices.Contains(g.Keys, k) })
}

// Digest is the name that Redis gives a script.
func Digest(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // no secret
	return hex.EncodeToString(sum[:])
}

// Shown returns the name of a command in an order: its verb and its keys, but no
// values, which are drawn again in each round.
func Shown(args []string) string {
	v := Verb(args)
	switch v {
	case "ECHO":
		return strings.Join(append([]string{v}, args[1:]...), " ")
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO":
		if len(args) < 2 {
			return v
		}
		sha := strings.ToLower(args[1])
		if strings.HasPrefix(v, "EVAL") && !strings.HasPrefix(v, "EVALSHA") {
			sha = Digest(args[1])
		}
		return strings.Join(append([]string{"EVALSHA", sha}, Touches(args).Keys...), " ")
	}
	f := Touches(args)
	words := []string{v}
	if strings.HasPrefix(v, "FCALL") && len(args) > 1 {
		words = append(words, args[1])
	}
	for _, k := range f.Keys {
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

// MakesLock reports whether a command may be one that takes a lock: it makes a key if
// there is none, or is a script. A plain SET or INCR belongs to something else, unless
// -key names it.
func MakesLock(args []string) bool {
	switch Verb(args) {
	case "SET":
		return slices.ContainsFunc(args[min(3, len(args)):], func(a string) bool { return strings.EqualFold(a, "NX") })
	case "SETNX", "HSETNX", "HINCRBY", "EVAL", "EVALSHA", "FCALL":
		return true
	}
	return false
}

// Lock is a lock as a person calls it: by its key, and maybe by its kind.
type Lock struct {
	Key  string     // "" to find it
	Kind check.Kind // how many may be inside at once, as Inside has it
	Also []string   // keys of further locks that threads hold beside it, each exclusive
	Once bool       // what an RPUSH on the key of what the lock protects writes down must be done once
}

// MostLocks is how many locks are judged at once.
const MostLocks = scenario.MaxLocks

// Keys returns the keys of all locks.
func (l Lock) Keys() []string { return append([]string{l.Key}, l.Also...) }

// ParseLock reads a lock as a person calls it: KEY, or KEY,KEY for several. It fails with one
// sentence.
func ParseLock(text string) (Lock, error) {
	if i := strings.LastIndexByte(text, ':'); i >= 0 && check.MeantAsKind(text[i+1:]) {
		return Lock{}, phrase.New("%.60q: the key does not say who is inside, the worker does, with ECHO %s and ECHO %s: -inside N lets in N at once, and the word %s behind a mark is a reader's; for a key that ends so: -key KEY", text, MarkEnter, MarkLeave, MarkRead)
	}
	if text != "" && !strings.Contains(text, ",") {
		return Lock{Key: text}, nil
	}
	keys := strings.Split(text, ",")
	sorted := slices.Sorted(slices.Values(keys))
	switch {
	case text == "":
		return Lock{}, phrase.New("it has no key; allowed: %s", verdict.AsFlag)
	case sorted[0] == "" || len(slices.Compact(sorted)) < len(keys) || len(keys) > MostLocks:
		return Lock{}, phrase.New("%.60q: allowed: up to %d keys, each once, with a comma between two; and -key for a key with a comma in it", text, MostLocks)
	}
	return Lock{Key: keys[0], Also: keys[1:]}, nil
}

// String returns the keys as ParseLock reads them, "" of a lock without one.
func (l Lock) String() string { return strings.Join(l.Keys(), ",") }
