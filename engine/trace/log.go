package trace

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"relock/engine/pause"
	"relock/engine/phrase"
)

// Stores and clocks of a [Header].
const (
	StoreEmbedded = "embedded"
	StoreExternal = "external"
	StoreLab      = "lab" // somebody's own client, through the lab's gate
	StoreLog      = "log" // commands of a log from elsewhere, run again on an embedded Redis
	ClockVirtual  = "virtual"
	ClockWall     = "wall"
)

// By says from what the beliefs of a [Lab] were read.
const (
	ByMarks   = "marks"   // ECHO relock:enter and relock:leave
	ByEffects = "effects" // what commands did to the key
)

// Header is the first line of a trace.
type Header struct {
	Relock   int               `json:"relock"`   // Version
	Scenario json.RawMessage   `json:"scenario"` // as it ran, with defaults filled in
	Seed     uint64            `json:"seed"`
	Store    string            `json:"store"`  // StoreEmbedded, StoreExternal, StoreLab or StoreLog
	Clock    string            `json:"clock"`  // ClockVirtual or ClockWall
	Owners   map[string]string `json:"owners"` // owner id to thread
	Lab      *Lab              `json:"lab,omitempty"`
	Log      *FromLog          `json:"log,omitempty"`

	// In a whole trace: what we can say about the lock, and what a judgement lacks, as
	// engine/verdict has them. Readers judge again.
	Verdict  string            `json:"verdict,omitempty"`
	Unjudged []json.RawMessage `json:"unjudged,omitempty"`
}

// Framed reports whether the scenario is only a frame: the threads, the lock's key and
// the longest lease seen. Nothing can be run again from it.
func (h Header) Framed() bool { return h.Store == StoreLab || h.Store == StoreLog }

// Scripts returns the texts of the clients' own scripts that a framed trace brings along,
// by the names that commands have, and whether it is one.
func (h Header) Scripts() (map[string]string, bool) {
	switch {
	case h.Lab != nil:
		return h.Lab.Scripts, true
	case h.Log != nil:
		return h.Log.Scripts, true
	}
	return nil, false
}

// FromLog is the log that a trace of StoreLog was read from, and what the log does not say.
// Replies, the key and its lease are recomputed.
type FromLog struct {
	Format    string      `json:"format"`            // "monitor", "redisson", "redis-cli"
	By        string      `json:"by"`                // what beliefs were read from: ByMarks or ByEffects
	ThreadsBy string      `json:"threads_by"`        // who is a thread: "owner", "value" or "connection"
	Key       string      `json:"key"`               // the lock's
	Hash      bool        `json:"hash,omitempty"`    // it is one, and not a string
	Commands  int         `json:"commands"`          // that name it
	Servers   []LogServer `json:"servers,omitempty"` // of several: that of each node
	Threads   []LogThread `json:"threads"`
	Others    []LogKey    `json:"others,omitempty"` // other keys that could be locks, the busiest first
	Notes     []LogNote   `json:"notes,omitempty"`

	Scripts map[string]string `json:"scripts,omitempty"` // texts of the clients' scripts, by the names that commands have
}

// LogServer is the log of one of several servers.
type LogServer struct {
	Name string `json:"name"`           // the file's, or a container's
	Line int    `json:"line,omitempty"` // its first, where the lines of several files are counted through
}

// LogThread says who a thread is: what the key named it, and from where it came; at most
// a few of each.
type LogThread struct {
	Name    string   `json:"name"`
	Owners  []string `json:"owners,omitempty"`
	Clients []string `json:"clients,omitempty"`
}

// LogKey is a key that could be a lock, with how many commands name it.
type LogKey struct {
	Key      string `json:"key"`
	Commands int    `json:"commands"`
}

// LogNote is something that the log does not say, or not for sure.
type LogNote struct {
	What  string `json:"what"` // one of the Note constants
	Count int    `json:"count,omitempty"`
	Line  int    `json:"line,omitempty"` // of the file, where it is so first
}

