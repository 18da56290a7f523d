// Package interpreter runs scripts as Redis does: Lua 5.1 with Redis' libraries.
// The caller gives a script a [Redis] that runs its commands. The package knows no other
// Redis, and what a script can do is what is listed here: no files, no network, no clock.
package interpreter

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // Redis' name of a script
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// maxText is how many bytes one text has that a script makes.
const maxText = 1 << 20

// Redis runs the commands of a script.
type Redis interface {
	// Knows reports whether it has a command of this name, in any case.
	Knows(verb string) bool
	// Reads reports whether a command of this name changes nothing.
	Reads(verb string) bool
	// Do runs a command, which is not empty, and returns the answer in RESP2.
	Do(args []string) []byte
}

// Script is one script to run.
type Script struct {
	Text       string
	Keys, Args []string
	Redis      Redis
	// Context ends the script when it is done, whatever the script catches; nil never
	// does.
	Context context.Context
	// ReadOnly refuses commands that write.
	ReadOnly bool
	// Framed has return redis.call(…) keep its line. In Lua it is a tail call, and
	// has none.
	Framed bool
}

// Outcome is what a script came to.
type Outcome struct {
	// Reply is nil, int64, string, Status, Failure, Double, Map, Set, BigNumber, Verbatim,
	// or a list of these. It is a Failure, too, if the script returned an error.
	Reply any
	// Err is the error that nobody caught, as it would be on the wire ("ERR …"), or "".
	Err string
	// Lines are where the last error was raised, and from where that was called.
	Lines Lines
}

// Status is a reply like OK.
type Status string

// Failure is a reply that is an error.
type Failure string

// Replies of a script that a client gets in other words if it does not speak RESP3.
type (
	// Double is a number with a fraction.
	Double float64
	// Map is keys, each with its value behind it.
	Map []any
	// Set is its members.
	Set []any
	// BigNumber is a number in digits.
	BigNumber string
	// Verbatim is a text of a format, which has three letters.
	Verbatim struct{ Format, Text string }
)

// Interpreter runs one script at a time, each as if it were the first. It is not safe
// for concurrent use.
type Interpreter struct {
	global, ofText *table
	next, inOrder  *function // of pairs, and of ipairs

	// of the script that runs
	redis      Redis
	sha        string
	ctx        context.Context
	reads      bool   // it may not write
	fault      *Fault // why it must end
	trace      Lines  // of the last error
	message    string // its text, or ""
	dice       dice
	json       jsonSettings
	levels     []level // functions that have been called, and are not over
	deep       int     // calls of the script from native functions
	weight     int     // of the syntax of the functions that were called
	left       int     // steps, until it is looked whether it must end
	steps      int     // of its patterns
	identities uint64
	thread     *thread // that runs, or nil
	threads    []*thread

	following *following // its recorded answers, of a script that is followed; else nil

	addresses map[value]int // of what was told of, in that order
}

// New returns an interpreter.
func New() *Interpreter {
	l := libraries()
	r := &Interpreter{global: &table{meta: l.global.meta, readonly: true}, ofText: l.ofText, next: l.next, inOrder: l.inOrder}
	l.global.each(r.global.set)
	r.global.set("_G", r.global)
	return r
}

// Digest is Redis' name of a script.
func Digest(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // Redis' name of a script
	return hex.EncodeToString(sum[:])
}

// Run runs a script. It fails with a [*Fault].
func (r *Interpreter) Run(s Script) (Outcome, error) {
	c, err := compile(source{text: s.Text, framed: s.Framed})
	if err != nil {
		return Outcome{}, err
	}
	r.begin(s)
	r.ctx, r.reads, r.left = s.Context, s.ReadOnly || c.reads, between
	o := r.eval(c.code, s.Keys, s.Args)
	if r.fault != nil {
		return Outcome{}, r.fault
	}
	o.Lines = r.lines()
	return o, nil
}

// begin forgets the script before.
func (r *Interpreter) begin(s Script) {
	r.redis, r.sha, r.fault, r.trace, r.message, r.steps = s.Redis, Digest(s.Text), nil, nil, "", 0
	r.levels, r.deep, r.weight, r.identities, r.thread, r.threads = r.levels[:0], 0, 0, 1<<20, nil, nil
	r.addresses, r.ctx, r.following, r.json = map[value]int{}, nil, nil, usualJSON
	r.dice.seed(0)
}

// eval runs code.
func (r *Interpreter) eval(code *code, keys, args []string) (o Outcome) {
	defer r.leave()
	r.global.set("KEYS", r.list(keys))
	r.global.set("ARGV", r.list(args))
	var reply value
	if failed := r.try(func() { reply = first(r.call(&function{code: code, id: r.identity()}, nil, nil)) }); failed != nil {
		r.note(failed)
		if r.ended() {
			return o
		}
		o.Err = cut(r.uncaught(failed.value), maxError)
		return o
	}
	out := replier{left: maxReply}
	if o.Reply = out.value(reply, 0); out.large {
		r.fault = &Fault{Kind: ErrTooLarge, What: "its reply"}
	}
	return o
}

