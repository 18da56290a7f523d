package infer

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"relock/engine/check"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/scenario"
)

// Frame is what a trace of other programs' clients has instead of a scenario. It says
// nothing about their work.
type Frame struct {
	Title   string        // is cut where it is long
	Key     string        // the lock's, or ""
	Also    []string      // keys of further locks
	Kind    check.Kind    // who may be inside at once, if somebody has said it
	Hash    bool          // it is a hash
	Nodes   int           // servers; more than one: it is a lock of their majority
	Lease   time.Duration // the longest that was seen, or 0
	Threads []string
	Seed    uint64
}

// Scenario returns the frame as a scenario. It fails if a thread's name is invalid.
func (f Frame) Scenario() (*scenario.Scenario, error) {
	type thread struct {
		Name string `json:"name"`
	}
	form := struct {
		Title string `json:"title"`
		Lock  struct {
			Protocol string `json:"protocol"`
			Key      string `json:"key,omitempty"`
			Kind     string `json:"kind,omitempty"`
			Lease    string `json:"lease"`
			Watchdog string `json:"watchdog"`
			Nodes    int    `json:"nodes,omitempty"`
		} `json:"lock"`
		Locks   []string `json:"locks,omitempty"`
		Threads []thread `json:"threads"`
		Seed    uint64   `json:"seed"`
	}{Title: Short(strings.Map(printed, f.Title), scenario.MaxTitle), Seed: min(f.Seed, scenario.MaxSeed)}
	form.Lock.Protocol, form.Lock.Key, form.Lock.Watchdog = exhibit.Mutex.Name, scenario.NoKey, "off"
	form.Lock.Kind = f.Kind.String()
	if f.Hash {
		form.Lock.Protocol = protocol.Reentrant.Name
	}
	if f.Nodes > 1 {
		form.Lock.Protocol, form.Lock.Nodes = protocol.Redlock.Name, f.Nodes
	}
	if f.Key != "" {
		form.Lock.Key = frameKey(f.Key)
	}
	if len(f.Also) > 0 {
		form.Lock.Key, form.Locks = "", NamesOfLocks(append([]string{f.Key}, f.Also...))
	}
	lease := scenario.MaxDuration
	if f.Lease > 0 {
		lease = min(f.Lease, scenario.MaxDuration)
	}
	form.Lock.Lease = lease.String()
	for _, t := range f.Threads {
		form.Threads = append(form.Threads, thread{t})
	}
	text, err := json.Marshal(form)
	if err != nil {
		return nil, fmt.Errorf("infer: a frame: %w", err)
	}
	sc, err := scenario.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("infer: a frame: %w", err)
	}
	return sc, nil
}

// plain returns a character as a scenario's key may have it: a hash tag's braces and spaces are of keys elsewhere.
func plain(r rune) rune {
	switch r {
	case '{':
		return '('
	case '}':
		return ')'
	case ' ':
		return '_'
	}
	return printed(r)
}

// printed returns a character that can be printed.
func printed(r rune) rune {
	if !unicode.IsPrint(r) {
		return '?'
	}
	return r
}

// Short cuts a text to n characters.
func Short(s string, n int) string {
	r := []rune(strings.ToValidUTF8(s, "?"))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:n-1]) + "…"
}
