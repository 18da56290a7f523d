package stepper_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"html"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"relock/engine"
	"relock/engine/fault"
	"relock/engine/lock/exhibit"
	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web"
	"relock/web/link"
	"relock/web/page"
	"relock/web/site/wire"
	"relock/web/webtest"
	"relock/web/words"
)

func TestSteppingOverTheSocket(t *testing.T) {
	p := webtest.Open(t, nil).Page(t)
	p.Must(webtest.Object{"do": "open", "scenario": webtest.LeaseExpiry})
	main := p.Branches[0]
	if len(main.Positions) != 1 || main.Tip().Options[0].Does != "starts: EXISTS … in lock, level 1" || main.Tip().Options[1].Why != "waits until 10 ms" {
		t.Errorf("at the start: %+v", main.Positions)
	}
	p.Must(webtest.Object{"do": "step", "branch": 0, "thread": "A"})
	p.Must(webtest.Object{"do": "step", "branch": 0})
	p.Must(webtest.Object{"do": "run", "branch": 0, "to": "outcome", "thread": "B"})
	if got := main.Tip(); got.At != "60 ms" || got.Row != 3 || len(main.Rows) != 3 {
		t.Errorf("after B's next outcome: %+v with %d rows", got, len(main.Rows))
	}
	p.Must(webtest.Object{"do": "run", "branch": 0, "to": "violation"})
	if got := main.Tip(); got.At != "210 ms" || !strings.Contains(main.Rows[6], `data-rule="mutual-exclusion"`) {
		t.Errorf("at the violation: %+v", got)
	}
	p.Must(webtest.Object{"do": "run", "branch": 0, "to": "end"})
	if !main.Tip().Over {
		t.Error("the end is not the end")
	}
	if refused, _ := p.Ask(webtest.Object{"do": "step", "branch": 0}); refused != "The run has ended." {
		t.Errorf("a step after the end: %q", refused)
	}
	moves, rows := len(main.Positions), len(main.Rows)
	p.Must(webtest.Object{"do": "strike", "branch": 0, "at": 1, "fault": webtest.Object{"do": "crash", "thread": "A"}})
	other := p.Branches[1]
	if p.Last != 1 || other.Parent != 0 || other.Fork != 1 || len(other.Positions) != 3 || !strings.Contains(other.Rows[1], "the process dies") {
		t.Errorf("after a strike in the past: branch %d, %+v", p.Last, other)
	}
	if len(main.Positions) != moves || len(main.Rows) != rows {
		t.Error("the branch that was left has changed")
	}
	p.Must(webtest.Object{"do": "time", "branch": 1, "to": "by", "by": "7ms"})
	if got := other.Tip().At; got != "7 ms" {
		t.Errorf("7 ms later it is %s", got)
	}
	p.Must(webtest.Object{"do": "run", "branch": 1, "to": "end"})
	compared := p.Must(webtest.Object{"do": "compare", "branch": 0, "with": 1}).Compared
	if !strings.Contains(compared, "T1 to T1 are equal") || !strings.Contains(compared, "◇") || !strings.Contains(compared, "branch 1") {
		t.Errorf("comparison: %s", compared)
	}
	locks := p.Must(webtest.Object{"do": "locks", "branch": 0, "protocols": []string{"reentrant", "value"}}).Compared
	if !strings.Contains(locks, "◆") || !strings.Contains(locks, ">not-held<") || !strings.Contains(locks, "two inside at once") {
		t.Errorf("comparison of locks: %s", locks)
	}
	p.Must(webtest.Object{"do": "cut", "branch": 0, "at": 2})
	if got := p.Branches[2]; got.Parent != 0 || len(got.Positions) != 3 {
		t.Errorf("cut: %+v", got)
	}
	if f := p.Must(webtest.Object{"do": "drop", "branch": 2}); f.Dropped == nil || *f.Dropped != 2 {
		t.Errorf("drop: %+v", f)
	}
	if refused, _ := p.Ask(webtest.Object{"do": "step", "branch": 2}); refused != "There is no such branch." {
		t.Errorf("a step on what was dropped: %q", refused)
	}
	// The trace is what the scenario with that schedule gives elsewhere.
	text := p.Must(webtest.Object{"do": "trace", "branch": 1}).Trace
	header, events, err := trace.Read(t.Context(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scenario.Parse(header.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	r, err := engine.Start(t.Context(), sc, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	whole, _ := r.Log().Since(0)
	if err := trace.Write(&again, r.Header(), whole[:len(events)]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, again.String()); diff != "" {
		t.Errorf("replayed from its trace: %s", diff)
	}
}

func TestASessionComesBackAsItWas(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	p := s.Page(t)
	p.Must(webtest.Object{"do": "open", "scenario": webtest.LeaseExpiry})
	p.Must(webtest.Object{"do": "run", "branch": 0, "to": "violation"})
	p.Must(webtest.Object{"do": "time", "branch": 0, "at": 2, "to": "expiry"})
	p.Must(webtest.Object{"do": "step", "branch": 1, "thread": "B"})
	p.Must(webtest.Object{"do": "strike", "branch": 1, "at": 1, "fault": webtest.Object{"do": "pause", "thread": "A", "for": "1s"}})
	_ = p.Conn.Close()

	later := webtest.Open(t, nil).Page(t) // another server, which knows nothing
	text, err := json.Marshal(p.Opened["scenario"])
	if err != nil {
		t.Fatal(err)
	}
	var branches []webtest.Object
	for id := range len(p.Branches) {
		b := p.Branches[id]
		branches = append(branches, webtest.Object{"parent": b.Parent, "fork": b.Fork, "moves": b.Moves()})
	}
	later.Must(webtest.Object{"do": "open", "scenario": string(text), "branches": branches})
	for id, b := range p.Branches {
		again := later.Branches[id]
		if diff := cmp.Diff(b.Rows, again.Rows); diff != "" || !cmp.Equal(b.Positions, again.Positions) || b.Fork != again.Fork {
			t.Errorf("branch %d differs: %s\n%+v\n%+v", id, diff, b.Positions, again.Positions)
		}
	}
	// Moves that do not fit are dropped, with a word; what forks after them forks before.
	branches[0]["moves"] = []any{0, 9}
	later.Must(webtest.Object{"do": "open", "scenario": string(text), "branches": branches})
	if said, _ := later.Opened["dropped"].(string); !strings.Contains(said, "of 2 moves the last 1 no longer fit") && !strings.Contains(said, "Of 2 moves the last 1 no longer fit") {
		t.Errorf("moves that do not fit: %q", said)
	}
	if one, other := len(later.Branches[0].Positions), len(later.Branches[1].Positions); one != 2 || other != len(branches[1]["moves"].([]any))+1 {
		t.Errorf("%d and %d positions", one, other)
	}
	later.Must(webtest.Object{"do": "step", "branch": 0})
}

func TestCommandsThatAreRefused(t *testing.T) {
	p := webtest.Open(t, nil).Page(t)
	if refused, _ := p.Ask(webtest.Object{"do": "step", "branch": 0}); refused != "Nothing is open yet: send the command open first." {
		t.Errorf("a step before all: %q", refused)
	}
	p.Must(webtest.Object{"do": "open", "scenario": webtest.LeaseExpiry})
	p.Must(webtest.Object{"do": "step", "branch": 0})
	for _, c := range []struct {
		command webtest.Object
		want    string
	}{
		{webtest.Object{"do": "dance"}, `There is no command "dance"; there are open,`},
		{webtest.Object{"do": "step", "thread": "B", "at": 7}, "The branch has no such move."},
		{webtest.Object{"do": "step", "at": 0}, "The next move here is already made"},
		{webtest.Object{"do": "step", "thread": "A"}, "A moves at 300 ms, after B."},
		{webtest.Object{"do": "run", "to": "lunch"}, `Cannot run to "lunch"; allowed: end, mark, violation, outcome.`},
		{webtest.Object{"do": "run", "to": "outcome", "thread": "Z"}, "name one of the scenario's threads"},
		{webtest.Object{"do": "time", "to": "by", "by": "5"}, "Time passes by a length such as 50ms"},
		{webtest.Object{"do": "time", "to": "tomorrow"}, `Time cannot pass to "tomorrow"`},
		{webtest.Object{"do": "strike"}, "A strike needs a fault"},
		{webtest.Object{"do": "strike", "fault": webtest.Object{"do": "rain"}}, `do: given "rain", allowed: pause,`},
		{webtest.Object{"do": "strike", "fault": webtest.Object{"do": "pause", "thread": "A"}}, "for: given nothing, allowed:"},
		{webtest.Object{"do": "strike", "fault": webtest.Object{"do": "up"}}, "Redis is up."},
		{webtest.Object{"do": "strike", "fault": webtest.Object{"do": "crash", "thread": "Z"}}, `thread: given "Z", allowed: a thread of the scenario: A, B.`},
		{webtest.Object{"do": "compare", "with": 5}, "There is no such branch."},
		{webtest.Object{"do": "locks", "protocols": []string{"mutex"}}, "Compare 2 to 4 different locks"},
		{webtest.Object{"do": "drop"}, "The only branch must stay."},
		{webtest.Object{"do": "open", "scenario": "threads: 7"}, "The scenario has mistakes: line 1: threads: given"},
		{webtest.Object{"do": "open", "link": "v9.x"}, "Unknown link format"},
		{webtest.Object{"do": "open", "scenario": webtest.LeaseExpiry, "branches": []webtest.Object{{"parent": 0, "fork": 0}}}, "The branches do not fit each other"},
		{webtest.Object{"do": "open", "scenario": webtest.LeaseExpiry, "branches": slices.Repeat([]webtest.Object{{"parent": -1}}, 7)}, "There are 6 branches already"},
	} {
		if refused, _ := p.Ask(c.command); !strings.Contains(refused, c.want) {
			t.Errorf("%v: %q, want %q", c.command, refused, c.want)
		}
	}
	p.Must(webtest.Object{"do": "step", "branch": 0})
	if got := len(p.Branches[0].Positions); got != 3 {
		t.Errorf("after all refusals the branch has %d positions, want 3", got)
	}
}

// Each position says which faults would change nothing there, with the reason
// that would be given to who strikes them all the same.
// A late copy is on its way whatever its thread does, and arrives by a separate step,
// which a link keeps.
func TestALateCopyIsStepped(t *testing.T) {
	p := webtest.Open(t, nil).Page(t)
	p.Must(webtest.Object{"do": "open", "scenario": "lock: {lease: 200ms, watchdog: off, retry: {times: 3, interval: 10ms}}\nthreads: [{name: A, work: 20ms}, {name: B, start: 45ms, work: 20ms}]"})
	late := func() page.Option {
		t.Helper()
		options := p.Branches[p.Last].Tip().Options
		i := slices.IndexFunc(options, func(o page.Option) bool { return o.Network })
		if i < 0 {
			t.Fatalf("nothing is under way: %+v", options)
		}
		return options[i]
	}
	p.Must(webtest.Object{"do": "step", "branch": 0, "thread": "A"})
	p.Must(webtest.Object{"do": "strike", "branch": 0, "fault": webtest.Object{"do": "late-copy", "thread": "A", "at": "unlock", "for": "25ms"}})
	if got := p.Branches[0].Tip().Options[0].Armed; got != "⚡ waiting to strike: late-copy (unlock)" {
		t.Errorf("armed: %q", got)
	}
	p.Must(webtest.Object{"do": "step", "branch": 0, "thread": "A"})
	if got, want := late(), (page.Option{Thread: "A", Network: true, Choice: -1, Name: "A's late copy", When: "at 45 ms", Which: "unlock", Does: "late copy of unlock, level 1", Why: "on its way until 45 ms"}); got != want {
		t.Errorf("under way: %+v", got)
	}
	if refused, _ := p.Ask(webtest.Object{"do": "step", "branch": 0, "thread": "A", "network": true}); refused != "What A sent arrives at 45 ms." {
		t.Errorf("too early: %q", refused)
	}
	p.Must(webtest.Object{"do": "step", "branch": 0, "thread": "A"})
	if got := p.Branches[0].Tip().Options[0]; got.Why != "ended: done" {
		t.Errorf("A: %+v", got)
	}
	p.Must(webtest.Object{"do": "step", "branch": 0, "thread": "B"})
	p.Must(webtest.Object{"do": "step", "branch": 0, "thread": "A", "network": true})
	if got := p.Branches[0].Rows[len(p.Branches[0].Rows)-1]; !strings.Contains(got, "late copy of unlock, level 1") {
		t.Errorf("its row: %s", got)
	}
	// In the past, before B: another branch.
	p.Must(webtest.Object{"do": "step", "branch": 0, "at": 4, "thread": "A", "network": true})
	if p.Last != 1 || len(p.Branches[1].Positions) != 6 {
		t.Errorf("branch %d with %d positions", p.Last, len(p.Branches[1].Positions))
	}
}

// Each of the nodes asked at once is a separate option.
func TestANodeIsAsked(t *testing.T) {
	p := webtest.Open(t, nil).Page(t)
	p.Must(webtest.Object{"do": "open", "scenario": "lock: {protocol: redsync, nodes: 3, lease: 8s, watchdog: off}\nthreads: [{name: A}]"})
	p.Must(webtest.Object{"do": "step", "branch": 0, "thread": "A"})
	options := p.Branches[0].Tip().Options
	if len(options) != 4 || options[0] != (page.Option{Thread: "A", Choice: -1, Which: "waits for the nodes", Why: "waits for the nodes"}) ||
		options[3] != (page.Option{Thread: "A", Background: true, Node: 3, Can: true, Choice: 2, Verb: "asks node 3", Which: "SET", Does: "asks node 3: SET … in lock, level 1"}) {
		t.Errorf("the options are %+v", options)
	}
	if refused, _ := p.Ask(webtest.Object{"do": "step", "branch": 0, "thread": "A"}); refused != "A waits for the nodes that it asks." {
		t.Errorf("A itself: %q", refused)
	}
	for _, node := range []int{2, 3, 1} {
		p.Must(webtest.Object{"do": "step", "branch": 0, "thread": "A", "background": true, "node": node})
	}
	rows := p.Branches[0].Rows
	if len(rows) != 4 || !strings.Contains(rows[0], `"node":2`) && !strings.Contains(rows[0], "node 2") {
		t.Errorf("%d rows, the first is %s", len(rows), rows[0])
	}
	if got := p.Branches[0].Tip().Options[0].Does; !strings.HasPrefix(got, "ends its work") {
		t.Errorf("A: %q", got)
	}
}

// The dialog offers every fault that exists, with what it is given.
func TestEveryFaultCanBeStruckByHand(t *testing.T) {
	list := page.FaultKinds(words.English)
	for i, k := range fault.Kinds() {
		if i >= len(list) || list[i].Do != k.Name || list[i].Label == k.Name || list[i].Thread != (len(k.Places) > 0 || k.One) {
			t.Errorf("%s is not offered", k.Name)
		}
	}
	for _, want := range []page.FaultKind{
		{Do: "pause", Label: "pause a thread", Thread: true, For: true},
		{Do: "lose-message", Label: "lose its next message", Thread: true},
		{Do: "late-copy", Label: "its next request fails, and arrives late", Thread: true, At: true, For: true},
		{Do: "restart", Label: "Redis restarts", Keep: true},
		{Do: "fail-over", Label: "a replica takes over", Behind: true},
		{Do: "clock-jump", Label: "the clock of Redis jumps", By: true},
	} {
		if !slices.Contains(list, want) {
			t.Errorf("%+v is not offered", want)
		}
	}
}

func TestPositionsSayWhichFaultsArePointless(t *testing.T) {
	p := webtest.Open(t, nil).Page(t)
	p.Must(webtest.Object{"do": "open", "scenario": webtest.LeaseExpiry})
	p.Must(webtest.Object{"do": "step", "branch": 0, "thread": "A"})
	p.Must(webtest.Object{"do": "strike", "branch": 0, "fault": webtest.Object{"do": "lose-reply", "thread": "A", "at": "unlock"}})
	p.Must(webtest.Object{"do": "strike", "branch": 0, "fault": webtest.Object{"do": "pause", "thread": "A", "for": "300ms"}})
	p.Must(webtest.Object{"do": "strike", "branch": 0, "fault": webtest.Object{"do": "crash", "thread": "A"}})
	for _, c := range []struct {
		at               int
		do, thread, call string
		want             string
	}{
		{0, "evict", "", "", "There is no key that Redis could evict."},
		{0, "clock-jump", "", "", "There is no key with an expiry."},
		{0, "restart", "", "", "Redis has no data to lose."},
		{0, "crash", "A", "", ""},
		{0, "lose-reply", "A", "unlock", ""},
		{1, "evict", "", "", ""},
		{1, "restart", "", "", ""},
		{1, "lose-reply", "A", "lock", "A has no lock ahead of it."},
		{1, "lose-reply", "A", "unlock", ""},
		{1, "lose-reply", "B", "lock", ""},
		{2, "lose-reply", "A", "unlock", "The same fault is waiting in A already."},
		{2, "pause", "A", "", ""},
		{3, "pause", "A", "", "A is paused until 300 ms."},
		{3, "crash", "A", "", ""},
		{4, "pause", "A", "", "A has ended."},
		{4, "crash", "A", "", "A has ended."},
		{4, "lose-reply", "A", "unlock", "A has ended."},
		{4, "crash", "B", "", ""},
		{4, "evict", "", "", ""},
	} {
		if got := p.Branches[0].Positions[c.at].Why(c.do, c.thread, c.call); got != c.want {
			t.Errorf("after %d moves: %s %s %s: %q, want %q", c.at, c.do, c.thread, c.call, got, c.want)
		}
	}
	for _, c := range []struct {
		at    int
		fault webtest.Object
	}{
		{0, webtest.Object{"do": "evict"}},
		{0, webtest.Object{"do": "clock-jump", "by": "1s"}},
		{2, webtest.Object{"do": "lose-reply", "thread": "A", "at": "unlock"}},
		{3, webtest.Object{"do": "pause", "thread": "A", "for": "300ms"}},
		{4, webtest.Object{"do": "crash", "thread": "A"}},
	} {
		thread, _ := c.fault["thread"].(string)
		call, _ := c.fault["at"].(string)
		want := p.Branches[0].Positions[c.at].Why(c.fault["do"].(string), thread, call)
		if refused, _ := p.Ask(webtest.Object{"do": "strike", "branch": 0, "at": c.at, "fault": c.fault}); refused != want || want == "" {
			t.Errorf("after %d moves: %v is refused with %q, was announced with %q", c.at, c.fault, refused, want)
		}
	}
	p.Must(webtest.Object{"do": "run", "branch": 0, "to": "end"})
	if got := p.Branches[0].Tip(); !got.Over || got.Pointless != nil {
		t.Errorf("at the end: %+v", got)
	}

	zh := webtest.Open(t, nil).PageIn(t, "zh")
	zh.Must(webtest.Object{"do": "open", "scenario": "lock: {protocol: none}\n" + strings.SplitAfter(webtest.LeaseExpiry, "\n")[2]})
	if text, _ := json.Marshal(zh.Opened["never"]); !strings.Contains(string(text), "protocol: none 时不会发生这种故障。") {
		t.Errorf("what never strikes, in Chinese: %s", text)
	}
	if got := zh.Branches[0].Tip().Pointless; got != nil {
		t.Errorf("what never strikes is said at a position, too: %+v", got)
	}
}

// A lock without scripts has faults of Redis like any other.
func TestRedisFailsUnderALockWithoutScripts(t *testing.T) {
	p := webtest.Open(t, nil).Page(t)
	p.Must(webtest.Object{"do": "open", "scenario": "lock: {protocol: mutex-unsafe}\nthreads: [{name: A}]\n"})
	if refused, _ := p.Ask(webtest.Object{"do": "strike", "branch": 0, "fault": webtest.Object{"do": "script-flush"}}); refused != "Redis has no cached scripts to forget." {
		t.Errorf("script-flush: %q", refused)
	}
	p.Must(webtest.Object{"do": "step", "branch": 0})
	p.Must(webtest.Object{"do": "strike", "branch": 0, "fault": webtest.Object{"do": "restart"}})
}

// A thousand frames that are nothing: each is answered, and the page goes on.
func TestAThousandMalformedFrames(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	p := s.Page(t)
	p.Must(webtest.Object{"do": "open", "scenario": webtest.LeaseExpiry})
	r := rand.New(rand.NewPCG(1, 2))
	good := []byte(`{"id":1,"do":"strike","branch":0,"at":0,"fault":{"do":"pause","thread":"A","for":"5ms"}}`)
	var sent sync.WaitGroup
	sent.Go(func() {
		for i := range 1000 {
			frame := slices.Clone(good)
			for range 1 + r.IntN(6) {
				frame[r.IntN(len(frame))] = byte(r.IntN(256))
			}
			kind := websocket.TextMessage
			if i%3 == 0 {
				kind = websocket.BinaryMessage
				frame = frame[:r.IntN(len(frame))]
			}
			if err := p.Conn.WriteMessage(kind, frame); err != nil {
				t.Error(err)
				return
			}
		}
		if err := p.Conn.WriteJSON(webtest.Object{"id": 4711, "do": "trace", "branch": 0}); err != nil {
			t.Error(err)
		}
	})
	answers, done := 0, false
	for !done {
		var f webtest.PlayFrame
		if err := p.Conn.ReadJSON(&f); err != nil {
			t.Fatal(err)
		}
		if f.Done || f.Refused != "" {
			answers++
		}
		done = f.Re == 4711 && f.Done
	}
	sent.Wait()
	if answers != 1001 {
		t.Errorf("%d answers to 1001 frames", answers)
	}
	// One that is too long ends the line, and only this one.
	if err := p.Conn.WriteMessage(websocket.TextMessage, bytes.Repeat([]byte("x"), 2<<20)); err == nil {
		_, _, err := p.Conn.ReadMessage()
		var closed *websocket.CloseError
		if err == nil || errors.As(err, &closed) && closed.Code != websocket.CloseMessageTooBig {
			t.Errorf("a frame of 2 MiB: %v", err)
		}
	}
	if res, _ := s.Do(t, http.MethodGet, "/healthz", nil); res.StatusCode != http.StatusOK {
		t.Error("the server is not well")
	}
	s.Page(t).Must(webtest.Object{"do": "open", "scenario": webtest.LeaseExpiry})
}

func TestTwoPeopleStepAtOnce(t *testing.T) {
	s := webtest.Open(t, nil)
	var wg sync.WaitGroup
	results := make([][]string, 2)
	for n, thread := range []string{"A", "B"} {
		p := s.Page(t)
		wg.Go(func() {
			p.Must(webtest.Object{"do": "open", "scenario": "lock: {lease: 200ms}\nthreads: [{name: A}, {name: B}]"})
			p.Must(webtest.Object{"do": "step", "branch": 0, "thread": thread})
			for !p.Branches[0].Tip().Over {
				p.Must(webtest.Object{"do": "step", "branch": 0})
			}
			results[n] = p.Branches[0].Rows
		})
	}
	wg.Wait()
	if !strings.Contains(results[0][0], `acting l1 inside" data-thread="A"`) || !strings.Contains(results[1][0], `acting l1 inside" data-thread="B"`) {
		t.Errorf("first rows:\n%s\n%s", results[0][0], results[1][0])
	}
}

func TestSteppingIsLimited(t *testing.T) {
	s := webtest.Open(t, func(c *web.Config) { c.Limits.SteppingAddress = 1 })
	first := s.Page(t)
	res, body := s.Do(t, http.MethodGet, "/play/socket", nil)
	if res.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, "at its limit") || res.Header.Get("Retry-After") != "10" {
		t.Errorf("a second page: %d, %v", res.StatusCode, res.Header)
	}
	first.Must(webtest.Object{"do": "open", "scenario": webtest.LeaseExpiry})
}

// A page is told on its socket why there is no room: a browser shows it nothing
// of a handshake that is refused.
func TestWhoFindsNoRoomIsToldOnTheSocket(t *testing.T) {
	for language, want := range map[string]string{
		"en": "Your address is at its limit of scenarios being stepped through (-max-stepping-per-address=1). Close a tab,",
		"zh": "你的地址同时单步执行的场景已达上限（-max-stepping-per-address=1）。",
	} {
		s := webtest.Open(t, func(c *web.Config) { c.Limits.SteppingAddress = 1 })
		first := s.Page(t)
		second := s.PageIn(t, language)
		if err := second.Conn.WriteJSON(webtest.Object{"id": 1, "do": "open", "scenario": webtest.LeaseExpiry}); err != nil {
			t.Fatal(err)
		}
		var told struct {
			V       int
			Full    bool
			Refused string
		}
		if err := second.Conn.ReadJSON(&told); err != nil || !told.Full || told.V != 1 || !strings.HasPrefix(told.Refused, want) {
			t.Errorf("%s: told %+v, %v", language, told, err)
		}
		if _, _, err := second.Conn.ReadMessage(); !websocket.IsCloseError(err, wire.CloseFull) {
			t.Errorf("%s: closed with %v, want %d", language, err, wire.CloseFull)
		}
		first.Must(webtest.Object{"do": "open", "scenario": webtest.LeaseExpiry})
	}
}

// Every page is told that the server goes, whatever it was doing.
func TestShutdownIsToldToAllWhoStep(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	var pages []*webtest.PlayPage
	for i := range 20 {
		p := s.Page(t)
		p.Must(webtest.Object{"do": "open", "scenario": webtest.LeaseExpiry})
		for range i { // some have asked for much, and hear nothing of it any more
			if err := p.Conn.WriteJSON(webtest.Object{"id": 99, "do": "locks", "branch": 0, "protocols": []string{"reentrant", "mutex", "spin"}}); err != nil {
				t.Fatal(err)
			}
		}
		pages = append(pages, p)
	}
	go s.Web.Close()
	for i, p := range pages {
		_ = p.Conn.SetReadDeadline(time.Now().Add(time.Minute))
		var err error
		for err == nil {
			_, _, err = p.Conn.ReadMessage()
		}
		if !websocket.IsCloseError(err, websocket.CloseGoingAway) {
			t.Errorf("page %d: %v, want close 1001", i, err)
		}
	}
}

// A whole class opens the page at once from one address, and starts runs.
func TestAClassBehindOneAddress(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.Open(t, nil)
	const people = 300
	failed := make(chan error, people)
	open := make(chan *websocket.Conn, people)
	for range people {
		go func() {
			conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+"/play/socket", nil)
			if err == nil {
				open <- conn
				err = conn.WriteJSON(webtest.Object{"id": 1, "do": "open", "scenario": "threads: [{name: A}, {name: B}]"})
			}
			for err == nil {
				var f webtest.PlayFrame
				if err = conn.ReadJSON(&f); err == nil && f.Refused != "" {
					err = errors.New(f.Refused)
				}
				if f.Done {
					break
				}
			}
			failed <- err
		}()
	}
	for range people {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	close(open)
	var conns []*websocket.Conn
	for conn := range open {
		conns = append(conns, conn)
	}
	defer func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}()
	for i := range people {
		if res, body := s.Do(t, http.MethodPost, "/runs", webtest.TwoThreads("store", "wall", "yaml", "threads: [{name: A, work: 1m}]", "base", "")); res.StatusCode != http.StatusSeeOther {
			t.Fatalf("run %d: %d\n%s", i, res.StatusCode, body)
		}
	}
}

func TestKeptLinks(t *testing.T) {
	s := webtest.Open(t, nil)
	sc, err := scenario.Parse([]byte(webtest.LeaseExpiry + "schedule: [0, 0]"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := link.Encode(link.Contents{Scenario: sc, At: 1})
	if err != nil {
		t.Fatal(err)
	}
	post := func(body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/s", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		var answer struct{ Path string }
		if res.StatusCode == http.StatusCreated {
			if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
				t.Fatal(err)
			}
		}
		return res.StatusCode, answer.Path
	}
	status, path := post(text)
	_, again := post(text)
	if status != http.StatusCreated || path != again || len(path) < len("/s/")+11 {
		t.Errorf("kept: %d at %q and %q", status, path, again)
	}
	res, body := s.Do(t, http.MethodGet, path, nil)
	if res.StatusCode != http.StatusOK || !strings.Contains(body, `data-open="`+text+`"`) {
		t.Errorf("GET %s = %d without the link", path, res.StatusCode)
	}
	for body, want := range map[string]int{
		"hello": http.StatusUnprocessableEntity, text[:40] + "~0": http.StatusUnprocessableEntity,
		strings.Repeat("A", 70<<10): http.StatusRequestEntityTooLarge,
	} {
		if status, _ := post(body); status != want {
			t.Errorf("%.20s: %d, want %d", body, status, want)
		}
	}
	if res, body := s.Do(t, http.MethodGet, "/s/AAAAAAAAAAA", nil); res.StatusCode != http.StatusNotFound || !strings.Contains(body, "Nothing is kept here") {
		t.Errorf("an unknown id: %d", res.StatusCode)
	}
}

func TestFromTheFormToStepping(t *testing.T) {
	s := webtest.Open(t, nil)
	res, body := s.Do(t, http.MethodPost, "/runs", webtest.TwoThreads("action", "step"))
	fragment, ok := strings.CutPrefix(res.Header.Get("Location"), "/play#")
	if res.StatusCode != http.StatusSeeOther || !ok {
		t.Fatalf("%d to %q\n%s", res.StatusCode, res.Header.Get("Location"), body)
	}
	state, err := link.Decode(fragment)
	if err != nil || state.Scenario.Title != "Two" || len(state.Scenario.Threads) != 2 {
		t.Errorf("%+v, %v", state, err)
	}
	for path, want := range map[string]int{"/play": 200, "/play/crash": 200, "/play/nothing": 404} {
		if res, _ := s.Do(t, http.MethodGet, path, nil); res.StatusCode != want {
			t.Errorf("GET %s = %d, want %d", path, res.StatusCode, want)
		}
	}
}

func TestOnlyWhoStartedALiveRunSteersIt(t *testing.T) {
	s := webtest.Open(t, nil)
	form := webtest.TwoThreads("store", "wall", "slow", "20")
	res, _ := s.Do(t, http.MethodPost, "/runs", form)
	path := res.Header.Get("Location")
	mine := res.Cookies()
	if res.StatusCode != http.StatusSeeOther || len(mine) != 1 || !mine[0].HttpOnly {
		t.Fatalf("%d, cookies %v", res.StatusCode, mine)
	}
	cookie := mine[0].Name + "=" + mine[0].Value
	_, body := s.Do(t, http.MethodGet, path, nil, "Cookie", cookie)
	if !strings.Contains(body, `data-steer="pause"`) || !strings.Contains(body, "every duration is 20 times as long") || !strings.Contains(body, "lease 4,000 ms") {
		t.Error("no controls, or no word of slow motion, for who started it")
	}
	if _, body := s.Do(t, http.MethodGet, path, nil); strings.Contains(body, "data-steer") {
		t.Error("controls for somebody else")
	}
	ask := func(header http.Header, text string) string {
		conn, _, err := s.Dial(t, path, 1<<20, header)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if err := conn.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			t.Fatal(err)
		}
		for {
			var f struct{ Refused, Controls string }
			if err := conn.ReadJSON(&f); err != nil {
				t.Fatal(err)
			}
			if f.Refused != "" || f.Controls != "" {
				return f.Refused + f.Controls
			}
		}
	}
	own := http.Header{"Cookie": {cookie}}
	if got := ask(nil, `{"thread":"A","do":"crash"}`); got != "Only who started this run can steer its threads." {
		t.Errorf("somebody else: %q", got)
	}
	if got := ask(own, `{"thread":"A"`); !strings.Contains(got, "That is not a command") {
		t.Errorf("half a command: %q", got)
	}
	if got := ask(own, `{"thread":"A","do":"pause"}`); !strings.Contains(got, "Resume") || !strings.Contains(got, "paused") {
		t.Errorf("pause: %q", got)
	}
	if got := ask(own, `{"thread":"A","do":"pause"}`); !strings.Contains(got, "A is paused already") && !strings.Contains(got, "Resume") {
		t.Errorf("pause twice: %q", got)
	}
}

func TestSlowMotionHasLimits(t *testing.T) {
	s := webtest.Open(t, nil)
	res, body := s.Do(t, http.MethodPost, "/runs", webtest.TwoThreads("store", "wall", "slow", "101"))
	if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "Slow motion is from 1 to 100 times.") {
		t.Errorf("101 times: %d", res.StatusCode)
	}
	res, body = s.Do(t, http.MethodPost, "/runs", webtest.TwoThreads("store", "wall", "slow", "100", "lock.lease", "2m"))
	if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "would be longer than allowed") {
		t.Errorf("a lease of 200 minutes: %d", res.StatusCode)
	}
}

