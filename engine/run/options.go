package run

import (
	"context"
	"errors"
	"fmt"

	"relock/engine/fault"
	"relock/engine/phrase"
	"relock/engine/recall"
	"relock/engine/scenario"
	"relock/engine/store"
)

// MaxEvents bounds a run: more rows than this teach nobody, and a page must
// hold them all.
const MaxEvents = 20_000

// Options say where and how a scenario is run.
type Options struct {
	// Wall runs on the wall clock instead of the virtual one.
	Wall bool
	// External is the Redis to run on, always on the wall clock; nil is an
	// embedded one of the run's own.
	External *store.External
	// Steered is called, and must not block, when something that Controls
	// tells has changed. Nil is allowed.
	Steered func()
	// ID is part of the run's key names on an external Redis.
	ID string
	// Turn is waited for before each script of a run on the wall clock and the
	// embedded Redis: it costs this machine's time. Done is called after it. It
	// fails with its context's cause. Nil is allowed.
	Turn func(context.Context) (done func(), err error)
	// Memory, if set, answers for the run's embedded Redises on the virtual
	// clock. The run must end before the Memory is closed or used elsewhere.
	Memory *recall.Memory
	// Ends, if set, is what is known of ends that other runs of the scenario had with
	// the same Memory.
	Ends Ends
	// ByHand lists the faults that Faults tells of, and the only ones that a run
	// with a Memory may be struck with by hand.
	ByHand []scenario.Fault
	// Twins is what Twins returns of the scenario, or nil: with a Memory, a position
	// is the same whichever of them is where. They go by other ids in Redis then.
	Twins []int
}

// ErrFault is returned by New for a fault that the run's store or clock
// cannot have.
var ErrFault = errors.New("fault not possible here")

// Impossible is the ErrFault of a scenario that cannot be run where it was to
// be: on the wall clock, or on a cluster.
type Impossible struct {
	Cluster  bool   // Protocol needs one Redis
	Min      bool   // its master is to need replicas
	Wait     bool   // the lock waits for replicas, which a cluster has for each of its Redises
	Locks    bool   // there are several
	Own      bool   // the lock's scripts are somebody's own
	Protocol string // whose nodes are each a separate Redis, or ""
	Nodes    int
	Fault    string // what happens to Redis itself, or ""
	Entry    int    // of the scenario's faults where Fault is set; else, without Protocol, of its schedule
}

// Error says what is not possible.
func (i *Impossible) Error() string { return fmt.Sprintf("%v: %v", ErrFault, i.Says()) }

// Says implements [phrase.Speaker].
func (i *Impossible) Says() phrase.Wording {
	switch {
	case i.Locks:
		return phrase.Say("several locks run step by step, on the virtual clock: not live, and not on a Redis of yours")
	case i.Own:
		return phrase.Say("the scripts of your own lock run step by step, or live on your own Redis: not live on the embedded one, which is in this process")
	case i.Min:
		return phrase.Say("min-replicas is a setting of your Redis, which this program does not change: leave the key out")
	case i.Wait:
		return phrase.Say("wait needs one Redis: WAIT asks the replicas of the one that it is sent to, and a cluster has several")
	case i.Cluster:
		return phrase.Say("%s needs one Redis: in a cluster PUBLISH counts the listeners of one node only, and the lock could be granted twice", i.Protocol)
	case i.Protocol != "":
		return phrase.Say("%s has %d nodes, each a separate Redis: only the virtual clock has them", i.Protocol, i.Nodes)
	case i.Fault != "":
		return phrase.Say("%s: %s happens to Redis itself, and only the embedded Redis on the virtual clock can do that", fmt.Sprintf("faults[%d]", i.Entry), i.Fault)
	default:
		return phrase.Say("%s: moves made step by step can only be repeated on the virtual clock", fmt.Sprintf("schedule[%d]", i.Entry))
	}
}

// Unwrap is ErrFault.
func (i *Impossible) Unwrap() error { return ErrFault }

// possible refuses options that could only be faked.
func possible(sc *scenario.Scenario, o Options) error {
	virtual := !o.Wall && o.External == nil
	if sc.Locks != nil && !virtual {
		return &Impossible{Locks: true}
	}
	if sc.Lock.Own() && !virtual && o.External == nil {
		return &Impossible{Own: true}
	}
	if o.External != nil && sc.Lock.MinReplicas.Count > 0 {
		return &Impossible{Min: true}
	}
	if o.External != nil && o.External.Cluster() && sc.Lock.Wait.Count > 0 {
		return &Impossible{Wait: true}
	}
	if o.External != nil && o.External.Cluster() && sc.Lock.Implementation().OneRedis {
		return &Impossible{Cluster: true, Protocol: sc.Lock.Protocol}
	}
	if sc.Lock.Nodes > 1 && !virtual {
		return &Impossible{Protocol: sc.Lock.Protocol, Nodes: sc.Lock.Nodes}
	}
	for i, f := range sc.Faults {
		if k, _ := fault.Struck(f.Do, f.At); f.Timed && !virtual && !k.Felt {
			return &Impossible{Fault: f.Do, Entry: i}
		}
	}
	for i, m := range sc.Schedule {
		if (m.Fault != nil || m.Until > 0) && !virtual {
			return &Impossible{Entry: i}
		}
	}
	return nil
}
