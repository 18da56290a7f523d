package film_test

import (
	"testing"

	"relock/engine/scenario"
	"relock/lessons/lessonstest"
	"relock/web/film"
	"relock/web/words"
)

// Each way in which a thread ends is played: what is said of its end, of the run's, and below the
// run where no rule was broken.
func TestEndsSayWhy(t *testing.T) {
	const one = "\nthreads: [{name: A, work: 50ms}]\n"
	const failed = " no rule was broken, but A ended with an error."
	for name, c := range map[string]struct{ yaml, thread, run, below string }{
		"done": {"lock: {lease: 200ms, retry: {times: 9, interval: 20ms}}\nthreads: [{name: A, work: 50ms}, {name: B, work: 20ms}]\n", "A is done: its business call has returned without an error, round 1 of 1.", ", and no rule was broken.", ""},
		"given up": {
			"lock: {protocol: mutex, lease: 1s, retry: {times: 2, interval: 10ms}}\nthreads: [{name: B, work: 300ms}, {name: A, start: 5ms, work: 50ms}]\n",
			"A ends without level 1: retry 2 was its last.", "", "",
		},
		"a lost lock": {
			"lock: {lease: 100ms, watchdog: off}\nthreads: [{name: A, work: 200ms, on-lost: stop}]\n",
			"A ends with an error: it was told that its lock had been lost.", "", "",
		},
		"a crash": {"lock: {lease: 100ms}" + one + "faults: [{thread: A, at: work, do: crash}]", "A is gone: a crash runs no unlock.", "", ""},
		"a panic": {
			"lock: {lease: 200ms}" + one + "faults: [{thread: A, at: work, do: panic}]",
			"A ends with an error: its business code has panicked.", failed, "no rule was broken, but A ended with an error: the business code panicked",
		},
		"nothing held": {
			"lock: {protocol: mutex-unsafe, lease: 100ms}\nthreads: [{name: A, work: 200ms}]\n",
			"A ends with an error: it did not hold what it wanted to unlock.", failed, "no rule was broken, but A ended with an error: it did not hold what it wanted to unlock",
		},
		"Redis' answer": {
			"lock: {lease: 200ms}" + one + "faults: [{thread: A, at: lock, do: answer-error, error: NOAUTH}]",
			"A ends with an error: what it asked of Redis has failed.", failed, "no rule was broken, but A ended with an error: NOAUTH",
		},
		"no majority": {
			"lock: {protocol: redlock, lease: 200ms, retry: {times: 0, interval: 10ms}}" + one + "faults: [{time: 0ms, do: down, node: 1}, {time: 0ms, do: down, node: 2}, {time: 0ms, do: down, node: 3}]",
			"A ends with an error: what it asked of Redis has failed.", failed, "no rule was broken, but A ended with an error: no majority of the nodes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			sc, err := scenario.Parse([]byte(c.yaml))
			if err != nil {
				t.Fatal(err)
			}
			p := lessonstest.PlayScenario(t, sc)
			said := sentences(p, words.English)
			var ofThread string
			var list []film.Failure
			for i, e := range p.Events {
				if e.Kind() == "end" && e.Thread == "A" {
					ofThread = said[i]
				}
				if f, ok := film.FailureOf(e); ok {
					list = append(list, f)
				}
			}
			if ofThread != c.thread {
				t.Errorf("A's end: %q, want %q", ofThread, c.thread)
			}
			if last := said[len(said)-1]; len(last) < len(c.run) || last[len(last)-len(c.run):] != c.run {
				t.Errorf("the run's end: %q, want %q", last, c.run)
			}
			if got := film.OnlyFailed(words.English, list); got != c.below {
				t.Errorf("below it: %q, want %q", got, c.below)
			}
		})
	}
}