// Whatever a scenario has, another lock can be chosen.
func TestAnyLockCanBeChosenInTheForm(t *testing.T) {
	s := webtest.Open(t, nil)
	for _, p := range exhibit.All() {
		if res, body := s.Do(t, http.MethodPost, "/runs", webtest.TwoThreads("action", "step", "lock.protocol", p.Name)); res.StatusCode != http.StatusSeeOther {
			t.Errorf("%s: %d\n%s", p.Name, res.StatusCode, body)
		}
	}
	res, _ := s.Do(t, http.MethodPost, "/runs", webtest.TwoThreads("action", "step", "lock.protocol", "redlock", "lock.nodes", "3"))
	fragment, _ := strings.CutPrefix(res.Header.Get("Location"), "/play#")
	if state, err := link.Decode(fragment); err != nil || state.Scenario.Lock.Nodes != 3 {
		t.Errorf("three nodes: %+v, %v", state.Scenario, err)
	}
}

func TestTheLocksAreExplainedInBothLanguages(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	for _, c := range []struct{ path, header, want string }{
		{"/locks/spin", "", "Two processes, two locks"},
		{"/locks/spin?lang=zh", "", "两个进程，两把锁"},
		{"/locks", "zh-CN", "完全不加锁"},
		{"/locks/spin", "zh-CN,zh;q=0.9", "两个进程，两把锁"},
		{"/locks/spin?lang=en", "zh-CN", "two processes, two locks"},
		{"/locks/spin?lang=xx", "", "two processes, two locks"},
	} {
		res, body := s.Do(t, http.MethodGet, c.path, nil, "Accept-Language", c.header)
		if res.StatusCode != http.StatusOK || !strings.Contains(strings.ToLower(body), strings.ToLower(c.want)) {
			t.Errorf("GET %s, %q: %d without %q", c.path, c.header, res.StatusCode, c.want)
		}
		if c.path != "/locks" && !strings.Contains(body, `href="/play/spin-two-processes"`) {
			t.Errorf("GET %s: no way to its scenarios", c.path)
		}
	}
}

