// Package libraries has a worker for the lab for each of the locks that people use, and what the lab has seen of them.
package libraries

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"relock/engine/phrase"
	"relock/engine/verdict"
)

// The workers are files of their languages, in a folder that Go passes over: its own are built in the module beside it.
//
//go:embed _workers/*
var workers embed.FS

//go:embed seen.jsonl
var seen []byte

//go:embed traces/*.jsonl.gz
var traces embed.FS

// Library is a lock that people use.
type Library struct {
	Name     string      // as those call it who install it
	Worker   string      // the worker's file
	Language string      // "" if another's worker is the one to start from in this language
	Home     string      // its address; "" if it has none
	Module   string      // Go: its module; "" of this one
	Seen     bool        // it is among those that are shown beside each other
	Real     bool        // it needs a real Redis
	Nodes    int         // Redis of each worker, whose lock is on a majority of them; 0 is one
	Retried  bool        // searched again with retries of its client's own
	Own      phrase.Text // what its worker does that the others do not, or ""
}

// all are the libraries, in the order in which they are shown.
var all = []Library{
	{Name: "redsync", Worker: "redsync.go", Language: "go", Home: "https://github.com/go-redsync/redsync", Module: "github.com/go-redsync/redsync/v4", Seen: true},
	{Name: "redislock", Worker: "redislock.go", Retried: true, Home: "https://github.com/bsm/redislock", Module: "github.com/bsm/redislock", Seen: true},
	{Name: "rueidislock", Worker: "rueidislock.go", Home: "https://github.com/redis/rueidis", Module: "github.com/redis/rueidis", Seen: true, Real: true, Own: onRealRedis},
	{Name: "redlock", Worker: "redlock.js", Language: "node", Home: "https://github.com/mike-marcacci/node-redlock", Seen: true},
	{Name: "@sesamecare-oss/redlock", Worker: "sesamecare-redlock.js", Home: "https://github.com/sesamecare/redlock", Seen: true},
	{Name: "redis-semaphore", Worker: "redis-semaphore.js", Retried: true, Home: "https://github.com/swarthy/redis-semaphore", Seen: true},
	{Name: "ioredis-lock", Worker: "ioredis-lock.js", Retried: true, Home: "https://www.npmjs.com/package/ioredis-lock", Seen: true},
	{Name: "redis-py", Worker: "redis-py.py", Language: "python", Home: "https://github.com/redis/redis-py", Seen: true, Own: withoutClock},
	{Name: "relock", Worker: "relock.go", Seen: true, Own: asIsHere},
	{Name: "redsync", Worker: "redsync-nodes.go", Home: "https://github.com/go-redsync/redsync", Module: "github.com/go-redsync/redsync/v4", Nodes: 3},
	{Name: "redlock", Worker: "redlock-nodes.js", Home: "https://github.com/mike-marcacci/node-redlock", Nodes: 3},
	{Name: "ioredis", Worker: "ioredis.js"},
	{Name: "redis-cli", Worker: "redis-cli.sh", Language: "shell"},
	{Name: "redisson", Worker: "Redisson.java", Language: "java"},
}

// What some workers do that the others do not.
const (
	onRealRedis  phrase.Text = "its lease is an instant of its own clock, so a real Redis runs behind the gate, on the wall clock; it takes one key, not two of three"
	withoutClock phrase.Text = "three calls without waiting, because its blocking_timeout reads the clock"
	asIsHere     phrase.Text = "lock.New of this program, otherwise with its defaults"
)

// All returns the libraries, in the order in which they are shown. It is safe for concurrent use.
func All() []Library { return slices.Clone(all) }

// ID is the library's name as addresses and files have it.
func (l Library) ID() string { return l.Worker[:bytes.IndexByte([]byte(l.Worker), '.')] }

// Examples returns what Example knows: the languages, and the libraries by their IDs; both sorted.
func Examples() (languages, names []string) {
	for _, l := range all {
		if l.Language != "" {
			languages = append(languages, l.Language)
		}
		names = append(names, l.example())
	}
	slices.Sort(languages)
	slices.Sort(names)
	return languages, names
}

