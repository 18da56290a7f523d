// Package trace holds what happened in a run: the events, the append-only log
// that collects them, and their form as JSON Lines.
//
// The page, the command line and the tests know a run only by its trace. Its
// form is a public contract: there may be new fields, but no field ever changes
// its meaning.
package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"relock/engine/phrase"
)

// Version is the version of the trace format, the header's "relock".
const Version = 1

// Millis is a time since the run began, or a duration, in milliseconds. It is
// written with at most three decimals.
type Millis float64

// MillisOf converts d, rounded to whole microseconds.
func MillisOf(d time.Duration) Millis {
	return Millis(float64(d.Round(time.Microsecond)/time.Microsecond) / 1000)
}

// Duration converts m to a duration, to the microsecond; what is longer than durations can
// be, 292 years, is the longest.
func (m Millis) Duration() time.Duration {
	const longest = math.MaxInt64
	if m >= Millis(longest)/1e6 {
		return longest
	}
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
	TypeSet    = "set"
	TypeZSet   = "zset" // a sorted set
	TypeList   = "list"
)

// PTTL values with a special meaning, as in Redis.
const (
	NoExpiry = -1 // the key has no expiry
	NoKey    = -2 // there is no key
)

// Of a hash of readers and a writer: the field that says who holds it, and its value where
// readers do, and where a writer does. Source: RedissonReadLock, RedissonWriteLock.
const (
	Mode      = "mode"
	ModeRead  = "read"
	ModeWrite = "write"
)

// KeyState is the lock's key as it really is in Redis.
type KeyState struct {
	Type   string            `json:"type"`            // "none", "string", "hash", or another of Redis' types
	Fields map[string]string `json:"fields,omitzero"` // of a hash: owner id to hold count, and "#" with a Locker's id to the number of its last call; of a sorted set: member to score; of a set: member to ""
	Value  *string           `json:"value,omitempty"` // of a string
	Length int64             `json:"length,omitzero"` // of a list: how many elements it has
	PTTL   int64             `json:"pttl_ms"`         // milliseconds left, or NoExpiry, or NoKey
}

// Score is a score of a sorted set as a KeyState has it: in digits, as many as it takes.
func Score(of float64) string { return strconv.FormatFloat(of, 'f', -1, 64) }

// Absent is the state of a key that does not exist.
func Absent() KeyState { return KeyState{Type: TypeNone, PTTL: NoKey} }

// IsNumber reports whether a field of a lock's hash ("#A") holds the number of
// a Locker's last call, and not an owner's hold count.
func IsNumber(field string) bool { return strings.HasPrefix(field, "#") }

// Exists reports whether the key exists.
func (k KeyState) Exists() bool { return k.Type != TypeNone && k.Type != "" }

// CountMembers returns how many fields are members.
func (k KeyState) CountMembers() int {
	n := 0
	for field := range k.Fields {
		if k.IsMember(field) {
			n++
		}
	}
	return n
}

// IsMember reports whether a field of the key stands for somebody who holds the lock: not the
// mode of a hash, and not the number of a call in it.
func (k KeyState) IsMember(field string) bool {
	return k.Type != TypeHash || field != Mode && !IsNumber(field)
}

// Mode returns what a hash of readers and a writer says of who holds it: ModeRead, ModeWrite
// or another word; "" where it says nothing.
func (k KeyState) Mode() string {
	if k.Type != TypeHash {
		return ""
	}
	return k.Fields[Mode]
}

// LockState is one of several locks as an event left it.
type LockState struct {
	Lock   string         `json:"lock"`   // its key, as the scenario names it
	Key    KeyState       `json:"key"`    // as it really is in Redis
	Belief map[string]int `json:"belief"` // levels each thread believes it holds of this lock
}