// Each viewer has a run in their own language, on the socket too.
func TestRunsAndRefusalsInChinese(t *testing.T) {
	s := webtest.Open(t, nil)
	path := s.Run(t, webtest.TwoThreads())
	s.Ended(t, path) // in English, for somebody else
	conn, _, err := s.Dial(t, path, 0, http.Header{"Accept-Language": {"zh-CN"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var all string
	for {
		_, data, err := conn.ReadMessage()
		if err != nil {
			break
		}
		all += string(webtest.AsRead(data))
	}
	_, body := s.Do(t, http.MethodGet, path, nil, "Accept-Language", "zh-CN")
	for _, want := range []string{"lock：已获得锁", "没有违反任何规则", "第 4 次重试：已获得锁"} {
		if !strings.Contains(all, want) || !strings.Contains(body, want) {
			t.Errorf("no %q on the socket or the page", want)
		}
	}
	if strings.Contains(all, "lock: acquired") || !strings.Contains(body, "内嵌 miniredis · 虚拟时钟") {
		t.Error("English on the Chinese socket or page")
	}
	u := "ws" + strings.TrimPrefix(s.URL, "http") + "/play/socket"
	step, _, err := websocket.DefaultDialer.DialContext(t.Context(), u, http.Header{"Accept-Language": {"zh-CN"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = step.Close() }()
	p := &webtest.PlayPage{T: t, Conn: step, Branches: map[int]*webtest.PageBranch{}}
	if refused, _ := p.Ask(webtest.Object{"do": "step"}); refused != "还没有打开任何场景：请先发送命令 open。" {
		t.Errorf("a step before all: %q", refused)
	}
	p.Must(webtest.Object{"do": "open", "scenario": webtest.LeaseExpiry})
	if got := p.Branches[0].Tip().Options[1].Why; got != "等到 10 ms" {
		t.Errorf("why B does not move: %q", got)
	}
	p.Must(webtest.Object{"do": "step", "branch": 0})
	if refused, _ := p.Ask(webtest.Object{"do": "step", "branch": 0, "at": 1, "thread": "A"}); refused != "A 排在 B 之后，在 300 ms 才走。" {
		t.Errorf("a move that is not A's: %q", refused)
	}
	if row := p.Branches[0].Rows[0]; !strings.Contains(row, "lock：已获得锁") {
		t.Errorf("the first row: %s", row)
	}
}

// A scenario that cannot run where it should keeps the form, and says why.
func TestWhatIsNotPossibleThereKeepsTheForm(t *testing.T) {
	s := webtest.Open(t, nil)
	for _, c := range []struct {
		form url.Values
		want string
	}{
		{webtest.TwoThreads("store", "wall", "yaml", webtest.TwoText+"faults: [{time: 10ms, do: evict}]"), "evict happens to Redis itself, and only the embedded Redis on the virtual clock"},
		{webtest.TwoThreads("store", "wall", "lock.protocol", "redlock"), "redlock has 5 nodes, each a separate Redis"},
	} {
		res, body := s.Do(t, http.MethodPost, "/runs", c.form)
		if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, c.want) || !strings.Contains(body, `value="200ms"`) {
			t.Errorf("%d without %q, or without the form", res.StatusCode, c.want)
		}
	}
}

// TestWithoutScriptALessonCanBeRun sends the form that a page for stepping has
// where no script runs.
func TestWithoutScriptALessonCanBeRun(t *testing.T) {
	s := webtest.Open(t, nil)
	_, body := s.Do(t, http.MethodGet, "/play/lease-expiry", nil)
	_, rest, _ := strings.Cut(body, "<noscript>")
	form, _, _ := strings.Cut(rest, "</noscript>")
	_, value, _ := strings.Cut(form, `name="yaml" value="`)
	text, _, _ := strings.Cut(value, `"`)
	if !strings.Contains(form, `action="/runs"`) || text == "" {
		t.Fatalf("no form runs the scenario: %s", form)
	}
	path := s.Run(t, url.Values{"yaml": {html.UnescapeString(text)}, "action": {"run"}})
	s.Ended(t, path)
	_, page := s.Do(t, http.MethodGet, path, nil)
	if !strings.Contains(page, "The lease ends before the work</h1>") || !strings.Contains(page, "mutual-exclusion") {
		t.Error("the run is not that of the lesson")
	}
}
