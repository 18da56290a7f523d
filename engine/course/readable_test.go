package course_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"relock/engine/course"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons/lessonstest"
)

// A cheat looks at the stage instead of thinking: it says how long the lease is, how long
// threads work, and what is left of the lease now. No option of a made question is one of
// these, nor more than the lease, nor what is left of another lease.
func TestNoOptionCanBeReadOffTheStage(t *testing.T) {
	t.Parallel()
	names, places := lessonstest.Names(t), []int{0, 1, 3, 5, 8}
	if testing.Short() {
		names, places = []string{"lease-expiry.yaml", "crash.yaml", "stalled-work.yaml", "busy-asked-again.yaml"}, []int{0, 3}
	}
	asked, told := 0, 0
	for _, name := range names {
		sc := lessonstest.Scenario(t, name)
		if len(sc.Schedule) > 0 {
			continue
		}
		for _, at := range places {
			q, err := course.Ask(t.Context(), sc.WithSchedule(make([]scenario.Move, at)), at)
			if err != nil {
				if !errors.Is(err, course.ErrNothingToAsk) {
					break // the run has no more moves
				}
				continue
			}
			asked++
			for _, a := range q.Answers {
				text := fmt.Sprint(a.Says)
				for _, amount := range amounts(t, text) {
					told++
					if why := onTheStage(q, a, amount); why != "" {
						t.Errorf("%s after %d moves: %q, right %v: %s", name, at, text, a.Right, why)
					}
				}
			}
		}
	}
	if least := len(names) * len(places) / 2; asked < least || told == 0 {
		t.Errorf("%d questions with %d amounts were made, %d at least were expected", asked, told, least)
	}
}

var amount = regexp.MustCompile(`\b[\d.]+m?s\b`)

// amounts are the durations that a text names.
func amounts(t *testing.T, text string) (list []time.Duration) {
	t.Helper()
	for _, one := range amount.FindAllString(text, -1) {
		d, err := time.ParseDuration(one)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, d)
	}
	return list
}

// onTheStage says how a cheat knows an amount, or "".
func onTheStage(q *course.Question, a *course.Answer, amount time.Duration) string {
	sc := q.Run.Scenario
	switch {
	case amount == sc.Lock.Lease:
		return "that is the lease"
	case amount > sc.Lock.Lease:
		return "the lease is shorter"
	case a.Run.Scenario.Lock.Lease != sc.Lock.Lease:
		return "that lease is not on the stage"
	case slices.ContainsFunc(sc.Threads, func(t scenario.Thread) bool { return t.Work == scenario.Range{Min: amount, Max: amount} }):
		return "so long a thread works"
	case q.Stand > 0 && trace.Millis(q.Run.Events[q.Stand-1].Key.PTTL).Duration() == amount:
		return "that is left now"
	}
	return ""
}

// What is asked is said as it is: the next event that counts, or a later one.
func TestAQuestionSaysWhetherItIsAboutTheNextEvent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at   int
		says string
	}{
		{0, "The run goes on to 110ms. What do we see then?"},
		{4, "The next thing that counts is at 160ms. What do we see then?"},
	} {
		q, err := course.Ask(t.Context(), lessonstest.Scenario(t, "lease-expiry.yaml").WithSchedule(make([]scenario.Move, c.at)), c.at)
		if err != nil {
			t.Fatal(err)
		}
		if q.Asks().String() != c.says {
			t.Errorf("after %d moves: %v", c.at, q.Asks())
		}
	}
}
