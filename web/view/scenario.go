package view

import (
	"relock/engine/lock"
	"relock/engine/scenario"
	"relock/web/words"
)

// Scenario is a scenario ready to be shown, and to be edited in a form.
type Scenario struct {
	Title       string
	Kind        string // lock, or heartbeat, which has none
	Protocol    string
	Key         string
	Lease       string
	LeaseMillis int64
	Watchdog    string // its interval, "off", or "none" where the lock has none
	Seed        uint64
	Threads     []Thread
}

// Heartbeat tells whether the scenario has a device and who looks for it in
// place of a lock.
func (s Scenario) Heartbeat() bool { return s.Kind == scenario.KindHeartbeat }

// InRedis tells whether the protocol keeps its lock in Redis, so that a
// thread's belief and what Redis knows can part.
func InRedis(protocol string) bool {
	return lock.Protocol(protocol) != lock.None && lock.Protocol(protocol) != lock.Spin
}

// Thread is a thread's settings in words.
type Thread struct {
	Name     string
	Ordinal  int
	Start    string
	Depth    int
	Work     string
	Retries  int
	Interval string
}

// NewScenario words sc in l.
func NewScenario(l words.Language, sc *scenario.Scenario) Scenario {
	s := Scenario{
		Title: sc.Title, Kind: sc.Kind, Protocol: sc.Lock.Protocol, Key: sc.Lock.Key, Seed: sc.Seed,
		Lease: scenario.Duration(sc.Lock.Lease), LeaseMillis: sc.Lock.Lease.Milliseconds(),
		Watchdog: l.Say("off"),
	}
	switch {
	case !lock.Protocol(sc.Lock.Protocol).HasWatchdog():
		s.Watchdog = l.Say("none")
	case sc.Lock.Watchdog > 0:
		s.Watchdog = scenario.Duration(sc.Lock.Watchdog)
	}
	for i, t := range sc.Threads {
		s.Threads = append(s.Threads, Thread{
			Name: t.Name, Ordinal: i, Start: scenario.Duration(t.Start), Depth: t.Depth, Work: t.Work.String(),
			Retries: t.Retry.Times, Interval: scenario.Duration(t.Retry.Interval),
		})
	}
	return s
}
