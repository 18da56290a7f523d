package page

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"relock/engine"
	"relock/engine/check"
	"relock/engine/fault"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/trace/facts"
	"relock/lessons"
	"relock/web/link"
	"relock/web/words"
)

// FieldTerm is a word of the field.
type FieldTerm struct {
	ID       string // for an address
	Name     phrase.Text
	Text     phrase.Text // what it means, two sentences at most
	Also     phrase.Text // what else it is called, as articles do, "" where everybody says the same
	Redisson phrase.Text // what it is in Redisson, "" where Redisson has no word for it
	Scenario string      // the bundled scenario in which it is seen, by its name

	seen func(f *facts.Facts, e trace.Event) bool // whether an event shows it; the facts have taken it
}

// Elsewhere says in l what the term is called in articles and in Redisson, "" where
// everybody says the same.
func (t FieldTerm) Elsewhere(l words.Language) string {
	also, redisson := l.Say(t.Also), l.Say(t.Redisson)
	switch {
	case t.Also == "" && t.Redisson == "":
		return ""
	case t.Also == "":
		return l.Say("In Redisson: %s.", redisson)
	case t.Redisson == "":
		return l.Say("Also called: %s.", also)
	}
	return l.Say("Also called: %s. In Redisson: %s.", also, redisson)
}

// TermMoment is where a term is seen.
type TermMoment struct {
	Step int    // the T of the row
	Link string // the text of a link to there
}

func outcome(result trace.Result) func(*facts.Facts, trace.Event) bool {
	return func(_ *facts.Facts, e trace.Event) bool {
		b, ok := e.Body.(trace.Outcome)
		return ok && b.Result == result
	}
}

func struck(name string) func(*facts.Facts, trace.Event) bool {
	return func(_ *facts.Facts, e trace.Event) bool {
		b, ok := e.Body.(trace.Fault)
		return ok && b.Do == name
	}
}

func broken(rule string) func(*facts.Facts, trace.Event) bool {
	return func(_ *facts.Facts, e trace.Event) bool {
		b, ok := e.Body.(trace.Violation)
		return ok && b.Rule == rule
	}
}

func command(verb string) func(*facts.Facts, trace.Event) bool {
	return func(_ *facts.Facts, e trace.Event) bool {
		b, ok := e.Body.(trace.Command)
		return ok && strings.EqualFold(b.Arg(0), verb)
	}
}

// herd sees the third who is refused at the instant at which somebody got in.
func herd() func(*facts.Facts, trace.Event) bool {
	var at trace.Millis
	got, refused := false, map[string]bool{}
	return func(_ *facts.Facts, e trace.Event) bool {
		b, ok := e.Body.(trace.Outcome)
		if !ok {
			return false
		}
		if e.At != at {
			at, got, refused = e.At, false, map[string]bool{}
		}
		got = got || b.Result == trace.Acquired
		if b.Result == trace.Refused {
			refused[e.Thread] = true
		}
		return got && len(refused) >= 3
	}
}

