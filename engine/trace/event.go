// Package trace holds what happened in a run: events, the append-only log
// that collects them, and their form as JSON Lines.
//
// A trace is the only thing that the page, the command line and the tests
// know of a run. Its form is a public contract: fields are added, never
// changed in meaning.
package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
)

// Version is the version of the trace format, the header's "relock".
const Version = 1

// Millis is an instant or a length of time in milliseconds since the run
// began; it is written with at most three decimals.
type Millis float64

// MillisOf converts d, rounding to whole microseconds.
func MillisOf(d time.Duration) Millis {
	return Millis(float64(d.Round(time.Microsecond)/time.Microsecond) / 1000)
}

// Duration converts m back to a duration, to the microsecond.
func (m Millis) Duration() time.Duration {
	return time.Duration(math.Round(float64(m)*1000)) * time.Microsecond
}

// Kind names what an event is about.
type Kind string

// The kinds of event.
const (
	KindCommand   Kind = "command"
	KindOutcome   Kind = "outcome"
	KindWork      Kind = "work"
	KindWait      Kind = "wait"
	KindFault     Kind = "fault"
	KindExpired   Kind = "expired"
	KindViolation Kind = "violation"
	KindEnd       Kind = "end"
	KindResource  Kind = "resource"
)

// Key types in a [KeyState].
const (
	TypeNone   = "none"
	TypeString = "string"
	TypeHash   = "hash"
)

// PTTL values with a meaning of their own, as Redis gives them.
const (
	NoExpiry = -1 // the key has no expiry
	NoKey    = -2 // there is no key
)

// KeyState is the lock's key as it is in Redis: the truth.
type KeyState struct {
	Type   string            `json:"type"`            // "none", "string" or "hash"
	Fields map[string]string `json:"fields,omitzero"` // of a hash: owner id to hold count, and "#" with a Locker's id to the number of its last call
	Value  *string           `json:"value,omitempty"` // of a string
	PTTL   int64             `json:"pttl_ms"`         // milliseconds left, or NoExpiry, or NoKey
}

// Absent is the state of a key that does not exist.
func Absent() KeyState { return KeyState{Type: TypeNone, PTTL: NoKey} }

// IsNumber tells whether a field of a lock's hash is the number of a Locker's
// last call ("#A"), and not an owner with its hold count.
func IsNumber(field string) bool { return strings.HasPrefix(field, "#") }

// Exists tells whether there is a key.
func (k KeyState) Exists() bool { return k.Type != TypeNone && k.Type != "" }

// Event is one thing that happened. Body says what; the rest places it.
// Events are values: whoever has one must not change its maps.
type Event struct {
	Seq    int            // 1, 2, … without gaps
	Step   int            // the T of the timeline's row: one decision of the scheduler
	At     Millis         // since the run began
	Thread string         // "" for Redis itself and for the run
	Body   Body           // what happened; its type follows Kind
	Key    KeyState       // the lock's key right after the event; with several nodes, what a majority of them has
	Nodes  []KeyState     // the key on each node, where there are several
	Belief map[string]int // levels that each thread acts as if it held

	// Leaving are the threads that have called their outermost unlock and have
	// had no answer yet, by name. They have left their critical sections, also
	// where Belief still counts their levels.
	Leaving []string
}

// Kind returns the kind of the event's body.
func (e Event) Kind() Kind { return e.Body.kind() }

// Body is what an event is about: one of [Command], [Outcome], [Work],
// [Wait], [Fault], [Expired], [Violation], [End] and [Resource].
type Body interface{ kind() Kind }

// Command is one Redis command as Redis ran it, inside a script or alone.
type Command struct {
	Call    string   `json:"call"`             // "lock", "unlock", "renew", …
	Attempt int      `json:"attempt"`          // 1, 2, … within the call
	Level   int      `json:"level"`            // the level entered, left or renewed
	Script  string   `json:"script,omitempty"` // file name of the script it ran in
	Line    int      `json:"line,omitempty"`   // line of that script, from 1
	Args    []string `json:"args"`             // the command and its arguments
	Reply   any      `json:"reply"`            // nil, int64, string or a list of these
	Error   string   `json:"error,omitempty"`  // Redis' answer where it was an error
	Node    int      `json:"node,omitempty"`   // the node, from 1, where there are several

	GivesBack bool  `json:"gives_back,omitempty"` // of an unlock: see Outcome
	Late      bool  `json:"late,omitempty"`       // a copy that was held up on the way: its caller has given it up, and no Outcome follows
	Number    int64 `json:"number,omitempty"`     // of the call, 1, 2, …, where the lock's calls have numbers
}

