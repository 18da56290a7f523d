package facts

import (
	"container/list"
	"strings"

	"relock/engine/fault"
	"relock/engine/trace"
)

// Line folds a trace into those who wait in Redis for a lock, in the order in
// which they will be served or woken: the commands on the key that lists them
// say who comes and goes. It is not safe for concurrent use.
type Line struct {
	Key    string // the list or the sorted set
	Owners Owners

	waiters list.List                // of "owner inbox …", the next one first
	places  map[string]*list.Element // of each in waiters
	unsure  bool                     // Redis has lost writes, and the trace does not say which
}

// Add takes the next event.
func (l *Line) Add(e trace.Event) {
	switch b := e.Body.(type) {
	case trace.Fault:
		if e.Thread == "" {
			l.strike(b)
		}
	case trace.Command:
		if b.Error == "" && b.Arg(1) == l.Key {
			l.run(b)
		}
	}
}

func (l *Line) strike(b trace.Fault) {
	switch {
	case b.Do == fault.Restart && b.LoseMS > 0:
		l.unsure = true
	case b.Do == fault.Restart && !b.Keep:
		l.empty()
	case b.Do == fault.FailOver:
		l.unsure = true
	}
}

func (l *Line) run(b trace.Command) {
	last := b.Arg(len(b.Args) - 1)
	switch strings.ToUpper(b.Arg(0)) {
	case "RPUSH":
		l.come(last)
	case "ZADD": // by the time of the first asking; a later one changes nothing
		if b.Reply == int64(1) {
			l.come(last)
		}
	case "LREM", "ZREM":
		l.leave(last)
	case "LPOP":
		head, ok := b.Reply.(string)
		l.pop(head, ok)
	case "ZPOPMIN":
		head, ok := "", false
		if list, is := b.Reply.([]any); is && len(list) > 0 {
			head, ok = list[0].(string)
		}
		l.pop(head, ok)
	case "DEL":
		l.empty()
	}
}

func (l *Line) empty() {
	l.waiters.Init()
	clear(l.places)
	l.unsure = false
}

func (l *Line) come(waiter string) {
	if l.places == nil {
		l.places = map[string]*list.Element{}
	}
	if l.places[waiter] == nil {
		l.places[waiter] = l.waiters.PushBack(waiter)
	}
}

func (l *Line) leave(waiter string) {
	if place := l.places[waiter]; place != nil {
		l.waiters.Remove(place)
		delete(l.places, waiter)
	}
}

// pop takes the head. What Redis popped is the head, whatever was thought.
func (l *Line) pop(head string, any bool) {
	if !any {
		l.empty()
		return
	}
	for l.places[head] != nil {
		first, _ := l.waiters.Front().Value.(string)
		l.leave(first)
	}
}

// Threads returns those who wait, by thread, the next one first, at most so many; and
// whether that is certain: after a fail-over it is not until the line was empty.
func (l *Line) Threads(most int) (names []string, certain bool) {
	at := l.waiters.Front()
	for ; at != nil && most > 0; at, most = at.Next(), most-1 {
		waiter, _ := at.Value.(string)
		owner, _, _ := strings.Cut(waiter, " ")
		if name := l.Owners[owner]; name != "" {
			names = append(names, name)
		}
	}
	return names, !l.unsure
}
