package fault

import (
	"strings"
	"time"

	"relock/engine/phrase"
	"relock/engine/trace"
)

// The faults of threads and on their way to Redis.
const (
	Pause       = "pause"
	Crash       = "crash"
	Panic       = "panic"
	Stall       = "stall"
	SkipUnlock  = "skip-unlock"
	ExtraUnlock = "extra-unlock"
	LoseRequest = "lose-request"
	LoseReply   = "lose-reply"
	LoseMessage = "lose-message"
	Delay       = "delay"
	LateCopy    = "late-copy"

	ClientClockJump = "client-clock-jump"
)

// outlives is a pause or delay that outlasts a short lease.
const outlives = 300 * time.Millisecond

var ofThreads = []Kind{
	{
		Name: Pause, Target: Thread, Places: Anywhere(), Fields: []string{"for", "scope"}, For: outlives,
		Word: "pause", Label: "pause: the thread stops for a while", Button: "pause a thread",
		Row: func(b trace.Fault, _ bool) phrase.Wording {
			switch {
			case b.ForMS == 0:
				return phrase.Say("paused by hand, its watchdog too")
			case b.Scope == ScopeWork:
				return phrase.Say("fault: the work is paused for %s, the watchdog goes on", b.ForMS.Duration())
			default:
				return phrase.Say("fault: paused for %s", b.ForMS.Duration())
			}
		},
		Why: func(s Scene) phrase.Wording {
			length := s.ForMS.Duration()
			switch {
			case s.Scope == ScopeWork && s.Watchdog > 0:
				return phrase.Say("%s's work is paused for %s; its watchdog is not.", s.Who, length)
			case s.Scope == ScopeWork:
				return phrase.Say("%s's work is paused for %s.", s.Who, length)
			case s.ForMS == 0:
				return phrase.Say("%s is paused by hand: its whole process stops until somebody resumes it.", s.Who)
			case s.Held && s.Left >= 0 && length >= s.Left:
				return phrase.Say("%s's whole process is paused for %s, and its lease has only %s left.", s.Who, length, s.Left)
			case s.Held && s.Left >= 0:
				return phrase.Say("%s's whole process is paused for %s, less than the %s that its lease has left.", s.Who, length, s.Left)
			default:
				return phrase.Say("%s's whole process is paused for %s.", s.Who, length)
			}
		},
	},
	{
		Name: Crash, Target: Thread, Places: Anywhere(),
		Word: "crash", Label: "crash: the process dies, nothing is released", Button: "crash a thread",
		Row: says("fault: the process dies"),
		Why: func(s Scene) phrase.Wording {
			switch {
			case s.Held && s.Left >= 0:
				return phrase.Say("%s dies with the lock: nothing is released, and the key has %s left.", s.Who, s.Left)
			case s.Held:
				return phrase.Say("%s dies with the lock: nothing is released, and the key has no expiry.", s.Who)
			default:
				return phrase.Say("%s dies, and no more of its code runs; it has no key in Redis.", s.Who)
			}
		},
	},
	{
		Name: Panic, Target: Code, Places: []string{AtWork}, Waits: AtWork,
		Word: "panic", Label: "panic: the business code panics", Button: "its work panics",
		Row: says("fault: the business code panics"),
		Why: func(s Scene) phrase.Wording {
			return phrase.Say("%s's work panics at level %d: its deferred unlocks run on the way out.", s.Who, s.Level)
		},
	},
	{
		Name: Stall, Target: Code, Places: []string{AtWork}, Waits: AtWork,
		Word: "stall", Label: "stall: the business code hangs, the watchdog goes on", Button: "its work hangs",
		Row: says("fault: the business code hangs"),
		Why: func(s Scene) phrase.Wording {
			switch {
			case s.Watchdog > 0 && s.MaxHold > 0:
				return phrase.Say("%s's work hangs for ever; its watchdog renews every %s, until it has held the lock for %s.", s.Who, s.Watchdog, s.MaxHold)
			case s.Watchdog > 0:
				return phrase.Say("%s's work hangs for ever, but its watchdog lives and renews every %s.", s.Who, s.Watchdog)
			}
			return phrase.Say("%s's work hangs for ever.", s.Who)
		},
	},
	{
		Name: SkipUnlock, Target: Code, Places: []string{AtUnlock}, Waits: AtUnlock,
		Word: "skip-unlock", Label: "skip-unlock: one unlock too few", Button: "it forgets its next unlock",
		Row: says("fault: the unlock is forgotten"),
		Why: func(s Scene) phrase.Wording {
			if s.Count > 0 {
				return phrase.Say("%s forgets to unlock level %d, so its count stays %d.", s.Who, s.Fault.Level, s.Count)
			}
			return phrase.Say("%s forgets to unlock.", s.Who)
		},
	},
	{
		Name: ExtraUnlock, Target: Code, Places: []string{AtUnlock}, Waits: AtUnlock,
		Word: "extra-unlock", Label: "extra-unlock: one unlock too many", Button: "it unlocks once too often",
		Row: says("fault: one unlock too many"),
		Why: func(s Scene) phrase.Wording {
			return phrase.Say("%s is about to unlock a second time what it has unlocked already.", s.Who)
		},
	},
	{
		Name: LoseRequest, Target: OnTheWay, Places: Calls(),
		Word: "lose-request", Label: "lose-request: the command never reaches Redis", Button: "lose its next request",
		Row: onTheWay("fault: the request is lost", "fault: the request to node %d is lost"),
		Why: func(s Scene) phrase.Wording {
			if s.Node > 0 {
				return phrase.Say("%s's %s will not reach node %d: the request is lost on the way.", s.Who, s.At, s.Node)
			}
			return phrase.Say("%s's %s will not reach Redis: the request is lost on the way.", s.Who, s.At)
		},
	},
	{
		Name: LoseReply, Target: OnTheWay, Places: Calls(),
		Word: "lose-reply", Label: "lose-reply: Redis runs the command, the answer is lost", Button: "lose its next reply",
		Row: onTheWay("fault: the reply is lost", "fault: the reply of node %d is lost"),
		Why: func(s Scene) phrase.Wording {
			if s.Node > 0 {
				return phrase.Say("%s will not hear what node %d answers to its %s: the reply is lost.", s.Who, s.Node, s.At)
			}
			return phrase.Say("%s will not hear what Redis answers to its %s: the reply is lost.", s.Who, s.At)
		},
	},
	{
		Name: LoseMessage, Target: Message, Places: []string{AtLock}, Waits: AtLock,
		Word: "lose-message", Label: "lose-message: the wake-up message is lost", Button: "lose its next message",
		Row: says("fault: the message is lost"),
		Why: func(s Scene) phrase.Wording {
			return phrase.Say("%s is not told: the message is lost, so that only its own timer can wake it.", s.Who)
		},
	},
	{
		Name: Delay, Target: OnTheWay, Places: Calls(), Fields: []string{"for"}, For: outlives,
		Word: "delay", Label: "delay: the command reaches Redis later", Button: "delay its next request",
		Row: func(b trace.Fault, _ bool) phrase.Wording {
			if b.Node > 0 {
				return phrase.Say("fault: the request to node %d is delayed by %s", b.Node, b.ForMS.Duration())
			}
			return phrase.Say("fault: the request is delayed by %s", b.ForMS.Duration())
		},
		Why: func(s Scene) phrase.Wording {
			if s.Node > 0 {
				return phrase.Say("%s's %s is held up on the way to node %d and gets there %s later.", s.Who, s.At, s.Node, s.ForMS.Duration())
			}
			return phrase.Say("%s's %s is held up on the way and reaches Redis %s later.", s.Who, s.At, s.ForMS.Duration())
		},
	},
	{
		Name: LateCopy, Target: OnTheWay, Places: Calls(), Fields: []string{"for"}, For: outlives,
		Word: "late-copy", Label: "late-copy: an error now, the command reaches Redis later", Button: "its next request fails, and arrives late",
		Row: func(b trace.Fault, _ bool) phrase.Wording {
			return phrase.Say("fault: the call fails now, its request reaches Redis %s later", b.ForMS.Duration())
		},
		Why: func(s Scene) phrase.Wording {
			return phrase.Say("%s's %s is held up on the way: it fails now, and Redis runs it %s later.", s.Who, s.At, s.ForMS.Duration())
		},
	},
	{
		Name: ClientClockJump, Target: Thread, Places: Anywhere(), Fields: []string{"by"}, By: -time.Second,
		Word: "client-clock-jump", Label: "client-clock-jump: the thread's time of day is set", Button: "set a thread's time of day",
		Row: func(b trace.Fault, _ bool) phrase.Wording {
			back, by := set(b)
			if back {
				return phrase.Say("fault: its time of day is set back by %s", by)
			}
			return phrase.Say("fault: its time of day is set forward by %s", by)
		},
		Why: func(s Scene) phrase.Wording {
			back, by := set(s.Fault)
			if back {
				return phrase.Say("%s's time of day is set back by %s: an instant that it names is over sooner for Redis. Spans stay as they are.", s.Who, by)
			}
			return phrase.Say("%s's time of day is set forward by %s: an instant that it names comes later for Redis. Spans stay as they are.", s.Who, by)
		},
	},
	answerError,
}

