package journal

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"relock/engine/trace"
)

// Reply is the wrapped script's own answer.
type Reply struct {
	Value any
	Err   string // the script's error, or ""
	Line  int    // of an error of Lua itself, on which line of the script, from 1, or NoLine; of one of Redis' 0
}

// NoLine is the line of an error of Lua itself that names none, for example of a full
// stack.
const NoLine = -1

// ErrForm is returned for an answer that is not a journal's.
var ErrForm = errors.New("journal: unexpected form")

// Decode reads the answer of a script made by Wrap, {notes, time, {reply},
// error or nil, line}, as go-redis returns it. It fails with ErrForm.
func Decode(raw any) (Record, Reply, error) {
	var rec Record
	top, err := list(raw, 5)
	if err != nil {
		return rec, Reply{}, fmt.Errorf("answer: %w", err)
	}
	if rec.Time, err = redisTime(top[1]); err != nil {
		return rec, Reply{}, err
	}
	notes, ok := top[0].([]any)
	if !ok {
		return rec, Reply{}, fmt.Errorf("%w: notes are %T", ErrForm, top[0])
	}
	for i, n := range notes {
		e, err := entry(n)
		if err != nil {
			return rec, Reply{}, fmt.Errorf("note %d: %w", i+1, err)
		}
		rec.Entries = append(rec.Entries, e)
	}
	reply := Reply{Value: boxed(top[2])}
	if top[3] != nil {
		if reply.Err, ok = top[3].(string); !ok {
			return rec, Reply{}, fmt.Errorf("%w: error is %T", ErrForm, top[3])
		}
	}
	line, ok := top[4].(int64)
	if !ok {
		return rec, Reply{}, fmt.Errorf("%w: line is %T", ErrForm, top[4])
	}
	reply.Line = int(line)
	return rec, reply, nil
}

func list(raw any, n int) ([]any, error) {
	l, ok := raw.([]any)
	if !ok || len(l) != n {
		return nil, fmt.Errorf("%w: want a list of %d, have %T", ErrForm, n, raw)
	}
	return l, nil
}

// boxed unwraps the {value} in which Lua returns what may be nil.
func boxed(raw any) any {
	if l, ok := raw.([]any); ok && len(l) > 0 {
		return l[0]
	}
	return nil
}

func redisTime(raw any) (time.Duration, error) {
	l, err := list(raw, 2)
	if err != nil {
		return 0, fmt.Errorf("time: %w", err)
	}
	var parts [2]int64
	for i, p := range l {
		s, ok := p.(string)
		if !ok {
			return 0, fmt.Errorf("%w: time is %T", ErrForm, p)
		}
		if parts[i], err = strconv.ParseInt(s, 10, 64); err != nil {
			return 0, fmt.Errorf("%w: time %q", ErrForm, s)
		}
	}
	return time.Duration(parts[0])*time.Second + time.Duration(parts[1])*time.Microsecond, nil
}

func entry(raw any) (Entry, error) {
	var e Entry
	l, err := list(raw, 7)
	if err != nil {
		return e, err
	}
	line, ok := l[0].(int64)
	if !ok {
		return e, fmt.Errorf("%w: line is %T", ErrForm, l[0])
	}
	e.Line = int(line)
	if e.Args, err = texts(l[1]); err != nil {
		return e, fmt.Errorf("arguments: %w", err)
	}
	if len(e.Args) == 0 {
		return e, fmt.Errorf("%w: a command without a name", ErrForm)
	}
	e.Reply = boxed(l[2])
	if l[3] != nil {
		if e.Err, ok = l[3].(string); !ok {
			return e, fmt.Errorf("%w: error is %T", ErrForm, l[3])
		}
	}
	e.Key, err = keyState(l[4], l[5], l[6])
	return e, err
}

func keyState(kind, pttl, content any) (trace.KeyState, error) {
	k := trace.Absent()
	t, ok := kind.(string)
	if !ok {
		return k, fmt.Errorf("%w: key type is %T", ErrForm, kind)
	}
	k.Type = t
	if k.PTTL, ok = pttl.(int64); !ok {
		return k, fmt.Errorf("%w: PTTL is %T", ErrForm, pttl)
	}
	switch t {
	case trace.TypeSet:
		members, err := texts(content)
		if err != nil {
			return k, fmt.Errorf("%w: a set: %w", ErrForm, err)
		}
		k.Fields = make(map[string]string, len(members))
		for _, m := range members {
			k.Fields[m] = ""
		}
	case trace.TypeHash, trace.TypeZSet:
		flat, err := texts(content)
		if err != nil || len(flat)%2 != 0 {
			return k, fmt.Errorf("%w: %s of %d parts", ErrForm, t, len(flat))
		}
		k.Fields = make(map[string]string, len(flat)/2)
		for i := 0; i < len(flat); i += 2 {
			k.Fields[flat[i]] = flat[i+1]
			if score, err := strconv.ParseFloat(flat[i+1], 64); t == trace.TypeZSet && err == nil { // Redis 7.0 writes 17 digits
				k.Fields[flat[i]] = trace.Score(score)
			}
		}
	case trace.TypeString:
		v, ok := content.(string)
		if !ok {
			return k, fmt.Errorf("%w: string is %T", ErrForm, content)
		}
		k.Value = &v
	}
	return k, nil
}

func texts(raw any) ([]string, error) {
	l, ok := raw.([]any)
	if !ok {
		return nil, fmt.Errorf("%w: want a list, have %T", ErrForm, raw)
	}
	out := make([]string, len(l))
	for i, v := range l {
		if out[i], ok = v.(string); !ok {
			return nil, fmt.Errorf("%w: want text, have %T", ErrForm, v)
		}
	}
	return out, nil
}
