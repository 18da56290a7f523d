package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/lock"
	"relock/web/board"
)

// Of a term.
const (
	batch       = 256       // requests at once
	touchEvery  = time.Hour // so that a room that is led is kept
	resignLimit = time.Second
)

// unnamed is what a Redis is called that does not say who it is.
const unnamed = "?"

// free is the message that says that a room can be led.
const free = "free"

// Lead implements board.Journal. A waiter looks again when the lease that it has
// seen may be over, or when it hears of the term's end: a command or two in each
// lease.
func (j *Journal) Lead(ctx context.Context, code string) (board.Term, error) {
	k := keysOf(code)
	ear := j.ears.listen(k.news)
	defer ear.stop()
	for {
		hold, err := j.locker.TryLock(ctx, k.lock, lock.NewOwner())
		switch {
		case err == nil:
			t, err := j.begin(ctx, k, hold)
			if err == nil {
				return t, nil
			}
			_ = hold.Unlock(ctx) // where it fails the lease runs out
			if errors.Is(err, board.ErrNoRoom) || ctx.Err() != nil {
				return nil, err
			}
			if ended := pause(ctx); ended != nil {
				return nil, ended
			}
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, lock.ErrClosed):
			return nil, fmt.Errorf("board: %w", err)
		case errors.Is(err, lock.ErrHeld):
			if ended := j.wait(ctx, k, ear); ended != nil {
				return nil, ended
			}
		default:
			if ended := pause(ctx); ended != nil {
				return nil, ended
			}
		}
	}
}

// wait returns when the room's lock may be free. It fails when ctx ends, or with
// board.ErrNoRoom.
func (j *Journal) wait(ctx context.Context, k keys, ear *ear) error {
	for {
		limited, done := context.WithTimeout(ctx, callLimit)
		state, err := j.locker.Inspect(limited, k.lock)
		done()
		switch {
		case err != nil:
			return pause(ctx)
		case state.Owner == "":
			_, err := j.head(ctx, k)
			if errors.Is(err, board.ErrNoRoom) {
				return err
			}
			return nil
		}
		told, err := ear.told(ctx, free, state.Lease+jittered(j.lease/100))
		if told || err != nil {
			return err
		}
	}
}