// Lab is where a trace of StoreLab comes from. Its scenario is only a frame: the threads,
// the lock's key and the longest lease seen.
type Lab struct {
	Command []string        `json:"command"`         // the workers' command; none: clients that came by themselves
	By      string          `json:"by"`              // what beliefs were read from: ByMarks or ByEffects
	Redis   string          `json:"redis"`           // StoreEmbedded or StoreExternal
	Order   json.RawMessage `json:"order,omitempty"` // the decisions, as the lab takes them for a replay

	Scripts map[string]string `json:"scripts,omitempty"` // texts of the clients' scripts, by the names that commands have
}

// Log is the append-only list of a run's events. Any number of readers may
// follow it while one writer appends. The zero value is ready to use. A Log is
// safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	events  []Event
	closed  bool
	changed chan struct{} // closed and replaced on each change
}

// Append numbers e, adds it, and returns it with its Seq. It panics if the log
// is closed.
func (l *Log) Append(e Event) Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		panic("trace: append to a closed log")
	}
	e.Seq = len(l.events) + 1
	l.events = append(l.events, e)
	l.wake()
	return e
}

// Close marks the log as complete. Closing twice is harmless.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.wake()
}

func (l *Log) wake() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// Since returns the events after seq, and whether the log is closed. The
// caller must not change the slice.
func (l *Log) Since(seq int) (events []Event, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.since(seq), l.closed
}

func (l *Log) since(seq int) []Event {
	if seq < 0 {
		seq = 0
	}
	if seq >= len(l.events) {
		return nil
	}
	return l.events[seq:len(l.events):len(l.events)]
}

// Wait returns the events after seq as soon as there is one, or none if the log
// is closed and ends at seq. It fails only with ctx's error.
func (l *Log) Wait(ctx context.Context, seq int) (events []Event, closed bool, err error) {
	for {
		l.mu.Lock()
		events, closed = l.since(seq), l.closed
		if len(events) > 0 || closed {
			l.mu.Unlock()
			return events, closed, nil
		}
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

// Len returns the number of events so far.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.events)
}

// Write writes the header and the events as JSON Lines.
func Write(w io.Writer, h Header, events []Event) error {
	bw := bufio.NewWriter(w)
	enc := json.NewEncoder(bw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(h); err != nil {
		return fmt.Errorf("trace: write header: %w", err)
	}
	for _, e := range events {
		if err := enc.Encode(e); err != nil {
			return fmt.Errorf("trace: write event %d: %w", e.Seq, err)
		}
	}
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("trace: write: %w", err)
	}
	return nil
}

// ErrVersion is returned by Read for a trace of an unknown version.
var ErrVersion = errors.New("trace: unknown version")

// notEvent says why a line is no event: what the decoder says is for programmers.
func notEvent(err error) phrase.Wording {
	if why, ok := phrase.Of(err); ok {
		return why
	}
	return phrase.Say("it is not an event of a trace")
}

// Read reads one trace in JSON Lines, up to the end of r. It fails with one sentence
// about a line, and with what pause.Here says.
func Read(ctx context.Context, r io.Reader) (Header, []Event, error) {
	dec := json.NewDecoder(r)
	var h Header
	if err := dec.Decode(&h); err != nil {
		return h, nil, &lineError{err, 1, phrase.Say("it is not the header of a trace")}
	}
	if h.Relock != Version {
		return h, nil, &lineError{ErrVersion, 1, phrase.Say("it is a trace of version %d; allowed: %d", h.Relock, Version)}
	}
	var events []Event
	for {
		if err := pause.Here(ctx); err != nil {
			return h, events, err
		}
		var e Event
		err := dec.Decode(&e)
		if errors.Is(err, io.EOF) {
			return h, events, nil
		}
		if err != nil {
			return h, events, &lineError{err, len(events) + 2, notEvent(err)}
		}
		events = append(events, e)
	}
}
