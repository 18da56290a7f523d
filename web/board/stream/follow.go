package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/web/board"
)

// How often it is looked whether a message got lost: more often after there was
// one, or a request was sent.
const (
	lookEvery   = 5 * time.Second
	lookBriskly = time.Second
	briskFor    = 10 * time.Second
)

// page is how many entries are read at once.
const page = 500

// place is an entry of a log. Two entries with the same seq are the same if the
// same term appended them.
type place struct {
	seq int64 // 0 for none
	by  string
}

// Follow implements board.Journal. While Redis cannot be reached it waits.
func (j *Journal) Follow(ctx context.Context, code string, take func([]board.Entry)) error {
	k := keysOf(code)
	ear := j.ears.listen(k.news)
	defer ear.stop()
	var at place
	moved := 0
	var brisk time.Time // until when it is
	for {
		heard, missed := ear.news()
		if len(heard) > 0 || !missed { // or a request was sent
			brisk = time.Now().Add(briskFor)
		}
		for _, message := range heard {
			list, on, ok := continued(message, at)
			if !ok {
				missed = true
				break
			}
			at = on
			take(list)
		}
		if missed {
			list, on, err := j.since(ctx, k, at)
			switch {
			case errors.Is(err, board.ErrNoRoom), errors.Is(err, board.ErrBroken), errors.Is(err, board.ErrSpoiled):
				return err
			case errors.Is(err, errMoved):
				if moved++; moved > mostMoved {
					return fmt.Errorf("%w: %w", board.ErrSpoiled, err)
				}
				ear.miss()
				continue
			case err != nil:
				if ended := pause(ctx); ended != nil {
					return ended
				}
				ear.miss()
				continue
			case len(list) > 0:
				at = on
				take(list)
			}
		}
		select {
		case <-ear.bell:
		case <-time.After(untilLook(brisk)):
			ear.miss()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// untilLook returns how long to wait for a message before it is looked whether
// one was lost.
func untilLook(brisk time.Time) time.Duration {
	if time.Now().Before(brisk) {
		return lookBriskly
	}
	return jittered(lookEvery)
}

// continued reads a message of append.lua: "seq by byBefore", and the entries in
// the lines that follow. It reports whether they go on from at.
func continued(message string, at place) (list []board.Entry, on place, ok bool) {
	header, text, has := strings.Cut(message, "\n")
	parts := strings.Split(header, " ")
	if !has || len(parts) != 3 || parts[0] != strconv.FormatInt(at.seq, 10) || parts[2] != at.by {
		return nil, at, false
	}
	for line := range strings.SplitSeq(text, "\n") {
		var e board.Entry
		if json.Unmarshal([]byte(line), &e) != nil {
			return nil, at, false
		}
		list = append(list, e)
	}
	return list, place{list[len(list)-1].Seq, parts[1]}, true
}

// since returns the entries after a place, from the newest whole one on after
// none, and the place of the last. It fails with board.ErrNoRoom, and with
// board.ErrBroken if another entry is there.
func (j *Journal) since(ctx context.Context, k keys, at place) ([]board.Entry, place, error) {
	head, err := j.head(ctx, k)
	if err != nil || head.last == at {
		return nil, at, err
	}
	if at.seq > 0 {
		list, last, err := j.read(ctx, k, at.seq)
		switch {
		case err != nil:
			return nil, at, err
		case len(list) == 0 || list[0].place != at:
			return nil, at, board.ErrBroken
		}
		return entries(list[1:]), last, nil
	}
	list, last, err := j.read(ctx, k, head.whole)
	switch {
	case errors.Is(err, board.ErrBroken), err == nil && (len(list) == 0 || list[0].Whole == nil):
		return nil, at, errMoved // nobody was given anything: it is read again
	case err != nil:
		return nil, at, err
	}
	return entries(list), last, nil
}

// errMoved: the log was trimmed while it was read.
var errMoved = errors.New("board: the log does not begin with a whole entry")

// mostMoved is how often a log that does not begin with a whole entry is read
// again: trimming it takes no time.
const mostMoved = 20

// asSpoiled is ErrSpoiled where a key is of another type than ours.
func asSpoiled(err error) error {
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return fmt.Errorf("%w: %w", board.ErrSpoiled, err)
	}
	return err
}

// head is what we know about a log.
type head struct {
	last  place
	whole int64
}

// head fails with board.ErrNoRoom.
func (j *Journal) head(ctx context.Context, k keys) (head, error) {
	ctx, done := context.WithTimeout(ctx, callLimit)
	defer done()
	fields, err := j.redis.HMGet(ctx, k.head, "seq", "by", "whole").Result()
	if err != nil {
		return head{}, fmt.Errorf("board: the head of the log: %w", asSpoiled(err))
	}
	seq, there := fields[0].(string)
	if !there {
		return head{}, board.ErrNoRoom
	}
	by, _ := fields[1].(string)
	whole, _ := fields[2].(string)
	h := head{last: place{by: by}}
	if h.last.seq, err = strconv.ParseInt(seq, 10, 64); err == nil {
		h.whole, err = strconv.ParseInt(whole, 10, 64)
	}
	if err != nil {
		return head{}, fmt.Errorf("%w: the head of the log: %w", board.ErrSpoiled, err)
	}
	return h, nil
}

// placed is an entry with its place.
type placed struct {
	place
	board.Entry
}

func entries(list []placed) []board.Entry {
	out := make([]board.Entry, len(list))
	for i, e := range list {
		out[i] = e.Entry
	}
	return out
}

// read returns what is in the log from a seq on, and the place of the last.
func (j *Journal) read(ctx context.Context, k keys, from int64) (list []placed, last place, err error) {
	for {
		messages, err := j.page(ctx, k, from)
		if err != nil {
			return nil, last, err
		}
		for _, m := range messages {
			one, err := parsed(m)
			if err != nil {
				return nil, last, err
			}
			if len(list) > 0 && one.place.seq != last.seq+1 {
				return nil, last, board.ErrBroken // it was trimmed meanwhile
			}
			list, last = append(list, one), one.place
		}
		if len(messages) < page {
			return list, last, nil
		}
		from = last.seq + 1
	}
}

func (j *Journal) page(ctx context.Context, k keys, from int64) ([]redis.XMessage, error) {
	ctx, done := context.WithTimeout(ctx, callLimit)
	defer done()
	messages, err := j.redis.XRangeN(ctx, k.log, strconv.FormatInt(from, 10), "+", page).Result()
	if err != nil {
		return nil, fmt.Errorf("board: read the log: %w", asSpoiled(err))
	}
	return messages, nil
}

func parsed(m redis.XMessage) (placed, error) {
	text, _ := m.Values["e"].(string)
	by, _ := m.Values["by"].(string)
	p := placed{}
	if err := json.Unmarshal([]byte(text), &p.Entry); err != nil {
		return placed{}, fmt.Errorf("%w: entry %s: %w", board.ErrSpoiled, m.ID, err)
	}
	p.place = place{p.Seq, by}
	return p, nil
}