var resume = Kind{
	Name: Resume, Target: Thread, Word: "resume",
	Row: says("goes on"),
	Why: func(s Scene) phrase.Wording {
		if s.Level > 0 && !s.Held && s.InRedis {
			return phrase.Say("%s resumes where it stopped, and does not know that the lock is no longer its own.", s.Who)
		}
		return phrase.Say("%s resumes where it stopped.", s.Who)
	},
}

var drift = Kind{
	Name: Drift, Target: Thread, Word: "drift",
	Row: func(b trace.Fault, _ bool) phrase.Wording {
		if size, slow := strings.CutPrefix(b.By, "-"); slow {
			return phrase.Say("fault: its clock runs %s slow", size)
		}
		return phrase.Say("fault: its clock runs %s fast", b.By)
	},
	Why: func(s Scene) phrase.Wording {
		if size, slow := strings.CutPrefix(s.By, "-"); slow {
			return phrase.Say("%s's clock runs %s slow: by it a lease ends later than it does in Redis.", s.Who, size)
		}
		return phrase.Say("%s's clock runs %s fast: by it a lease ends sooner than it does in Redis.", s.Who, s.By)
	},
}

// set returns how far a time of day is set, and whether back: a time.Duration, or
// the trace's own text if it is not one.
func set(b trace.Fault) (back bool, by any) {
	d, ok := JumpsBy(b).(time.Duration)
	if !ok {
		return strings.HasPrefix(b.By, "-"), strings.TrimPrefix(b.By, "-")
	}
	return d < 0, max(d, -d)
}

// onTheWay chooses between two texts: for a single Redis, and for a request to
// one of several nodes.
func onTheWay(alone, several phrase.Text) func(trace.Fault, bool) phrase.Wording {
	return func(b trace.Fault, _ bool) phrase.Wording {
		if b.Node > 0 {
			return phrase.Say(several, b.Node)
		}
		return phrase.Say(alone)
	}
}