// told waits for a message, at most so long. It reports true also if it may have
// missed it. It fails when ctx ends.
func (one *ear) told(ctx context.Context, message string, at time.Duration) (bool, error) {
	timer := time.NewTimer(at)
	defer timer.Stop()
	for {
		select {
		case <-one.bell:
			if heard, missed := one.news(); missed || slices.Contains(heard, message) {
				return true, nil
			}
		case <-timer.C:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// term is the time in which this server leads a room.
type term struct {
	j    *Journal
	k    keys
	hold *lock.Hold
	over context.Context // the hold's
	ear  *ear            // for requests
	name string
	home string // the Redis that it began on
	lost bool   // that Redis is another than the one that was written to, or may be

	at    place     // the newest entry
	read  string    // the newest request that was returned, or ""
	owed  bool      // requests were returned since the last append
	wrote time.Time // the last append
	brisk time.Time // until when it is
}

// begin begins a term: from now on nobody with an older token can append.
func (j *Journal) begin(ctx context.Context, k keys, hold *lock.Hold) (*term, error) {
	t := &term{j: j, k: k, hold: hold, over: hold.Context(), name: string(hold.Owner())[:12], wrote: time.Now()}
	limited, done := context.WithTimeout(ctx, callLimit)
	defer done()
	answer, err := claimScript.Run(limited, j.redis, []string{k.head}, hold.Token(), t.name).Slice()
	switch {
	case err != nil:
		return nil, fmt.Errorf("board: begin a term: %w", err)
	case len(answer) < 3 && answer[0] == int64(0):
		return nil, board.ErrFenced
	case len(answer) < 3:
		return nil, board.ErrNoRoom
	}
	t.home, _ = answer[1].(string)
	before, _ := answer[2].(string)
	t.lost = before != "" && (before != t.home || t.home == unnamed)
	t.ear = j.ears.listen(k.requests)
	return t, nil
}

// Resign implements board.Term.
func (t *term) Resign() {
	t.ear.stop()
	ctx, done := context.WithTimeout(context.WithoutCancel(t.over), resignLimit)
	defer done()
	if t.hold.Unlock(ctx) == nil {
		_ = t.j.redis.Publish(ctx, t.k.news, free).Err() // where it fails they look when the lease would be over
	}
}

// Log implements board.Term.
func (t *term) Log(ctx context.Context) (list []board.Entry, lost bool, err error) {
	list, t.at, err = t.j.since(ctx, t.k, place{})
	return list, t.lost, err
}

// Next implements board.Term.
func (t *term) Next(ctx context.Context, deadline time.Time) ([]board.Request, error) {
	var due <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		due = timer.C
	}
	for {
		if t.over.Err() != nil {
			return nil, board.ErrFenced
		}
		if heard, missed := t.ear.news(); missed || len(heard) > 0 {
			requests, err := t.requests(ctx)
			switch {
			case err != nil:
				t.ear.miss()
				if ended := pause(t.over); ended != nil && ctx.Err() == nil {
					return nil, board.ErrFenced
				}
			case len(requests) > 0:
				t.brisk = time.Now().Add(briskFor)
				return requests, nil
			}
		}
		select {
		case <-t.ear.bell:
		case <-time.After(untilLook(t.brisk)):
			if err := t.touch(ctx); err != nil {
				return nil, err
			}
			t.ear.miss()
		case <-due:
			return nil, nil
		case <-t.over.Done():
			return nil, board.ErrFenced
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// requests returns the requests that have come since.
func (t *term) requests(ctx context.Context) ([]board.Request, error) {
	limited, done := context.WithTimeout(ctx, callLimit)
	defer done()
	from := "-"
	if t.read != "" {
		from = "(" + t.read
	}
	messages, err := t.j.redis.XRangeN(limited, t.k.inbox, from, "+", batch).Result()
	if err != nil {
		return nil, fmt.Errorf("board: read the inbox: %w", err)
	}
	if len(messages) == batch {
		t.ear.miss() // there may be more
	}
	var list []board.Request
	for _, m := range messages {
		var o board.Request
		text, _ := m.Values["o"].(string)
		t.read, t.owed = m.ID, true
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			t.j.log.WarnContext(ctx, "rooms: a request that cannot be read", slog.String("code", t.k.code), slog.String("error", err.Error()))
			continue
		}
		list = append(list, o)
	}
	return list, nil
}

// touch has Redis keep the room.
func (t *term) touch(ctx context.Context) error {
	if time.Since(t.wrote) < touchEvery {
		return nil
	}
	return t.append(ctx, nil)
}

// Append implements board.Term. A call without an answer is sent again.
func (t *term) Append(ctx context.Context, list []board.Entry) error {
	if len(list) == 0 && !t.owed {
		return nil
	}
	return t.append(ctx, list)
}

func (t *term) append(ctx context.Context, list []board.Entry) error {
	args := []any{
		t.hold.Token(), t.name, t.home, t.at.seq, after(t.read), 0, board.Overlap,
		kept.Milliseconds(), tokenKept.Milliseconds(), t.k.news, mostBytes,
	}
	const whole = 5 // where it is among args
	for _, e := range list {
		text, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("board: %w", err)
		}
		if e.Whole != nil {
			args[whole] = e.Seq
		}
		args = append(args, text)
	}
	for {
		code, err := t.j.run(ctx, appendScript, []string{t.k.head, t.k.log, t.k.inbox, t.k.token}, args...)
		switch {
		case err != nil:
			if ended := pause(t.over); ended != nil {
				return fmt.Errorf("%w: %w", board.ErrFenced, err)
			}
			continue
		case code == 0:
			return board.ErrFenced
		case code == -1:
			return board.ErrNoRoom
		case code < 0:
			return board.ErrBroken
		}
		if len(list) > 0 {
			t.at = place{list[len(list)-1].Seq, t.name}
		}
		t.owed, t.wrote = false, time.Now()
		return nil
	}
}

// after returns the ID that follows an ID of a stream, "" for "".
func after(id string) string {
	ms, n, ok := strings.Cut(id, "-")
	if !ok {
		return ""
	}
	count, err := strconv.ParseUint(n, 10, 64)
	if err != nil {
		return ""
	}
	return ms + "-" + strconv.FormatUint(count+1, 10)
}