func (l Library) example() string {
	if l.Name == "redisson" {
		return l.Name
	}
	return l.ID()
}

// Example returns the worker of a language or of a library, and whether there is one.
func Example(name string) (text string, ok bool) {
	i := slices.IndexFunc(all, func(l Library) bool { return name != "" && (name == l.Language || name == l.example()) })
	if i < 0 {
		return "", false
	}
	data, err := workers.ReadFile("_workers/" + all[i].Worker)
	return string(data), err == nil
}

// Words in the place of a fault.
const (
	None             = "none"               // a search without faults
	LoseReplyRetried = "lose-reply-retried" // lose-reply, while the Redis client itself sends a command up to three times more
)

// Faults returns what every library was searched with, one at a time.
func Faults() []string {
	return []string{None, "lose-request", "lose-reply", "late-copy", "delay", "lease-ends", "evict"}
}

// Faults returns what the library was searched with, one at a time.
func (l Library) Faults() []string {
	if l.Retried {
		return append(Faults(), LoseReplyRetried)
	}
	return Faults()
}

// Seen is what came of a search: two workers, and at most one fault of a kind.
type Seen struct {
	Library  string `json:"library"`           // its ID
	Version  string `json:"version,omitempty"` // "" of what is here
	With     string `json:"with,omitempty"`    // the Redis client, with its version
	Fault    string `json:"fault"`
	Date     string `json:"date"`  // of the search, YYYY-MM-DD
	Store    string `json:"store"` // embedded or external
	Ending   string `json:"ending"`
	Orders   int    `json:"orders"`
	Broken   int    `json:"broken"`   // of them
	Diverged int    `json:"diverged"` // replays that diverged
	Rules    []Rule `json:"rules,omitempty"`

	// Judged is the lab's verdict. Of a search from before the lab gave one it is "", and
	// nobody knows whether two were inside.
	Judged   verdict.Verdict  `json:"verdict,omitempty"`
	Unjudged []verdict.Reason `json:"unjudged,omitempty"` // what a judgement lacks
}

// Verdict is what we can say about the library: from a search that was not judged, only
// that a rule is broken.
func (s *Seen) Verdict() verdict.Verdict {
	switch {
	case s.Judged != "":
		return s.Judged
	case s.Broken > 0:
		return verdict.Broken
	default:
		return verdict.Unjudged
	}
}

// Rule is a rule that is broken, that with the smallest order first.
type Rule struct {
	Rule   string `json:"rule"`
	By     string `json:"by,omitempty"` // of mutual-exclusion: marks or effects
	Orders int    `json:"orders"`       // that break it
	Steps  int    `json:"steps"`        // of the smallest
}

// All that was seen, by library and fault. It is safe for concurrent use; nobody may change what it returns.
var kept = sync.OnceValues(func() (map[[2]string]*Seen, error) {
	list := map[[2]string]*Seen{}
	dec := json.NewDecoder(bytes.NewReader(seen))
	for dec.More() {
		s := &Seen{}
		if err := dec.Decode(s); err != nil {
			return nil, fmt.Errorf("libraries: what was seen: %w", err)
		}
		list[[2]string{s.Library, s.Fault}] = s
	}
	return list, nil
})

// Of returns what was seen of a library with a fault, or nil if it was not searched. Nobody may change it. It is safe for
// concurrent use.
func Of(id, fault string) (*Seen, error) {
	list, err := kept()
	return list[[2]string{id, fault}], err
}

// TraceID is the name of a search's trace: the smallest order that breaks a rule.
func TraceID(id, fault string) string { return id + "." + fault }

// Trace returns the trace of that name, JSON Lines compressed by gzip, and whether there is one.
func Trace(name string) ([]byte, bool) {
	data, err := traces.ReadFile("traces/" + name + ".jsonl.gz")
	return data, err == nil
}