// Of returns the event as it is to one lock alone, by its place in Locks: with this
// lock's key, and with what each thread believes of it. A call of this lock is of level
// 1, as a thread takes each lock once. It reports false where the event is about another
// lock.
func (e Event) Of(lock int) (Event, bool) {
	one := e.Locks[lock]
	if e.Lock != "" && e.Lock != one.Lock {
		return Event{}, false
	}
	e.Key, e.Belief, e.Locks = one.Key, one.Belief, nil
	if e.Lock == "" {
		return e, true
	}
	switch b := e.Body.(type) {
	case Command:
		b.Level = 1
		e.Body = b
	case Outcome:
		b.Level = 1
		e.Body = b
	}
	return e, true
}

// Event is one thing that happened: Body says what, the rest when and where.
// Events are values; do not change their maps.
type Event struct {
	Seq    int            // 1, 2, … without gaps
	Step   int            // the T of the timeline's row: one decision of the scheduler
	At     Millis         // since the run began
	Thread string         // "" for Redis itself and for the run
	Body   Body           // what happened; its type follows Kind
	Key    KeyState       // the lock's key right after the event; with several nodes, what a majority has
	Nodes  []KeyState     // the key on each node, where there are several
	Belief map[string]int // levels each thread believes it holds, of all locks

	// If a scenario has several locks: which of them the event is about, by its key as
	// the scenario names it ("": none, or all of them), and each of them right after the
	// event, in the scenario's order. Key is then that of the first.
	Lock  string
	Locks []LockState

	// Leaving has the threads, by name, that are on their way out: they have
	// called the first unlock after which no level has work left to do, and
	// their outermost one has not been answered yet. They have left their
	// critical sections, even if Belief still counts their levels.
	Leaving []string
}

// Kind returns the kind of the event's body.
func (e Event) Kind() Kind { return e.Body.kind() }

// Body is what an event is about: one of [Command], [Outcome], [Work],
// [Wait], [Fault], [Expired], [Violation], [End] and [Resource].
type Body interface{ kind() Kind }

// Command is one Redis command as Redis ran it, in a script or on its own.
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

	GivesBack bool      `json:"gives_back,omitempty"` // of an unlock; see Outcome
	OldMaster bool      `json:"old_master,omitempty"` // of two, the one whose writes will be lost: the event's Key is that of the other
	OldKey    *KeyState `json:"old_key,omitempty"`    // the lock's key on that old master right after it
	Late      bool      `json:"late,omitempty"`       // a delayed copy whose caller has given up, so no Outcome follows
	Number    int64     `json:"number,omitempty"`     // of the call, 1, 2, …, if the protocol numbers calls
	Eval      *Eval     `json:"eval,omitempty"`       // of a script's first command: what it was called with; nil also where nobody noted it
}

// Eval is what a script was called with, its keys being named as those of its commands.
type Eval struct {
	Keys []string `json:"keys"`
	Argv []string `json:"argv"`
}

// Arg returns an argument, 0 being the command itself; "" if there is none.
func (c Command) Arg(i int) string {
	if i < len(c.Args) {
		return c.Args[i]
	}
	return ""
}