// Terms are all of them, in the order in which they are read: each uses none
// that comes after it.
func Terms() []FieldTerm {
	return []FieldTerm{
		{"lock", "lock", "Only its holder may change what the lock protects. Redis refuses whoever else asks for it.", "distributed lock", "RLock, with lock() and unlock()", "two-threads", outcome(trace.Refused)},
		{"critical-section", "critical section", "The part of a program that only one thread may be in at a time. That is what a lock is for.", "protected code", "", "no-lock-lost-update", func(f *facts.Facts, _ trace.Event) bool { return len(f.Inside()) > 1 }},
		{"lost-update", "lost update", "Two threads read the same value, and each writes one more: one of the two updates is gone.", "overwritten write", "", "no-lock-lost-update", func(_ *facts.Facts, e trace.Event) bool {
			b, ok := e.Body.(trace.Resource)
			return ok && b.Op == trace.OpWrite && b.Based < b.Version-1
		}},
		{"owner", "owner", "The random value by which Redis knows a holder. Only its owner may delete the key.", "lock value, request id", "the hash field UUID:threadId", "two-threads", outcome(trace.Acquired)},
		{"reentrant", "reentrant", "Its holder may take it again, so that a function that locks can call one that locks.", "recursive", "RLock is reentrant", "two-threads", outcome(trace.Reentered)},
		{"hold-count", "hold count", "How often the holder has entered. Each unlock subtracts one, and 0 deletes the key.", "re-entry count", "getHoldCount()", "two-threads", outcome(trace.Decremented)},
		{"script", "atomic script", "Redis runs a Lua script as one step: no other command comes between.", "", "", "two-threads", command("HINCRBY")},
		{"lease", "lease", "How long the key lives. After that Redis drops it by itself, and tells nobody.", "expiry time, TTL of the lock", "leaseTime", "lease-expiry", func(_ *facts.Facts, e trace.Event) bool {
			_, ok := e.Body.(trace.Expired)
			return ok
		}},
		{"belief", "belief", "What a thread thinks is true of its lock. It can be wrong: Redis has the truth.", "", "", "lease-expiry", func(f *facts.Facts, e trace.Event) bool {
			return e.Belief["A"] > 0 && !slices.Contains(f.Holders(e.Key), "A") && e.At > 0
		}},
		{"watchdog", "watchdog", "It renews the lease while the work goes on. A paused process pauses it, too.", "background thread that renews automatically", "lockWatchdogTimeout, 30 s unless set; it works if no leaseTime is given", "two-threads", outcome(trace.Renewed)},
		{"lost-reply", "lost reply", "Redis has run it, but the caller gets no reply. Was the request lost, or the reply?", "response timeout", "", "lost-replies", struck(fault.LoseReply)},
		{"late-copy", "late copy", "A request that comes a second time, or after its caller has given up.", "delayed request", "", "late-unlock", func(_ *facts.Facts, e trace.Event) bool {
			b, ok := e.Body.(trace.Command)
			return ok && b.Late
		}},
		{"client-retry", "repeated request", "The client library repeats a request by itself when it gets no answer. Redis may have run the first one.", "automatic retry", "retryAttempts", "mutex-client-retries", func(_ *facts.Facts, e trace.Event) bool {
			b, ok := e.Body.(trace.Wait)
			return ok && b.Why == trace.WaitClient
		}},
		{"orphan", "orphan", "A key left behind by a holder that died; it keeps everybody out.", "lock that is never released", "", "mutex-unsafe-crash", func(_ *facts.Facts, e trace.Event) bool {
			b, ok := e.Body.(trace.End)
			return ok && b.Result == trace.Crashed && e.Key.Exists() && e.Key.PTTL == trace.NoExpiry
		}},
		{"tick", "tick", "One run of scheduled work, due on every machine with that schedule. A lock keeps two from running it at once, not one after the other.", "scheduled task", "", "tick-on-each-pod", broken(check.DoneTwice)},
		{"idempotency-key", "idempotency key", "All tries of the same thing carry the same key: the receiver recognizes the second one, and does it once.", "deduplication key", "", "tick-with-a-key", func(_ *facts.Facts, e trace.Event) bool {
			b, ok := e.Body.(trace.Resource)
			return ok && b.Refused
		}},
		{"fencing-token", "fencing token", "A number that grows with each grant. The resource refuses a write whose token is older than one it has seen.", "", "getFencedLock(), and the token from getToken()", "fenced-late-write", func(_ *facts.Facts, e trace.Event) bool {
			b, ok := e.Body.(trace.Resource)
			return ok && b.Refused
		}},
		{"fail-over", "fail-over", "A replica takes the master's place. It may lack the last writes, the lock among them.", "switch from master to replica", "", "fail-over", struck(fault.FailOver)},
		{"acknowledgement", "acknowledgement", "A replica confirms that it has a write. WAIT tells a client how many replicas have.", "", "checkLockSyncedSlaves, true unless set", "fail-over-wait", command("WAIT")},
		{"split-brain", "split brain", "Two masters at once that cannot reach each other. Both grant locks, and the writes of one are thrown away.", "two masters", "", "two-masters", struck(fault.TwoMasters)},
		{"append-only-file", "append-only file", "A file of Redis' writes. What has not reached the disk is lost when the machine goes down.", "", "", "restart-loses-a-second", struck(fault.Restart)},
		{"passing-error", "passing error", "Redis answers that it cannot run the command right now. Nothing has happened, and a retry may help.", "", "", "busy-asked-again", func(_ *facts.Facts, e trace.Event) bool {
			b, ok := e.Body.(trace.Outcome)
			return ok && b.Cause.Code == "BUSY"
		}},
		{"quorum", "quorum", "More than half of the nodes. Two majorities share a node, so two cannot both have one.", "majority", "RedissonRedLock, deprecated", "redlock", outcome(trace.Acquired)},
		{"drift", "clock drift", "Clocks drift apart, or jump. A holder must stop before its lease ends, by as much as its clock may be off.", "clock skew", "", "redsync-drift", struck(fault.Drift)},
		{"absolute-expiry", "absolute expiry", "A lease that ends at an instant, not after a span: the clocks of client and Redis must agree.", "", "", "mutex-pxat-clock-back", struck(fault.ClientClockJump)},
		{"herd", "herd", "Many wait for one lock and ask at the same instant. One gets in, and the others have asked in vain.", "thundering herd", "", "herd", herd()},
		{"starvation", "starvation", "One waits and never gets in, though the lock is free again and again.", "", "", "starvation", func(f *facts.Facts, e trace.Event) bool {
			b, ok := e.Body.(trace.Outcome)
			return ok && b.Result == trace.Exhausted && f.Entered[e.Thread] == 0
		}},
		{"queue", "fair lock", "Waiters queue in Redis, and the lock goes to the first.", "first come, first served", "getFairLock()", "fair", command("RPUSH")},
		{"deadlock", "deadlock", "Threads wait for one another in a circle: each keeps a lock that the next one wants.", "circular wait", "", "two-locks-deadlock", broken(check.Deadlock)},
		{"lock-ordering", "lock ordering", "All take their locks in one order, so a circle of waiting cannot close.", "fixed lock order", "", "two-locks-ordered", outcome(trace.Refused)},
		{"try-lock", "try-lock", "It asks once and does not wait. A thread that gives back what it holds when it is refused waits with empty hands: no deadlock.", "non-blocking lock", "tryLock(waitTime, leaseTime, unit); tryLock() does not wait", "two-locks-give-back", func(_ *facts.Facts, e trace.Event) bool {
			_, ok := e.Body.(trace.Wait)
			return ok && e.Belief[e.Thread] == 0
		}},
		{"schedule", "schedule", "Who moves when. The same schedule gives the same run; another one may break it.", "interleaving", "", "textbook", func(_ *facts.Facts, e trace.Event) bool { return e.Thread != "" && e.Step > 1 }},
	}
}