// Arg is an argument, 0 the command itself, and "" where there is none.
func (c Command) Arg(i int) string {
	if i < len(c.Args) {
		return c.Args[i]
	}
	return ""
}

// Calls of a scenario of the kind heartbeat, which takes no lock.
const (
	CallBeat = "beat" // the device says that it is there
	CallLook = "look" // somebody looks whether it is
)

// Result is what a call came to, and how a thread ended.
type Result string

// Results of a call ([Outcome]) and of a thread ([End]).
const (
	Acquired    Result = "acquired"
	Reentered   Result = "reentered"
	Refused     Result = "refused"
	Released    Result = "released"
	Decremented Result = "decremented"
	Renewed     Result = "renewed"
	NotHeld     Result = "not-held"
	Exhausted   Result = "exhausted"
	Lost        Result = "lost"
	Failed      Result = "error"
	Online      Result = "online"  // a heartbeat's key was there
	Offline     Result = "offline" // and was not
	Done        Result = "done"
	Crashed     Result = "crashed"
)

// Outcome is what one attempt of a call came to.
type Outcome struct {
	Call    string `json:"call"`
	Result  Result `json:"result"`
	Count   int    `json:"count"` // the hold count that Redis answered with
	Level   int    `json:"level"`
	Attempt int    `json:"attempt"`
	Token   int64  `json:"token,omitempty"` // the fencing token that came with the grant
	Error   string `json:"error,omitempty"`

	// Of a lock that is granted or renewed by several nodes, none of which says
	// it: since the run began, how long its holder may rely on it.
	Until Millis `json:"until_ms,omitempty"`

	// Of an unlock: it undoes a lock call whose fate is not known, or whose
	// grant came too late. Nothing need have been held.
	GivesBack bool `json:"gives_back,omitempty"`
}

// Operations of [Resource].
const (
	OpRead  = "read"
	OpWrite = "write"
)

// Resource is a read or a write of what the lock protects.
type Resource struct {
	Op      string `json:"op"`              // OpRead or OpWrite
	Stock   bool   `json:"stock,omitempty"` // it is a stock; else, without a limit, a counter
	User    string `json:"user,omitempty"`  // of a limit per user: whose purchases Value counts
	Limit   int    `json:"limit,omitempty"` // and how many are allowed, at least 1; 0: there is no limit
	Value   int    `json:"value"`           // after it
	Version int    `json:"version"`         // writes that were taken so far, this one included
	Based   int    `json:"based"`           // of a write: the version that its thread had read
	Token   int64  `json:"token,omitempty"`
	Refused bool   `json:"refused,omitempty"` // of a write: its token is older than one seen before
}

// States of [Work].
const (
	WorkBegin = "begin"
	WorkEnd   = "end"
)

// Work is the begin or the end of a thread's business work at a level.
type Work struct {
	State string `json:"state"` // WorkBegin or WorkEnd
	Level int    `json:"level"`
	For   Millis `json:"for_ms"` // how long the work takes
}

// Reasons of [Wait].
const (
	WaitRetry  = "retry"
	WaitNotify = "notify"
	WaitBeat   = "beat" // of a heartbeat
)

// Wait is a thread going to sleep before its next attempt.
type Wait struct {
	For Millis `json:"for_ms"`
	Why string `json:"why"`
}

// Fault is a fault that struck, in the words of the scenario.
type Fault struct {
	Do    string `json:"do"`
	At    string `json:"at,omitempty"`
	Level int    `json:"level,omitempty"`
	Round int    `json:"round,omitempty"`
	For   string `json:"for,omitempty"` // as the scenario words it: "300ms"
	ForMS Millis `json:"for_ms,omitempty"`
	Scope string `json:"scope,omitempty"`
	By    string `json:"by,omitempty"` // as the scenario words it: "-1s"

	Behind *int   `json:"behind,omitempty"`
	Node   int    `json:"node,omitempty"`       // where there are several
	Thread string `json:"for_thread,omitempty"` // the only one that is cut off
	Keep   bool   `json:"keep,omitempty"`
}

