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
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

// maxText is how many bytes one text has that a script makes.
const maxText = 1 << 20

// Redis runs the commands of a script.
type Redis interface {
	// Knows reports whether it has a command of this name, in any case.
	Knows(verb string) bool
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
	// Framed has return redis.call(…) keep its line. In Lua it is a tail call, and
	// has none.
	Framed bool
}

// Outcome is what a script came to.
type Outcome struct {
	// Reply is nil, int64, string, Status, Failure, or a list of these. It is a Failure,
	// too, if the script returned an error.
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

// Interpreter runs one script at a time, each as if it were the first. It is not safe
// for concurrent use.
type Interpreter struct {
	lib library

	// of the script that runs
	redis   Redis
	sha     string
	ctx     context.Context
	end     func() // ends ctx
	fault   *Fault // why it must end
	trace   string // of the last error
	message string // its text, or ""
	dice    dice
	deep    int // calls from Go into Lua
	steps   int // of its patterns

	following *following // its recorded answers, of a script that is followed; else nil

	addresses map[lua.LValue]int // of what was told of, in that order
}

// From there a table hashes: else t[2^26] = 1 is an array of a gigabyte. It is set once, as
// interpreters run side by side.
func init() { lua.MaxArrayIndex = 1 << 20 }

// New returns an interpreter.
func New() *Interpreter {
	r := &Interpreter{}
	r.lib = r.library()
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
	if s.Context != nil {
		r.ctx, r.end = context.WithCancel(s.Context)
		defer r.end()
	}
	o, err := r.eval(c.code, s.Keys, s.Args)
	if r.fault != nil {
		return Outcome{}, r.fault
	}
	if err != nil {
		return Outcome{}, err
	}
	o.Lines = r.lines()
	return o, nil
}

// begin forgets the script before.
func (r *Interpreter) begin(s Script) {
	r.redis, r.sha, r.fault, r.trace, r.message, r.deep, r.steps = s.Redis, Digest(s.Text), nil, "", "", 0, 0
	r.addresses, r.ctx, r.end, r.following = map[lua.LValue]int{}, nil, func() {}, nil
}

// eval runs code in a new state of Lua.
func (r *Interpreter) eval(code *lua.FunctionProto, keys, args []string) (Outcome, error) {
	calls := maxCalls
	if r.following != nil {
		calls = maxFollowedCalls
	}
	l := lua.NewState(lua.Options{
		SkipOpenLibs: true, CallStackSize: calls, MinimizeStackMemory: true,
		RegistrySize: 1 << 10, RegistryMaxSize: 1 << 18, RegistryGrowStep: 1 << 10,
	})
	defer l.Close()
	r.open(l, keys, args)
	if r.ctx != nil {
		l.SetContext(r.ctx)
	}
	l.Push(l.NewFunctionFromProto(code))
	if err := l.PCall(0, 1, nil); err != nil {
		r.note(err)
		if r.ended() {
			return Outcome{}, nil
		}
		return Outcome{Err: cut(r.uncaught(thrown(err)), maxError)}, nil
	}
	out := replier{left: maxReply}
	reply := out.value(l.Get(-1), 0)
	if out.large {
		r.fault = &Fault{Kind: ErrTooLarge, What: "its reply"}
		return Outcome{}, nil
	}
	return Outcome{Reply: reply}, nil
}

// ended reports whether the script must end, whatever it has caught.
func (r *Interpreter) ended() bool { return r.fault != nil || r.ctx != nil && r.ctx.Err() != nil }

// positions are those of a traceback, or of an error's text.
var positions = regexp.MustCompile(`\b` + Chunk + `:(\d+):`)

// note remembers where an error was raised: the clock's error, which a script must not
// catch, or the last of any other.
func (r *Interpreter) note(err error) {
	var raised *lua.ApiError
	if !errors.As(err, &raised) {
		return
	}
	if r.ended() {
		if r.fault == nil {
			r.fault = &Fault{Kind: ErrEndless}
		}
		if r.fault.Lines == nil {
			r.fault.Lines = lines(raised.StackTrace)
		}
		return
	}
	r.trace, r.message = raised.StackTrace, ""
	if text, ok := raised.Object.(lua.LString); ok {
		r.message = cut(string(text), 200)
	}
}

// lines are those of the last error.
func (r *Interpreter) lines() Lines {
	list := lines(r.trace)
	if at := lines(r.message); len(at) > 0 && !slices.Contains(list, at[0]) {
		list = slices.Insert(list, 0, at[0]) // error may have named one farther out
	}
	return list
}

func cut(text string, n int) string { return text[:min(n, len(text))] }

func lines(text string) (list Lines) {
	for _, m := range positions.FindAllStringSubmatch(text, 20) {
		if n, err := strconv.Atoi(m[1]); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// thrown is the value of an error.
func thrown(err error) lua.LValue {
	var raised *lua.ApiError
	if errors.As(err, &raised) && raised.Object != nil && raised.Object != lua.LNil {
		return raised.Object
	}
	if raised != nil && raised.Object == nil {
		return lua.LString(err.Error())
	}
	return lua.LNil
}

// uncaught is what Redis answers to an error that nobody caught.
func (r *Interpreter) uncaught(v lua.LValue) string {
	at := ""
	if list := r.lines(); len(list) > 0 {
		at = fmt.Sprintf(" script: %s, on @%s:%d.", r.sha, Chunk, list[0])
	}
	if t, ok := v.(*lua.LTable); ok {
		if text, ok := t.RawGetString("err").(lua.LString); ok {
			return oneLine(string(text)) + at
		}
		return "ERR unknown error" + at
	}
	if s, ok := v.(lua.LString); ok {
		return oneLine("ERR "+string(s)) + at
	}
	return "ERR unknown error" + at
}

// oneLine is a text as it can be on the wire.
func oneLine(text string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(text) }

// do runs one command of the script, and returns Redis' answer as Lua has it, or
// Redis' error.
func (r *Interpreter) do(l *lua.LState, args []string) (lua.LValue, string) {
	if r.following != nil {
		return r.answered(l, args)
	}
	if refused(args) {
		return nil, NotFromScripts
	}
	if !r.redis.Knows(args[0]) {
		return nil, "ERR Unknown Redis command called from script"
	}
	if filled(args) > maxText {
		r.large(l, "a value in Redis")
	}
	raw := r.redis.Do(args)
	if len(raw) > maxText {
		r.large(l, "a reply of Redis")
	}
	v, err := server.ParseReply(bufio.NewReader(bytes.NewReader(raw)))
	if err != nil {
		if strings.HasPrefix(err.Error(), "ERR wrong number of arguments") {
			return nil, "ERR Wrong number of args calling Redis command from script"
		}
		return nil, err.Error()
	}
	return received(l, v), ""
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
func received(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case int:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case server.Simple:
		t := l.CreateTable(0, 1)
		t.RawSetString("ok", lua.LString(v))
		return t
	case []any:
		t := l.CreateTable(len(v), 0)
		for n, one := range v {
			if s, ok := one.(server.Simple); ok {
				one = string(s)
			}
			t.RawSetInt(n+1, received(l, one))
		}
		return t
	default:
		return lua.LFalse
	}
}

// large ends the script for good.
func (r *Interpreter) large(l *lua.LState, what string) {
	if r.fault == nil {
		r.fault = &Fault{Kind: ErrTooLarge, What: what}
		r.end()
	}
	l.RaiseError("%s is too large", what)
}