var moments = sync.OnceValues(func() (map[string]TermMoment, error) {
	found := map[string]TermMoment{}
	for _, t := range Terms() {
		m, err := t.find(context.Background())
		if err != nil {
			return nil, fmt.Errorf("glossary: %s: %w", t.ID, err)
		}
		found[t.ID] = m
	}
	return found, nil
})

// TermMoments returns where each term is seen, by its ID. The runs are made once,
// when it is first called. It is safe for concurrent use; the map must not be
// changed.
func TermMoments() (map[string]TermMoment, error) { return moments() }

// find steps through the scenario until the term is seen.
func (t FieldTerm) find(ctx context.Context) (TermMoment, error) {
	data, err := fs.ReadFile(lessons.Scenarios(), t.Scenario+".yaml")
	if err != nil {
		return TermMoment{}, err
	}
	sc, err := scenario.Parse(data)
	if err != nil {
		return TermMoment{}, err
	}
	moves, step, err := movesUntil(ctx, sc, t.seen)
	if err != nil {
		return TermMoment{}, err
	}
	if step == 0 {
		return TermMoment{}, fmt.Errorf("it is not seen in %s", t.Scenario)
	}
	text, err := link.Encode(link.Contents{Scenario: sc.WithSchedule(moves), At: len(moves)})
	return TermMoment{step, text}, err
}

// movesUntil steps through a scenario until something is seen, and returns the moves and the
// step up to there; the step is 0 where the run ends before.
func movesUntil(ctx context.Context, sc *scenario.Scenario, seen func(*facts.Facts, trace.Event) bool) (moves []scenario.Move, step int, err error) {
	p := engine.NewPaths(sc)
	defer p.Close()
	b, err := p.Path(ctx, sc.Schedule)
	if err != nil {
		return nil, 0, err
	}
	f, told := facts.New(b.Header.Owners), 0
	for {
		for ; told < len(b.Events); told++ {
			e := b.Events[told]
			if f.Add(e); seen(f, e) {
				return b.Moves, e.Step, nil
			}
		}
		if b.End().Over {
			return b.Moves, 0, nil
		}
		if b, err = p.Try(ctx, b.Moves, engine.Wish{}); err != nil {
			return nil, 0, err
		}
	}
}