// Expired is Redis dropping the lock's key because its lease ran out.
type Expired struct {
	Was  KeyState `json:"was"`            // the key just before
	Node int      `json:"node,omitempty"` // where there are several
}

// Violation is a rule that was broken, proved by the events before it.
type Violation struct {
	Rule    string   `json:"rule"`
	Threads []string `json:"threads"`
	Detail  string   `json:"detail"`
	Events  []int    `json:"events"` // seq of the events that prove it, in order
}

// End is the end of a thread, or of the run where the event has no thread.
type End struct {
	Result Result `json:"result"`
	Error  string `json:"error,omitempty"`
}

func (Command) kind() Kind   { return KindCommand }
func (Outcome) kind() Kind   { return KindOutcome }
func (Work) kind() Kind      { return KindWork }
func (Wait) kind() Kind      { return KindWait }
func (Fault) kind() Kind     { return KindFault }
func (Expired) kind() Kind   { return KindExpired }
func (Violation) kind() Kind { return KindViolation }
func (End) kind() Kind       { return KindEnd }
func (Resource) kind() Kind  { return KindResource }

type head struct {
	Seq    int    `json:"seq"`
	Step   int    `json:"step"`
	At     Millis `json:"at_ms"`
	Thread string `json:"thread"`
	Kind   Kind   `json:"kind"`
}

type tail struct {
	Key    KeyState       `json:"key"`
	Nodes  []KeyState     `json:"nodes,omitempty"`
	Belief map[string]int `json:"belief"`

	Leaving []string `json:"leaving,omitempty"`
}

// MarshalJSON writes e as one flat object in a fixed order of fields, so that
// equal events are equal bytes.
func (e Event) MarshalJSON() ([]byte, error) {
	belief := e.Belief
	if belief == nil {
		belief = map[string]int{}
	}
	var out []byte
	for _, part := range []any{head{e.Seq, e.Step, e.At, e.Thread, e.Kind()}, e.Body, tail{e.Key, e.Nodes, belief, e.Leaving}} {
		b, err := json.Marshal(part)
		if err != nil {
			return nil, fmt.Errorf("trace: event %d: %w", e.Seq, err)
		}
		if len(out) == 0 {
			out = b
			continue
		}
		out[len(out)-1] = ',' // "}" of the part before
		out = append(out, b[1:]...)
	}
	return out, nil
}

// UnmarshalJSON reads what MarshalJSON writes. It fails on a kind it does not
// know.
func (e *Event) UnmarshalJSON(b []byte) error {
	var h head
	var t tail
	if err := json.Unmarshal(b, &h); err != nil {
		return fmt.Errorf("trace: event: %w", err)
	}
	if err := json.Unmarshal(b, &t); err != nil {
		return fmt.Errorf("trace: event %d: %w", h.Seq, err)
	}
	body, err := decodeBody(h.Kind, b)
	if err != nil {
		return fmt.Errorf("trace: event %d: %w", h.Seq, err)
	}
	*e = Event{Seq: h.Seq, Step: h.Step, At: h.At, Thread: h.Thread, Body: body, Key: t.Key, Nodes: t.Nodes, Belief: t.Belief, Leaving: t.Leaving}
	return nil
}

func decodeBody(k Kind, b []byte) (Body, error) {
	switch k {
	case KindCommand:
		return decodeCommand(b)
	case KindOutcome:
		return decodeAs[Outcome](b)
	case KindWork:
		return decodeAs[Work](b)
	case KindWait:
		return decodeAs[Wait](b)
	case KindFault:
		return decodeAs[Fault](b)
	case KindExpired:
		return decodeAs[Expired](b)
	case KindViolation:
		return decodeAs[Violation](b)
	case KindEnd:
		return decodeAs[End](b)
	case KindResource:
		return decodeAs[Resource](b)
	default:
		return nil, fmt.Errorf("unknown kind %q", k)
	}
}

// decodeCommand keeps whole numbers whole.
func decodeCommand(b []byte) (Body, error) {
	var c Command
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	err := dec.Decode(&c)
	c.Reply = whole(c.Reply)
	return c, err
}

func whole(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		return v.String()
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	}
	return v
}

func decodeAs[T Body](b []byte) (Body, error) {
	var v T
	err := json.Unmarshal(b, &v)
	return v, err
}
