package lab

import (
	"context"
	"slices"
	"time"

	"relock/engine/check"
	"relock/engine/outside/infer"
	"relock/engine/phrase"
	"relock/engine/recall"
	"relock/engine/store"
)

// Clocks of a search.
const (
	ClockGate = "gate"
	ClockWall = "wall"
)

// Options say what to search. With zero values the search finds Key out itself, and
// there is no Resource.
type Options struct {
	Command   []string   // the worker; empty: any client that connects
	Rounds    Rounds     // or a worker in this process, a goroutine for each thread, on the gate's clock
	Env       []string   // "K=V", for the workers
	Threads   int        // 1 to MaxThreads
	Nodes     int        // Redis that each has, of a lock of their majority, up to MaxNodes; 0 is one
	Faults    []string   // kinds that may strike
	MaxFaults int        // in one order
	MaxOrders int        // that are tried in order; beyond, some are drawn at random
	Key       string     // the lock's
	Kind      check.Kind // of the lock: how many may be inside at once, as check.Inside has it
	Also      []string   // keys of further locks, each exclusive; with marks, which name the locks, they only are keys
	Resource  string     // the key of what the lock protects
	Once      bool       // what an RPUSH on Resource writes down must be done once
	Rules     []string   // that count; none are all
	Clock     string     // ClockGate or ClockWall
	Listen    string     // where the ports are: a host, or ListenAll; "" is loopback
	External  *store.External
	Seed      uint64        // of what is drawn
	Timeout   time.Duration // how long a worker may be silent
	Progress  func(orders, waiting, broken int)
	Second    *recall.Second // is asked, too, what scripts answer on the embedded Redis; nil: none is
	NoProbe   bool           // nobody tries to get in on what an order has left
	Full      bool           // tests only: tries also orders that cannot differ
}

// Rounds plays the rounds of a thread, which has an address for each node, as a worker's process
// does, until ctx has ended. It returns nil then, and an error if it cannot go on.
type Rounds func(ctx context.Context, thread string, addresses []string) error

// starts reports whether the lab starts its workers.
func (o Options) starts() bool { return len(o.Command) > 0 || o.Rounds != nil }

// begin starts a thread's worker.
func (o Options) begin(thread string, addresses []string) (*worker, error) {
	if o.Rounds != nil {
		return run(o.Rounds, thread, addresses), nil
	}
	return spawn(o.Command, o.Env, thread, addresses)
}

// Of returns the options with a lock as infer.ParseLock reads it, and fails as that does.
func (o Options) Of(lock string) (Options, error) {
	l, err := infer.ParseLock(lock)
	o.Key, o.Also = l.Key, l.Also
	return o, err
}

// Lock returns the lock that the options name.
func (o Options) Lock() infer.Lock { return infer.Lock{Key: o.Key, Kind: o.Kind, Also: o.Also} }

// Check fails with a clear sentence if options do not go together.
func (o Options) Check() error {
	switch {
	case o.Threads < 1 || o.Threads > MaxThreads:
		return phrase.New("-threads %d: allowed: 1 to %d", o.Threads, MaxThreads)
	case o.Nodes < 0 || o.Nodes > MaxNodes:
		return phrase.New("-nodes %d: allowed: 1 to %d", o.Nodes, MaxNodes)
	case o.Nodes > 1 && o.External != nil:
		return phrase.New("-nodes and -redis: several nodes are built in, each a separate Redis; allowed: one of both")
	case o.MaxFaults < 0 || o.MaxFaults > MaxFaults:
		return phrase.New("-max-faults %d: allowed: 0 to %d", o.MaxFaults, MaxFaults)
	case o.MaxOrders < 1 || o.MaxOrders > MaxOrders:
		return phrase.New("-max-orders %d: allowed: 1 to %d", o.MaxOrders, MaxOrders)
	case o.Clock != ClockGate && o.Clock != ClockWall:
		return phrase.New("-clock %.40q: allowed: %s, %s", o.Clock, ClockGate, ClockWall)
	case o.Rounds != nil && (len(o.Command) > 0 || o.Clock != ClockGate):
		return phrase.New("a worker in this process plays alone, and on the gate's clock")
	case o.Timeout <= 0:
		return phrase.New("-timeout %s: allowed: more than 0", o.Timeout)
	case o.Key != "" && slices.Contains(o.Lock().Keys(), o.Resource):
		return phrase.New("-key and -resource are both %.60q; the lock and what it protects are two keys", o.Key)
	}
	if o.Once && (o.Resource == "" || o.Nodes > 1 || len(o.Also) > 0) {
		return phrase.New("-once: what is pushed on the key of -resource must be done once; allowed: with -resource, of one lock on one Redis")
	}
	if err := infer.Judges(o.Lock(), o.Nodes); err != nil {
		return err
	}
	if o.External != nil && o.External.Cluster() && o.Key == "" {
		return phrase.New("-redis: on a cluster, the lab stands in front of the node that has the lock's key: name that key with -key")
	}
	for _, rule := range o.Rules {
		switch {
		case !slices.Contains(infer.Rules(), rule):
			return phrase.New("-rules %.40q: allowed: %s", rule, phrase.Names(infer.Rules()))
		case rule == check.LostUpdate && o.Resource == "":
			return phrase.New("-rules %s: it can be broken on what the lock protects; name that key with %s", rule, "-resource")
		case rule == check.DoneTwice && !o.Once:
			return phrase.New("-rules %s: it can be broken by what must be done once; say so with %s", rule, "-resource KEY -once")
		}
	}
	for _, name := range o.Faults {
		switch k := kindNamed(name); {
		case k.name == "":
			return phrase.New("-faults %.40q: allowed: %s", name, phrase.Names(Faults()))
		case k.fits(o):
		case k.wall:
			return phrase.New("-faults %s needs -clock wall: it strikes the worker's process", name)
		default:
			return phrase.New("-faults %s needs the embedded Redis and -clock gate: it moves Redis' clock", name)
		}
	}
	return nil
}

// counted leaves out the rules that nobody has asked for.
func (o Options) counted(rules []string) []string {
	if len(o.Rules) == 0 {
		return rules
	}
	return slices.DeleteFunc(rules, func(rule string) bool { return !slices.Contains(o.Rules, rule) })
}

// backends makes the Redis behind the gate. It fails if it cannot get one elsewhere.
func (o Options) backends() (nodes, error) {
	if o.External != nil {
		x, err := newExternal(o.External, o.Key, o.Timeout)
		if err != nil {
			return nil, err
		}
		return nodes{x}, nil
	}
	var list nodes
	for range max(o.Nodes, 1) {
		list = append(list, newEmbedded(o.Clock == ClockWall, o.Timeout))
	}
	return list, nil
}

// fold returns the fold of no records yet of one order.
func (o Options) fold(key string, marks bool, known infer.Roles) infer.Fold {
	return infer.Fresh(o.Nodes, threadNames(o.Threads), infer.Lock{Key: key, Kind: o.Kind, Also: o.Also, Once: o.Once}, o.Resource, marks, known)
}

// ListenAll is every address of this machine.
const ListenAll = "*"

// host is where the ports are.
func (o Options) host() string {
	switch o.Listen {
	case "":
		return "127.0.0.1"
	case ListenAll:
		return ""
	}
	return o.Listen
}
