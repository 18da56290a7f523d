package film_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"relock/engine"
	"relock/engine/run"
	"relock/engine/trace"
	"relock/lessons/lessonstest"
	"relock/web/film"
	"relock/web/words"
)

// uncaused is an event as traces had it before there were causes, and whether
// it had one.
func uncaused(e trace.Event) (before trace.Event, had bool) {
	switch b := e.Body.(type) {
	case trace.Outcome:
		had = b.Cause != trace.Cause{}
		b.Cause = trace.Cause{}
		e.Body = b
	case trace.End:
		had = b.Cause != trace.Cause{}
		b.Cause = trace.Cause{}
		e.Body = b
	}
	return e, had
}

// Whatever failed in a bundled run says why, and a trace of before, which has
// the error's text alone, is told in the same words.
func TestATraceWithoutCausesSaysTheSame(t *testing.T) {
	causes := map[trace.CauseKind]int{}
	compare := func(t *testing.T, p lessonstest.Run) {
		t.Helper()
		now, before := film.New(words.English, p.Scenario, p.Owners), film.New(words.English, p.Scenario, p.Owners)
		for _, e := range p.Events {
			old, had := uncaused(e)
			failed := false
			switch b := e.Body.(type) {
			case trace.Outcome:
				failed = b.Result == trace.Failed
				causes[b.Cause.Kind]++
			case trace.End:
				failed = b.Result == trace.Failed
				causes[b.Cause.Kind]++
			}
			if failed != had {
				t.Errorf("%d: failed %v, and has a cause %v: %+v", e.Seq, failed, had, e.Body)
			}
			now.Add(e)
			before.Add(old)
		}
		if a, b := now.Rows(), before.Rows(); !reflect.DeepEqual(a, b) {
			for i := range a {
				if !reflect.DeepEqual(a[i], b[i]) {
					t.Errorf("%s: now %q %q, before %q %q", a[i].Time, a[i].Why, a[i].Says, b[i].Why, b[i].Says)
				}
			}
		}
	}
	for _, name := range lessonstest.Names(t) {
		t.Run(name, func(t *testing.T) { compare(t, lessonstest.Play(t, name)) })
	}
	t.Run("a panic", func(t *testing.T) {
		compare(t, lessonstest.PlayScenario(t, parse(t, "threads: [{name: A, work: 10ms}]\nfaults: [{thread: A, at: work, do: panic}]")))
	})
	for _, kind := range []trace.CauseKind{trace.NoMajority, trace.Answered, trace.NothingHeld, trace.Reset, trace.BusinessPanic} {
		if causes[kind] == 0 {
			t.Errorf("no run has the cause %q: %v", kind, causes)
		}
	}
}

// The cause of an early end is worded, and so is the text of an older trace.
func TestTheEndOfARunIsToldByItsCause(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{engine.ErrClosed, "The run was ended: the server is shutting down"},
		{engine.ErrHeld, "The run was ended: the runs on this server are at their limit of memory; try again in a while, or run less"},
		{&engine.TooLongError{Limit: time.Minute}, "The run was ended: it took longer than 1 min"},
		{run.ErrMistake, "A bug in this program ended the run. It was logged."},
		{run.ErrLimit, "The run was ended: it reached the limit of 20,000 events"},
		{errors.Join(run.ErrRedis, context.DeadlineExceeded), ""},
		{errors.New("something else"), "The run was ended: something else"},
	} {
		why := run.CauseOf(c.err)
		now, before := film.EndOfRun(words.English, why, "reworded"), film.EndOfRun(words.English, trace.Cause{}, c.err.Error())
		if why.Kind == "" {
			now = film.EndOfRun(words.English, why, c.err.Error())
		}
		if c.want != "" && now != c.want || now != before && why.Kind != trace.NoRedis {
			t.Errorf("%v: %q, of a trace of before %q; want %q", c.err, now, before, c.want)
		}
	}
}
