package run

import (
	"regexp"
	"slices"
	"strings"

	"relock/engine/scenario"
)

// Twins returns, for each thread of a scenario, the first one that differs from it
// by nothing but its name; nil where no two are alike. Names decide nothing, so twins can
// be exchanged in any run: whatever one may do, at any instant and with any outcome, the
// other may. Threads are not twins if anything of theirs is drawn by the seed, if the
// scenario's faults do not strike both alike, or if the lock's scripts ask Redis for an
// order of names.
func Twins(sc *scenario.Scenario) []int {
	if !namesDecideNothing(sc.Lock) {
		return nil
	}
	list := make([]int, len(sc.Threads))
	found := false
	for i := range list {
		first := slices.IndexFunc(list[:i], func(j int) bool { return areTwins(sc, j, i) })
		if list[i] = i; first >= 0 {
			list[i], found = first, true
		}
	}
	if !found {
		return nil
	}
	return list
}

// areTwins reports whether two threads differ by nothing but their names.
func areTwins(sc *scenario.Scenario, i, j int) bool {
	if sc.Lock.Convention.OfOwners() { // names of keys do not change places
		return false
	}
	if sc.Kind == scenario.KindHeartbeat && i == 0 { // the device
		return false
	}
	a, b := sc.Threads[i], sc.Threads[j]
	for _, t := range sc.Threads {
		if t.User == a.Name || t.User == b.Name { // it buys for one of them
			return false
		}
	}
	alone := scenario.Scenario{Threads: []scenario.Thread{a}}
	if alone.Drawn() || !slices.Equal(faultsOf(sc, a.Name), faultsOf(sc, b.Name)) {
		return false
	}
	a.Name, b.Name = "", ""
	return a == b
}

// faultsOf returns the scenario's faults that strike a thread, without its name.
func faultsOf(sc *scenario.Scenario, thread string) []scenario.Fault {
	var list []scenario.Fault
	for _, f := range sc.Faults {
		if f.Thread == thread {
			f.Thread = ""
			list = append(list, f)
		}
	}
	return list
}

// command matches a command in a script, and its name where that is written out.
var command = regexp.MustCompile(`redis\.p?call\((?:\s*['"](\w+)['"])?`)

// byIdentity are the commands that ask of names nothing but whether they are the
// same. Others may put them in an order: of two waiters with one score, ZPOPMIN
// takes the smaller name. Scripts go through what HGETALL answers to the end, and
// do the same to each field.
var byIdentity = []string{
	"DEL", "EXISTS", "EXPIRE", "PEXPIRE", "PEXPIREAT", "PTTL", "PUBLISH", "TIME", "TTL", "TYPE",
	"DECR", "DECRBY", "GET", "INCR", "INCRBY", "SET", "SETNX",
	"HDEL", "HEXISTS", "HGET", "HGETALL", "HINCRBY", "HLEN", "HMGET", "HSET", "HSETNX",
	"LINDEX", "LLEN", "LPOP", "LPUSH", "LRANGE", "LREM", "RPOP", "RPUSH",
	"ZADD", "ZCARD", "ZREM", "ZSCORE",
}

// namesDecideNothing reports whether no script of a lock asks Redis for an order
// of names. Commands outside of scripts never do.
func namesDecideNothing(l scenario.Lock) bool {
	if l.Own() { // what it does with a name it may do without Redis
		return false
	}
	for _, script := range l.Implementation().Scripts {
		for _, found := range command.FindAllStringSubmatch(script.Source, -1) {
			if !slices.Contains(byIdentity, strings.ToUpper(found[1])) {
				return false
			}
		}
	}
	return true
}

// naming says by which thread's name each thread goes in a position, by their
// places in the scenario. Twins take the names of their kind in the order in
// which they are named, so that it is the same position, no matter which is where.
type naming struct {
	r      *Run
	as     []int8 // or unnamed
	rename func(string) string
}

const unnamed = -1 // as yet

// newNaming names those that cannot be exchanged: who is no twin, and twins that
// the history of a third knows by name.
func (r *Run) newNaming() *naming {
	n := &naming{r: r, as: make([]int8, len(r.threads))}
	for i, t := range r.threads {
		n.as[i] = unnamed
		if r.o.Twins == nil || r.told.named[t.spec.Name] {
			n.as[i] = int8(i)
		}
	}
	return n
}

// give names a thread, by its place.
func (n *naming) give(i int) {
	if n.as[i] != unnamed {
		return
	}
	for j := range n.as {
		if n.r.o.Twins[j] == n.r.o.Twins[i] && !slices.Contains(n.as, int8(j)) {
			n.as[i] = int8(j)
			return
		}
	}
}

// of returns the name by which a thread goes. Anything that is no thread goes by its own.
func (n *naming) of(name string) string {
	for i, t := range n.r.threads {
		if t.spec.Name == name {
			n.give(i)
			return n.r.threads[n.as[i]].spec.Name
		}
	}
	return name
}

// complete names who is left: those that have ended.
func (n *naming) complete() {
	var left []int
	for i, as := range n.as {
		if as == unnamed {
			left = append(left, i)
		}
	}
	history := func(i int) string { return n.r.told.of(n.r.threads[i].spec.Name) }
	slices.SortStableFunc(left, func(i, j int) int { return strings.Compare(history(i), history(j)) })
	for _, i := range left {
		n.give(i)
	}
	var pairs []string
	for i, as := range n.as {
		if int(as) != i {
			pairs = append(pairs, string(n.r.threads[i].owner), string(n.r.threads[as].owner))
		}
	}
	if pairs != nil {
		n.rename = strings.NewReplacer(pairs...).Replace
	}
}

// inOrder returns the threads in the order of the names by which they go.
func (n *naming) inOrder() []*thread {
	list := make([]*thread, len(n.as))
	for i, as := range n.as {
		list[as] = n.r.threads[i]
	}
	return list
}
