package order_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"relock/engine/run/order"
)

// desk plays the moves of a file of testdata with a queue.
type desk struct {
	queue  order.Queue[string]
	lease  order.Lease
	number map[string]int // of the requests, by what the file calls them
}

// move makes one move, and returns what the queue has released by then. Times
// are in milliseconds.
func (d *desk) move(t *testing.T, line string) string {
	t.Helper()
	var verb, name, more string
	var at int
	n, _ := fmt.Sscan(line, &verb, &name, &at, &more)
	instant := time.Duration(at) * time.Millisecond
	all := false
	switch {
	case verb == "end":
		all = true
	case verb == "lost":
		d.queue.Lose()
	case n < 2:
		t.Fatalf("%q says too little", line)
	case verb == "answer":
		d.queue.Answer(d.number[name])
	case verb == "leave":
		d.queue.Leave(name)
	case verb == "lease" && name == "none":
		d.lease = order.Lease{}
	case n < 3:
		t.Fatalf("%q says too little", line)
	case verb == "send":
		d.number[name] = d.queue.Send(instant)
	case verb == "local":
		d.queue.Add(order.Entry[string]{At: instant, What: name})
	case verb == "script":
		found := map[string]order.Key{"": order.Unknown, "stood": order.Stood, "gone": order.Gone}[more]
		d.queue.Add(order.Entry[string]{At: instant, Script: true, Found: found, What: name})
	case verb == "ran":
		d.queue.Ran(order.Call{Thread: name, Name: "lock"}, instant)
	case verb == "told": // what it came to, at the instant at which it ran
		ran, ok := d.queue.Told(order.Call{Thread: name, Name: "lock"})
		if !ok || ran != instant {
			t.Errorf("%s: ran at %v, %v", line, ran, ok)
		}
	case verb == "asked": // and Redis said that the key is gone
		d.queue.Add(order.Entry[string]{At: instant, Lapse: true})
	case verb == "lease":
		d.lease = order.Lease{At: instant, Known: true}
	default:
		t.Fatalf("%q is no move", line)
	}
	var released []string
	for {
		next, ok := d.queue.Next(d.lease, all)
		if !ok {
			return strings.Join(released, " ")
		}
		name := next.What
		if next.Lapse {
			name, d.lease = "expired", order.Lease{}
		}
		released = append(released, fmt.Sprintf("%s@%d", name, next.At.Milliseconds()))
	}
}

func TestInterleavings(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, story := range strings.Split(string(text), "\n\n") {
			title, moves, _ := strings.Cut(strings.TrimSpace(story), "\n")
			t.Run(strings.TrimPrefix(title, "# "), func(t *testing.T) {
				d := &desk{number: map[string]int{}}
				for line := range strings.Lines(moves) {
					move, want, _ := strings.Cut(strings.TrimSpace(line), "->")
					if got := d.move(t, move); got != strings.TrimSpace(want) {
						t.Errorf("%s: released %q, want %q", move, got, strings.TrimSpace(want))
					}
				}
			})
		}
	}
}

// Whatever the delays, entries come out as a sort by instants would have them, and each
// as early as it can: while nothing is in flight, none is held back.
func TestAnyInterleavingIsSorted(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		queue := &order.Queue[int]{}
		type request struct {
			number     int
			call       order.Call
			ran        time.Duration
			told, late bool // its script was heard of; nobody waits for its outcome
		}
		var flying []request
		var want []order.Entry[int]
		var got []order.Entry[int]
		add := func(at time.Duration, script bool) {
			e := order.Entry[int]{At: at, Script: script, What: len(want)}
			want = append(want, e)
			queue.Add(e)
		}
		now := time.Duration(0)
		for step := 0; step < 60 || len(flying) > 0; step++ {
			now += time.Duration(r.IntN(3)) // often the same instant
			switch i := r.IntN(max(len(flying), 1)); {
			case step < 60 && r.IntN(2) == 0: // a request sets out, and Redis runs it some time
				call := order.Call{Thread: fmt.Sprint(step), Name: "lock"}
				flying = append(flying, request{number: queue.Send(now), call: call, ran: -1, late: r.IntN(4) == 0})
			case step < 60 && r.IntN(3) == 0:
				add(now, false)
			case len(flying) == 0:
			case flying[i].ran < 0: // Redis runs it; nobody has heard of it yet
				flying[i].ran = now
			case !flying[i].told && r.IntN(5) == 0: // the connection breaks: nobody ever will
				queue.Answer(flying[i].number)
				flying = slices.Delete(flying, i, i+1)
			case !flying[i].told:
				queue.Answer(flying[i].number)
				add(flying[i].ran, true)
				if flying[i].told = !flying[i].late; flying[i].late {
					flying = slices.Delete(flying, i, i+1)
				} else {
					queue.Ran(flying[i].call, flying[i].ran)
				}
			default:
				if ran, ok := queue.Told(flying[i].call); ok {
					add(ran, false)
				}
				flying = slices.Delete(flying, i, i+1)
			}
			for next, ok := queue.Next(order.Lease{}, false); ok; next, ok = queue.Next(order.Lease{}, false) {
				got = append(got, next)
			}
			if len(flying) == 0 && len(got) != len(want) {
				t.Fatalf("seed %d: nothing is in flight, and %d of %d are out", seed, len(got), len(want))
			}
		}
		if !queue.Idle() {
			t.Fatalf("seed %d: something is left", seed)
		}
		slices.SortStableFunc(want, func(a, b order.Entry[int]) int { return cmp.Compare(a.At, b.At) })
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d:\ngot  %v\nwant %v", seed, got, want)
		}
	}
}
