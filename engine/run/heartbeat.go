package run

import (
	"context"

	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/trace"
)

// heartbeat is a round of a thread that takes no lock: the first thread is a
// device that sets its key anew, the others look whether the key is there.
// Source: the article on a device list whose keys live for 300 s.
func (t *thread) heartbeat(round int) error {
	c := lock.Call{Name: trace.CallLook, Level: 1, Attempt: round}
	args := []any{"EXISTS", t.r.key}
	if t == t.r.threads[0] {
		c.Name = trace.CallBeat
		args = []any{"SET", t.r.key, string(t.owner), "PX", t.r.sc.Lock.Lease.Milliseconds()}
	}
	t.next = c
	answer, err := t.redis.taps[0].Do(protocol.WithCall(context.Background(), c), args...).Result()
	o := trace.Outcome{Call: c.Name, Level: c.Level, Attempt: round, Result: trace.Renewed}
	switch {
	case err != nil:
		o.Result, o.Error = trace.Failed, err.Error()
	case c.Name == trace.CallLook && answer == int64(1):
		o.Result = trace.Online
	case c.Name == trace.CallLook:
		o.Result = trace.Offline
	}
	t.tell(o)
	t.next.Attempt++
	d := t.draw(t.spec.Work)
	t.tell(trace.Wait{For: trace.MillisOf(d), Why: trace.WaitBeat})
	return t.process.Sleep(context.Background(), d)
}