// leave ends what the script has left.
func (r *Interpreter) leave() {
	for n := 0; n < len(r.threads); n++ {
		r.threads[n].stop()
	}
	r.threads = nil
}

func (r *Interpreter) list(words []string) *table {
	t := r.newTable(0, 0)
	for n, w := range words {
		t.setAt(n+1, w)
	}
	return t
}

// mostCalls is how many functions call one another at most.
func (r *Interpreter) mostCalls() int {
	if r.following != nil {
		return maxFollowedCalls
	}
	return maxCalls
}

// longest is how many bytes one text has that a script makes.
func (r *Interpreter) longest() int {
	if r.following != nil {
		return maxFollowed
	}
	return maxText
}

// ended reports whether the script must end, whatever it has caught.
func (r *Interpreter) ended() bool { return r.fault != nil }

// stop ends the script for good.
func (r *Interpreter) stop(why *Fault) {
	if r.fault == nil {
		r.fault = why
	}
	r.throw(nil)
}

// large ends the script for good.
func (r *Interpreter) large(what string) { r.stop(&Fault{Kind: ErrTooLarge, What: what}) }

// positions are those of an error's text.
var positions = regexp.MustCompile(`\b` + Chunk + `:(\d+):`)

// note remembers where an error was raised: the one that a script must not catch, or the
// last of any other.
func (r *Interpreter) note(t *thrown) {
	if r.fault != nil {
		if r.fault.Lines == nil {
			r.fault.Lines = t.lines
		}
		return
	}
	r.trace, r.message = t.lines, ""
	if text, ok := t.value.(string); ok {
		r.message = cut(text, 200)
	}
}

// lines are those of the last error.
func (r *Interpreter) lines() Lines {
	if m := positions.FindStringSubmatch(r.message); m != nil { // error may have named one farther out
		if n, err := strconv.Atoi(m[1]); err == nil && !slices.Contains(r.trace, n) {
			return slices.Insert(slices.Clone(r.trace), 0, n)
		}
	}
	return r.trace
}

func cut(text string, n int) string { return text[:min(n, len(text))] }

// uncaught is what Redis answers to an error that nobody caught.
func (r *Interpreter) uncaught(v value) string {
	at := ""
	if len(r.trace) > 0 {
		at = " script: " + r.sha + ", on @" + Chunk + ":" + strconv.Itoa(r.trace[0]) + "."
	}
	text := "ERR unknown error"
	switch v := v.(type) {
	case *table:
		if failed, ok := v.get("err").(string); ok {
			text = failed
		}
	default:
		text = "ERR " + r.written(v)
	}
	return oneLine(text) + at
}

// oneLine is a text as it can be on the wire.
func oneLine(text string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(text) }

// do runs one command of the script, and returns Redis' answer as Lua has it, or
// Redis' error.
func (r *Interpreter) do(args []string) (value, string) {
	if r.following != nil {
		return r.answered(args)
	}
	if refused(args) {
		return nil, NotFromScripts
	}
	if !r.redis.Knows(args[0]) {
		return nil, "ERR Unknown Redis command called from script"
	}
	if r.reads && !r.redis.Reads(args[0]) {
		return nil, "ERR Write commands are not allowed from read-only scripts."
	}
	if filled(args) > maxText {
		r.large("a value in Redis")
	}
	raw := r.redis.Do(args)
	if len(raw) > maxText {
		r.large("a reply of Redis")
	}
	v, err := server.ParseReply(bufio.NewReaderSize(bytes.NewReader(raw), 64)) // there is one for each command: the usual 4 kB would be much
	if err != nil {
		if strings.HasPrefix(err.Error(), "ERR wrong number of arguments") {
			return nil, "ERR Wrong number of args calling Redis command from script"
		}
		return nil, err.Error()
	}
	return r.received(v), ""
}

// filled is how many bytes a command fills up to the offset that it writes at: few
// bytes ask for many.
func filled(args []string) int64 {
	if len(args) < 3 {
		return 0
	}
	offset, _ := strconv.ParseInt(args[2], 10, 64) // what is no number Redis refuses
	switch strings.ToUpper(args[0]) {
	case "SETRANGE":
		return offset
	case "SETBIT":
		return offset / 8
	default:
		return 0
	}
}

// received is an answer of Redis as Lua has it.
func (r *Interpreter) received(v any) value {
	switch v := v.(type) {
	case int:
		return float64(v)
	case string:
		return v
	case server.Simple:
		return r.status(string(v))
	case []any:
		t := r.newTable(len(v), 0)
		for n, one := range v {
			if s, ok := one.(server.Simple); ok {
				one = string(s)
			}
			t.setAt(n+1, r.received(one))
		}
		return t
	default:
		return false
	}
}

func (r *Interpreter) status(text string) *table {
	t := r.newTable(0, 0)
	t.setText("ok", text)
	return t
}