// Quoted returns a string as redis-cli and MONITOR show it, byte by byte.
func Quoted(text string) string {
	short := map[byte]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\a': `\a`, '\b': `\b`}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(text) {
		switch s, ok := short[c]; {
		case ok:
			b.WriteString(s)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Calls of heartbeat scenarios, which take no lock.
const (
	CallBeat = "beat" // the device reports that it is alive
	CallLook = "look" // someone checks whether it is
)

// Result is the outcome of a call, or how a thread ended.
type Result string

// Results of a call ([Outcome]) and of a thread ([End]).
const (
	Acquired    Result = "acquired"
	Reentered   Result = "reentered"
	Refused     Result = "refused"
	Released    Result = "released"
	Decremented Result = "decremented"
	Renewed     Result = "renewed"
	Aged        Result = "aged" // its watchdog stops: it has renewed for as long as it may
	NotHeld     Result = "not-held"
	Exhausted   Result = "exhausted"
	Lost        Result = "lost"
	Failed      Result = "error"
	Cancelled   Result = "cancelled" // the call's context ended before an answer
	Online      Result = "online"    // a heartbeat's key was there
	Offline     Result = "offline"   // and was not
	Done        Result = "done"
	Crashed     Result = "crashed"
)

// Outcome is the result of one attempt of a call.
type Outcome struct {
	Call    string `json:"call"`
	Result  Result `json:"result"`
	Count   int    `json:"count"` // the hold count in Redis' answer
	Level   int    `json:"level"`
	Attempt int    `json:"attempt"`
	Token   int64  `json:"token,omitempty"` // the fencing token issued with the grant
	Error   string `json:"error,omitempty"`
	Cause   Cause  `json:"cause,omitzero"` // of a call that failed

	// If several nodes grant or renew a lock: how long, since the run began,
	// its holder may rely on it, which no single node says.
	Until Millis `json:"until_ms,omitempty"`

	// For an unlock: it undoes a lock call whose outcome is unknown or whose
	// grant came too late. The level may never have been held.
	GivesBack bool `json:"gives_back,omitempty"`

	// For a lock call of somebody's own client: the key still held a deadline, and it was over.
	TakesOver bool `json:"takes_over,omitempty"`
}

// Operations of [Resource].
const (
	OpRead  = "read"
	OpWrite = "write"
)

// Resource is a read or a write of what the lock protects.
type Resource struct {
	Op      string `json:"op"`               // OpRead or OpWrite
	Stock   bool   `json:"stock,omitempty"`  // it is a stock; otherwise, without a limit and no effect, a counter
	Effect  bool   `json:"effect,omitempty"` // it must happen once: Value is how often it did
	User    string `json:"user,omitempty"`   // with a limit per user: whose purchases Value counts
	Limit   int    `json:"limit,omitempty"`  // how many purchases are allowed, at least 1; 0 means no limit
	Value   int    `json:"value"`            // after the operation
	Text    string `json:"text,omitempty"`   // what is there instead, where other people's programs write no number: its beginning, in quotes
	Version int    `json:"version"`          // writes accepted so far, including this one
	Based   int    `json:"based"`            // of a write: the version its thread had read
	Token   int64  `json:"token,omitempty"`
	Refused bool   `json:"refused,omitempty"` // of a write: rejected, as its token is older than one seen before, or by Check
	Check   string `json:"check,omitempty"`   // of a write rejected for another reason: "version", it is not that which its thread has read, or "key", it was done already
}

// States of [Work].
const (
	WorkBegin = "begin"
	WorkEnd   = "end"
)

// Work is the beginning or end of a thread's business work at a level.
type Work struct {
	State     string `json:"state"` // WorkBegin or WorkEnd
	Level     int    `json:"level"`
	Name      string `json:"name,omitempty"`      // of the lock, where the thread has said it
	Reads     bool   `json:"reads,omitempty"`     // it has said that it shares with other readers
	For       Millis `json:"for_ms"`              // how long the work takes
	After     bool   `json:"after,omitempty"`     // it is what the level does when its nested call has returned
	Cancelled bool   `json:"cancelled,omitempty"` // of an end: the hold's context ended before the work was done
}

// Reasons of [Wait].
const (
	WaitRetry  = "retry"
	WaitNotify = "notify"
	WaitClient = "client" // of a client library, before it sends a request again by itself
	WaitBeat   = "beat"   // of a heartbeat
)

// Wait is a thread's pause before its next attempt.
type Wait struct {
	For Millis `json:"for_ms"`
	Why string `json:"why"`
}

// Fault is a fault that struck, in the scenario's words.
type Fault struct {
	Do    string `json:"do"`
	Error string `json:"error,omitempty"` // the code that Redis answers: "BUSY"
	At    string `json:"at,omitempty"`
	Level int    `json:"level,omitempty"`
	Round int    `json:"round,omitempty"`
	For   string `json:"for,omitempty"` // as in the scenario: "300ms"
	ForMS Millis `json:"for_ms,omitempty"`
	Scope string `json:"scope,omitempty"`
	By    string `json:"by,omitempty"` // as in the scenario: "-1s"

	Behind  *int   `json:"behind,omitempty"`
	Replica int    `json:"replica,omitempty"`    // that takes over, of a lock that waits for some
	Node    int    `json:"node,omitempty"`       // where there are several
	Thread  string `json:"for_thread,omitempty"` // the only one that is cut off
	Keep    bool   `json:"keep,omitempty"`
	Lose    string `json:"lose,omitempty"` // as in the scenario: "1s"
	LoseMS  Millis `json:"lose_ms,omitempty"`
}

// Expired is Redis dropping the lock's key because its lease ran out.
type Expired struct {
	Was  KeyState `json:"was"`            // the key just before
	Node int      `json:"node,omitempty"` // where there are several
}

// Violation is a broken rule, with the earlier events that prove it.
type Violation struct {
	Rule    string   `json:"rule"`
	Threads []string `json:"threads"`
	Detail  string   `json:"detail"`
	Events  []int    `json:"events"` // seq of the events that prove it, in order

	// For is how long somebody is shut out, NoExpiry being for ever; 0 of any other rule,
	// and where threads wait for something that never comes.
	For Millis `json:"for_ms,omitempty"`

	// Untold are threads that believe that they hold the lock as far as their commands
	// show: no answer has told them of the loss. Only a reading of what commands did to
	// the key names them.
	Untold []string `json:"untold,omitempty"`
}

// End is the end of a thread, or of the run if the event has no thread.
type End struct {
	Result Result `json:"result"`
	Error  string `json:"error,omitempty"` // what ended it early
	Cause  Cause  `json:"cause,omitzero"`  // of what failed, or was ended early

	// Of a run on the wall clock: how late its timers were at worst.
	Lateness Millis `json:"lateness_ms,omitempty"`
}

// Late reports whether a run whose locks have this lease was late: some timer came by a
// tenth of the lease or more too late, so that its instants are not the scenario's.
func (e End) Late(lease time.Duration) bool {
	return e.Lateness > 0 && e.Lateness.Duration() >= Tolerance(lease)
}

// Tolerance is how late a timer may not be, where locks have this lease: a tenth of it.
func Tolerance(lease time.Duration) time.Duration { return lease / 10 }

// Stopped is the Error of a run that somebody stopped.
const Stopped = "stopped"

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
	Lock   string `json:"lock,omitempty"`
}

type tail struct {
	Key    KeyState       `json:"key"`
	Nodes  []KeyState     `json:"nodes,omitempty"`
	Belief map[string]int `json:"belief"`

	Leaving []string    `json:"leaving,omitempty"`
	Locks   []LockState `json:"locks,omitempty"`
}

// MarshalJSON writes e as one flat object with its fields in a fixed order, so
// that equal events are equal bytes.
func (e Event) MarshalJSON() ([]byte, error) {
	belief := e.Belief
	if belief == nil {
		belief = map[string]int{}
	}
	var out []byte
	for _, part := range []any{head{e.Seq, e.Step, e.At, e.Thread, e.Kind(), e.Lock}, e.Body, tail{e.Key, e.Nodes, belief, e.Leaving, e.Locks}} {
		b, err := json.Marshal(part)
		if err != nil {
			return nil, fmt.Errorf("trace: event %d: %w", e.Seq, err)
		}
		if len(out) == 0 {
			out = b
			continue
		}
		out[len(out)-1] = ',' // over the "}" of the previous part
		out = append(out, b[1:]...)
	}
	return out, nil
}

// UnmarshalJSON reads what MarshalJSON writes. It fails on unknown kinds.
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
	*e = Event{Seq: h.Seq, Step: h.Step, At: h.At, Thread: h.Thread, Body: body, Key: t.Key, Nodes: t.Nodes, Belief: t.Belief, Leaving: t.Leaving, Lock: h.Lock, Locks: t.Locks}
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
		return nil, phrase.New("its kind %.60q is unknown", string(k))
	}
}

// decodeCommand preserves whole numbers.
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
