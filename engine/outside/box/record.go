package box

import (
	"errors"
	"time"

	"relock/engine/phrase"
)

// Bounds of the record.
const (
	patience  = 3                // unfinished scripts in a row until the next one has to wait
	firstWait = time.Second      // and so long; twice as long after each further one
	longWait  = 30 * time.Second // at most
	forgotten = 10 * time.Minute // after so long without a script, or without one that does not end
	remembers = 10_000           // for whom scripts ran
)

// SuspendedError says that too many scripts in a row that ran for somebody took too
// long or too much memory, and when the next one may run.
type SuspendedError struct {
	Row  int           // so many
	Wait time.Duration // in whole seconds, a second or more
}

// Says implements [phrase.Speaker].
func (e *SuspendedError) Says() phrase.Wording {
	return phrase.Say("the last %d scripts from your address took too long or too much memory; the next one may run in %d s", e.Row, int(e.Wait/time.Second))
}

// Error says it in English.
func (e *SuspendedError) Error() string { return e.Says().String() }

// Limit returns the limit's name, in metrics and logs.
func (*SuspendedError) Limit() string { return "endless-scripts" }

// After returns how long to wait before the next try.
func (e *SuspendedError) After() time.Duration { return e.Wait }

// record says what came of the scripts that ran for somebody. It is not safe for
// concurrent use.
type record struct {
	of        map[string]*conduct
	judgement map[any]*judgement
}

type conduct struct {
	good  bool      // a script has finished since the last one that did not
	row   int       // scripts in a row that did not
	until time.Time // no new judgement runs scripts
	last  time.Time // when one ran
	spent time.Time // when one did not finish
}

// forgive forgets unfinished scripts.
func (c *conduct) forgive() { c.good, c.row, c.until = true, 0, time.Time{} }

// judgement is one whose scripts have run.
type judgement struct {
	whose string
	good  int // finished scripts
	bad   bool
}

func newRecord() record {
	return record{map[string]*conduct{}, map[any]*judgement{}}
}

// proven reports whether the last script finished.
func (r record) proven(whose string) bool {
	c := r.of[whose]
	return c != nil && c.good
}

// suspended returns a *SuspendedError if somebody's new judgement has to wait. One
// that is going on well does not.
func (r record) suspended(whose string, by any, now time.Time) error {
	c := r.of[whose]
	if c == nil || !now.Before(c.until) {
		return nil
	}
	if j := r.judgement[by]; j != nil && j.good > 0 && !j.bad {
		return nil
	}
	return &SuspendedError{c.row, (c.until.Sub(now) + time.Second - 1).Truncate(time.Second)}
}

// ran notes what came of a script.
func (r record) ran(whose string, by any, err error, now time.Time) {
	if whose == "" {
		return
	}
	spent := errors.Is(err, ErrEndless) || errors.Is(err, ErrSteps) || errors.Is(err, ErrTooLarge)
	if err != nil && !spent {
		return
	}
	c, j := r.of[whose], r.judgement[by]
	if c == nil {
		if len(r.of) >= remembers {
			clear(r.of)
		}
		c = &conduct{}
		r.of[whose] = c
	}
	if j == nil {
		j = &judgement{whose: whose}
		r.judgement[by] = j
	}
	c.last = now
	if !spent {
		j.good++
		if c.row == 0 || now.Sub(c.spent) >= forgotten {
			c.forgive()
		}
		return
	}
	j.bad, c.good, c.spent = true, false, now
	if c.row++; c.row >= patience {
		c.until = now.Add(min(firstWait<<min(c.row-patience, 10), longWait))
	}
}

// over notes that a judgement is over. If all its scripts finished, that makes up for
// earlier ones that did not.
func (r record) over(by any) {
	j := r.judgement[by]
	delete(r.judgement, by)
	if j == nil || j.bad || j.good == 0 {
		return
	}
	if c := r.of[j.whose]; c != nil {
		c.forgive()
	}
}

// forget drops what is old at an instant.
func (r record) forget(now time.Time) {
	for whose, c := range r.of {
		if now.Sub(c.last) >= forgotten {
			delete(r.of, whose)
		}
	}
}
