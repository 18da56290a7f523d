package film_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/journal"
	"relock/engine/trace"
	"relock/web/words"
)

// asked is the answer that an attempt of the outcome's thread got at all: a command of it ran.
func noneRan(s scene) string {
	return s.unless(len(s.attempt(false)) == 0, "Redis ran %v of it", s.attempt(false))
}

func asks(n int, sooner bool) holds {
	return func(s scene) string { return s.afterwards(n, sooner) }
}

func workFor(n int) holds {
	return func(s scene) string {
		return s.unless(s.value(n) == s.length(s.work().For.Duration()), "it takes %v", s.work().For.Duration())
	}
}

func retries(n int) holds { return quantity(n, func(s scene) int { return s.thread().Retry.Times }) }

func attempts(n int) holds { return quantity(n, func(s scene) int { return s.outcome().Attempt - 1 }) }

// lastOutcome is the thread's last outcome of a call of its business before the event.
func (s scene) lastOutcome() trace.Outcome {
	for j := s.i - 1; j >= 0; j-- {
		if o, ok := s.events[j].Body.(trace.Outcome); ok && s.events[j].Thread == s.who && (o.Call == "lock" || o.Call == "unlock") {
			return o
		}
	}
	return trace.Outcome{}
}

func waited(n int) holds { return quantity(n, func(s scene) int { return s.lastOutcome().Attempt }) }

func leaving(who int) holds {
	return func(s scene) string {
		return s.unless(slices.Contains(s.e.Leaving, s.value(who)), "%v are leaving", s.e.Leaving)
	}
}

func expired(n int) holds { // of whose key
	return func(s scene) string {
		b, ok := s.e.Body.(trace.Expired)
		return s.unless(ok && s.has(b.Was, s.value(n)), "it was %v's", s.holders(b.Was))
	}
}

func believed(n int) holds {
	return func(s scene) string {
		return s.unless(s.e.Belief[s.value(n)] > 0, "it believes %d", s.e.Belief[s.value(n)])
	}
}

// given is the expiry that the dropped key was given last.
func given(n int) holds {
	return func(s scene) string {
		b, _ := s.e.Body.(trace.Expired)
		last := int64(-3)
		for j := range s.i {
			if c, ok := s.events[j].Body.(trace.Command); ok && !c.OldMaster && c.Node == b.Node && c.Arg(1) == s.sc.Lock.Key && c.Error == "" {
				k := s.events[j].Key
				if b.Node > 0 {
					k = s.events[j].Nodes[b.Node-1]
				}
				switch v := strings.ToUpper(c.Arg(0)); {
				case k.PTTL < 0:
				case v == "SET" && c.Reply != "OK", v == "PEXPIRE" && c.Reply != int64(1), v == "EXPIRE" && c.Reply != int64(1), v == "PEXPIREAT" && c.Reply != int64(1):
				case v == "SET", v == "PEXPIRE", v == "PEXPIREAT", v == "SETEX", v == "EXPIRE":
					last = k.PTTL
				}
			}
		}
		return s.unless(last < 0 || s.value(n) == s.ms(last), "it was given %d ms", last)
	}
}

func toldCode(n int) holds {
	return func(s scene) string {
		return s.unless(s.outcome().Cause.Code == s.value(n), "it is told %q", s.outcome().Cause.Code)
	}
}

// wrote is a command of the attempt that changed the key: the nth value.
func wrote(n int) holds {
	return func(s scene) string {
		for _, c := range s.attempt(false) {
			if strings.ToUpper(c.Arg(0)) == s.value(n) && c.Error == "" {
				return ""
			}
		}
		return fmt.Sprintf("it ran %v", s.attempt(false))
	}
}

func resource(f func(trace.Resource) bool) holds {
	return func(s scene) string {
		b, _ := s.e.Body.(trace.Resource)
		return s.unless(f(b), "%+v", b)
	}
}

func amount(n int, f func(trace.Resource) int) holds {
	return quantity(n, func(s scene) int { b, _ := s.e.Body.(trace.Resource); return f(b) })
}

func struckFor(n int) holds {
	return func(s scene) string {
		return s.unless(s.value(n) == s.length(s.struck().ForMS.Duration()), "it lasts %v", s.struck().ForMS)
	}
}

// quietFor is a thread that does nothing for the nth value.
func quietFor(n int) holds {
	return all(struckFor(n), func(s scene) string {
		for _, e := range s.events[s.i+1:] {
			if c, late := e.Body.(trace.Command); late && c.Late {
				continue
			}
			if f, ok := e.Body.(trace.Fault); ok && (f.Do != "pause" || e.At == s.e.At) {
				continue
			}
			if e.Thread == s.who && e.At.Duration() < s.e.At.Duration()+s.struck().ForMS.Duration() && e.At > s.e.At {
				return fmt.Sprintf("it does %T at %v", e.Body, e.At)
			}
		}
		return ""
	})
}

func violations(n int) holds {
	return quantity(n, func(s scene) int {
		times := 0
		for _, e := range s.events[:s.i] {
			if _, ok := e.Body.(trace.Violation); ok {
				times++
			}
		}
		return times
	})
}

func noViolation(s scene) string {
	for _, e := range s.events[:s.i] {
		if v, ok := e.Body.(trace.Violation); ok {
			return v.Rule
		}
	}
	return ""
}

func inProcess(s scene) string {
	return s.unless(s.sc.Lock.Protocol == "spin", "it is %s", s.sc.Lock.Protocol)
}

func noLock(s scene) string {
	return s.unless(s.sc.Lock.Protocol == "none", "it is %s", s.sc.Lock.Protocol)
}

// framed is what is said of somebody's own client alone.
func framed(s scene) string { return s.unless(s.framed, "it is a lock of ours") }

// keepsKey is what is said of a lock that keeps its key after the work.
func keepsKey(s scene) string { return s.unless(s.sc.Lock.Keep > 0, "the lock keeps no key") }

// notOwn is what is said of our own locks alone.
func ours(call func(scene) string) holds {
	return func(s scene) string {
		return s.unless(s.sc.Lock.Protocol != "own" || !slices.Contains(s.sc.Lock.Scripts.Calls(), call(s)), "%s is a script of somebody's own", call(s))
	}
}

func ofCommand(s scene) string { return s.command().Call }
func ofOutcome(s scene) string { return s.outcome().Call }

// clauses are what stands within sentences, in both languages, and what must be so then.
var clauses = []struct {
	name, en, zh string
	so           func(s scene, m []string) string
}{
	{
		"no expiry", `(?:has|is there) (?:no|without an) expiry|, which has no expiry`, `[^前]没有过期时间|永不过期`,
		func(s scene, _ []string) string {
			if s.verb() == "PTTL" && s.command().Arg(1) != s.sc.Lock.Key {
				return ""
			}
			return noExpiry(s)
		},
	},
	{
		"another's for", `the key is ([A-E])'s for another ([\d,.]+ ms)`, `键是 ([A-E]) 的，还剩 ([\d,.]+ ms)`,
		func(s scene, m []string) string {
			return s.unless(s.has(s.key, m[1]) && s.ms(s.key.PTTL) == m[2], "the key is %v's for %d", s.holders(s.key), s.key.PTTL)
		},
	},
	{
		"holds with count", `([A-E]) holds the key with count (\d+)`, `键由 ([A-E]) 持有，计数 (\d+)`,
		func(s scene, m []string) string {
			return s.unless(s.field(m[1]) == m[2], "its field is %q", s.field(m[1]))
		},
	},
	{
		"hold count", `hold count (\d+)[,.:]`, `重入计数 (\d+)，`,
		func(s scene, m []string) string {
			return s.unless(s.sc.Lock.Protocol == "spin" || s.field(s.who) == m[1], "its field is %q", s.field(s.who))
		},
	},
	{
		"deleted", `key was deleted`, `键已删除`,
		func(s scene, _ []string) string { return deleted(s) },
	},
	{
		"no key", `there is no key(?: any more)?\.`, `键(?:已|)不(?:存)?在(?:了)?。`,
		func(s scene, _ []string) string { return noKey(s) },
	},
	{
		"gone", `the key is (?:gone|gone at once)`, `(?:^|[^等])键(?:已经|不存在了|随即消失|现在已经没了)`,
		func(s scene, _ []string) string {
			return s.unless(!s.has(s.key, s.who), "the key is %v's", s.holders(s.key))
		},
	},
	{
		"its own", `by a key that is its own|finds its own value|finds its own field`, `被自己的键|看到自己的值|[^没]找到自己的字段`,
		func(s scene, _ []string) string {
			if s.verb() == "DELEX" {
				return was(0)(s)
			}
			return own(s)
		},
	},
	{
		"inside at once", `^([A-E]) and ([A-E]) are inside at once`, `^([A-E]) 和 ([A-E]) 同时在临界区`,
		func(s scene, m []string) string {
			return s.unless(s.e.Belief[m[1]] > 0 && s.e.Belief[m[2]] > 0, "%v", s.e.Belief)
		},
	},
	{
		"not reached", `has not reached Redis|before the last unlock of ([A-E]) has arrived`, `还没到(?: Redis|。)`,
		func(s scene, _ []string) string {
			var list []string
			switch b := s.e.Body.(type) {
			case trace.Expired:
				list = s.holders(b.Was)
			default:
				list = s.holders(s.key)
			}
			for _, who := range list {
				if ran, refused := s.leaves(who); ran || refused != "" {
					return fmt.Sprintf("%s's last unlock has reached Redis: ran %v, %s", who, ran, refused)
				}
			}
			return ""
		},
	},
	{
		"nothing of it", `nothing of it ran|Redis ran nothing of it`, `一条命令也没执行|Redis 一条也没有执行`,
		func(s scene, _ []string) string { return noneRan(s) },
	},
	{
		"nobody", `the lock is nobody's|nobody has a majority`, `锁不属于任何人|谁都没有占到多数`,
		func(s scene, _ []string) string {
			return s.unless(len(s.holders(s.key)) == 0, "it is %v's", s.holders(s.key))
		},
	},
	{
		"lease left", `its lease has (?:only )?([\d,.]+ ms) left|within the ([\d,.]+ ms) that its lease has left|the ([\d,.]+ ms) that its lease has left`, `租约(?:还|只|)剩(?:余的)? ?([\d,.]+ ms)`,
		func(s scene, m []string) string {
			said := strings.Join(m[1:], "")
			return s.unless(s.has(s.key, s.who) && s.ms(s.key.PTTL) == said, "the key is %v's for %d", s.holders(s.key), s.key.PTTL)
		},
	},
	{
		"of nodes", `of (\d+) nodes`, `\d+/(\d+) 个节点|(\d+) 个节点中`,
		func(s scene, m []string) string {
			return s.unless(strings.Join(m[1:], "") == strconv.Itoa(len(s.nodes)), "there are %d nodes", len(s.nodes))
		},
	},
}

var compiled = func() (list [][2]*regexp.Regexp) {
	for _, c := range clauses {
		list = append(list, [2]*regexp.Regexp{regexp.MustCompile(c.en), regexp.MustCompile(c.zh)})
	}
	return list
}()

// truths are sentences by their English, and what must be so where they are said. The acting
// thread is their first value unless its place is given.
var truths = map[string]holds{
	"%s considers the device online: its key lasts another %s.":                                         all(result(trace.Online), least(2)),
	"%s considers the device offline: there is no key.":                                                 result(trace.Offline),
	"%s is told that it is at level %d, but in Redis the lock is %s's.":                                 all(level(2), of(3), notOwn),
	"%s is told that it is at level %d, but in Redis the key is gone.":                                  all(level(2), notOwn),
	"%s enters without a lock: nobody is asked, and nobody is kept out.":                                noLock,
	"%s takes the spin lock: the word in its process' memory was free, and its count is now %d.":        all(inProcess, quantity(2, func(s scene) int { return s.outcome().Count })),
	"%s has the lock: %d of %d nodes have its value, and %d are enough.":                                all(nodesOf(2, 3), quorum(4)),
	"%s has the lock, but its count is %d at level %d: an earlier request was counted, too.":            all(counts(0, 2), level(3)),
	"%s has the lock, and its key has no expiry.":                                                       all(own, noExpiry),
	"%s has the lock and fencing token %d; its lease runs for %s.":                                      all(own, quantity(2, func(s scene) int { return int(s.outcome().Token) }), left(3)),
	"%s has the lock: the key is its own for %s.":                                                       all(own, left(2), result(trace.Acquired), ours(ofOutcome)),
	"%s hears that the lock is now its own: hold count %d, and %s left to renew it.":                    all(counts(0, 2), left(3)),
	"%s has the lock at retry %d: hold count %d, and a lease of %s.":                                    all(attempts(2), counts(0, 3), left(4), ours(ofOutcome)),
	"%s has the lock: hold count %d, and a lease of %s.":                                                all(counts(0, 2), left(3), ours(ofOutcome)),
	"%s has the lock, valid until %s: %s from its request, less %s for clock drift.":                    own,
	"%s has the lock on %d of %d nodes, valid until %s: %s from its request, less %s for clock drift.":  nodesOf(2, 3),
	"%s is at level %d, and no lock keeps anybody out.":                                                 all(noLock, level(2)),
	"%s is at level %d of its spin lock: the count is %d, and nobody else is asked.":                    all(inProcess, level(2)),
	"%s is at level %d: the value is its own, nothing is counted, and %s are left.":                     all(level(2), own, least(3), func(s scene) string { return s.unless(s.key.Type == trace.TypeString, "it is a %s", s.key.Type) }),
	"%s is at level %d, but its count is %d: they no longer agree.":                                     all(level(2), counts(0, 3)),
	"%s is at level %d: hold count %d, and the key has no expiry.":                                      all(level(2), counts(0, 3), noExpiry),
	"%s is at level %d: hold count %d. Re-entry adds no time: %s are left.":                             all(level(2), counts(0, 3), left(4), ours(ofOutcome)),
	"%s is refused: the word in its process' memory is another thread's.":                               inProcess,
	"%s is refused: %d of %d nodes took its value, but not all answers came in time.":                   result(trace.Refused),
	"%s is refused: %d of %d nodes took its value, and %d are needed.":                                  all(result(trace.Refused), quorum(4)),
	"%s is refused by a key that is its own and has no expiry.":                                         all(result(trace.Refused), own, noExpiry),
	"%s is refused by a key that is its own, for another %s.":                                           all(result(trace.Refused), own, left(2)),
	"%s is refused: the key was another's when Redis looked.":                                           all(result(trace.Refused), notOwn),
	"%s is refused: %s holds the lock for another %s, and %s is number %d in the queue.":                all(of(2), left(3)),
	"%s is refused: %s is leaving, but its last unlock has not reached Redis, and the key has %s left.": all(of(2), leaving(2), left(3)),
	"%s is refused: %s is leaving, but its last unlock was answered with %s, and the key has %s left.": all(of(2), leaving(2), left(4), func(s scene) string {
		_, refused := s.leaves(s.value(2))
		return s.unless(refused == s.value(3) || s.answered(s.value(2)) == s.value(3), "it was told %q", refused)
	}),
	"%s is refused: %s is leaving, but its key is still there, for another %s.":             all(of(2), leaving(2), left(3)),
	"%s is refused: %s holds the key with count %d, and it has no expiry.":                  all(counts(2, 3), noExpiry),
	"%s is refused: %s holds the key with count %d, for another %s.":                        all(counts(2, 3), left(4)),
	"%s is refused: the key is %s's, and it has no expiry.":                                 all(of(2), noExpiry),
	"%s is refused: the key is %s's for another %s.":                                        all(of(2), left(3)),
	"%s gives up: it was refused, and it does not retry.":                                   all(result(trace.Exhausted), func(s scene) string { return s.unless(s.outcome().Attempt == 1, "attempt %d", s.outcome().Attempt) }),
	"%s gives up: retry %d was refused, and it retries %d times at most.":                   all(result(trace.Exhausted), attempts(2), retries(3)),
	"%s leaves, and there is no lock to give back.":                                         noLock,
	"%s releases its spin lock: its count is 0.":                                            inProcess,
	"%s has released the lock: %d of %d nodes still have its value.":                        nodesOf(2, 3),
	"%s thinks it has released its lock, but what it deleted was %s's.":                     func(s scene) string { return s.unless(s.value(2) != s.who, "its own") },
	"%s has released the lock as it left level %d, and level %d is still to be left.":       all(level(2), deleted),
	"%s has released the lock as it left level %d, and goes on inside level %d without it.": all(level(2), deleted),
	"%s is told “not held” and concludes that an earlier request released the lock: its lease cannot be over yet.": all(notOwn, func(s scene) string {
		for _, c := range s.attempt(false) {
			if v := strings.ToUpper(c.Arg(0)); (v == "DEL" || v == "DELEX") && c.Reply == int64(1) {
				return "its last attempt has deleted a key"
			}
		}
		return ""
	}),
	"%s has released the lock: it has left its last level, and the lock is %s's already.":                     all(of(2), notOwn),
	"%s has released the lock: its count fell to 0, so the key was deleted.":                                  deleted,
	"%s has released the lock: it has left its last level, so the key was deleted.":                           deleted,
	"%s has released the lock: its key was deleted.":                                                          deleted,
	"%s thinks it has released the lock, but there was no key to delete.":                                     notOwn,
	"%s has left level %d: its count is %d, and only 0 releases the spin lock.":                               all(inProcess, level(2)),
	"%s leaves level %d: there is no lock, and nothing was counted.":                                          all(noLock, level(2)),
	"%s has left level %d and thinks it is out, but its count is %d, so the key stays.":                       all(level(2), counts(0, 3)),
	"%s has left level %d: its count is %d, and only 0 deletes the key.":                                      all(level(2), counts(0, 3), ours(ofOutcome)),
	"%s has reported that it is there: its key lasts %s.":                                                     all(own, least(2)),
	"%s's watchdog has cut its lease, from %s to %s.":                                                         all(own, least(3)),
	"%s's watchdog has renewed on %d of %d nodes: the lock is now valid until %s.":                            nodesOf(2, 3),
	"%s's watchdog has renewed: the lock is now valid until %s.":                                              own,
	"%s's watchdog has renewed: the lease now has %s.":                                                        all(own, least(2), ours(ofOutcome)),
	"%s's watchdog has renewed, and does not know that the lease is %s's.":                                    of(2),
	"%s's watchdog was told that it renewed, but the key is gone by now.":                                     notOwn,
	"%s was granted the lock too late: its lease of %s may be over, so it gives the lock back.":               shown(2, func(s scene) string { return s.length(s.sc.Lock.Lease) }),
	"%s cannot enter level %d: its outer level is lost, the key is %s's now.":                                 all(level(2), of(3)),
	"%s cannot enter level %d: its outer level is lost, the key is gone.":                                     all(level(2), noKey),
	"%s cannot enter level %d: it no longer relies on its lease.":                                             level(2),
	"%s's watchdog learns that the lock is lost: the key is %s's now.":                                        of(2),
	"%s learns at its unlock that the lock was lost: %d of %d nodes still had its value.":                     quantity(3, func(s scene) int { return len(s.nodes) }),
	"%s learns as it leaves level %d that the lock was lost: the key is %s's now.":                            all(level(2), of(3)),
	"%s learns as it leaves level %d that the lock was lost: there is no key.":                                all(level(2), noKey),
	"%s's watchdog has found no key, and goes on all the same.":                                               result(trace.NotHeld),
	"%s's watchdog has found the key of %s, and goes on all the same.":                                        of(2),
	"%s unlocks level %d, which it has left before: Redis is not asked.":                                      all(level(2), noneRan),
	"%s has nothing to unlock at level %d: the key is %s's.":                                                  all(level(2), of(3)),
	"%s has nothing to unlock at level %d: there is no key of its own.":                                       all(level(2), notOwn),
	"%s fails with %s, and its key stays behind for another %s.":                                              all(own, left(3)),
	"%s cannot know the result of its %s: of %d nodes %d said yes and %d no, and %d are needed.":              all(quantity(3, func(s scene) int { return len(s.nodes) }), quorum(6)),
	"%s cannot know the result of retry %d of its %s: of %d nodes %d said yes and %d no, and %d are needed.":  all(attempts(2), quantity(4, func(s scene) int { return len(s.nodes) }), quorum(7)),
	"%s cannot reach Redis with its %s: nobody answers.":                                                      result(trace.Failed),
	"%s cannot reach Redis with retry %d of its %s: nobody answers.":                                          attempts(2),
	"%s hears no answer to its %s and cannot know that Redis has run %s.":                                     func(s scene) string { return s.unless(len(s.attempt(false)) > 0, "it ran nothing") },
	"%s hears no answer to retry %d of its %s and cannot know that Redis has run %s.":                         func(s scene) string { return s.unless(len(s.attempt(false)) > 0, "it ran nothing") },
	"%s hears no answer to its %s and cannot know that it never arrived.":                                     noneRan,
	"%s hears no answer to retry %d of its %s and cannot know that it never arrived.":                         noneRan,
	"%s hears no answer to its %s and cannot know that it is still on its way.":                               noneRan,
	"%s hears no answer to retry %d of its %s and cannot know that it is still on its way.":                   noneRan,
	"%s hears no answer to its %s and cannot know whether Redis has run it.":                                  result(trace.Failed),
	"%s hears no answer to retry %d of its %s and cannot know whether Redis has run it.":                      attempts(2),
	"%[1]s is told %[3]s in answer to its %[2]s: nothing of it ran, and the key is as it was.":                all(toldCode(3), noneRan),
	"%[1]s is told %[4]s in answer to retry %[2]d of its %[3]s: nothing of it ran, and the key is as it was.": all(toldCode(4), noneRan),
	"%[1]s is told %[3]s in answer to its %[2]s: Redis ran none of it.":                                       all(toldCode(3), noneRan),
	"%[1]s is told %[4]s in answer to retry %[2]d of its %[3]s: Redis ran none of it.":                        all(toldCode(4), noneRan),
	"%[1]s is told %[3]s in answer to its %[2]s, but Redis had run %[4]s before.":                             all(toldCode(3), wrote(4)),
	"%[1]s is told %[4]s in answer to retry %[2]d of its %[3]s, but Redis had run %[5]s before.":              all(toldCode(4), wrote(5)),

	"%s has done its work at level %d, which takes %s.": all(level(2), workFor(3)),
	"%s says that it is inside.":                        all(framed, believed(1)),
	"%s says that it has left.": all(framed, func(s scene) string {
		w, is := s.e.Body.(trace.Work)
		return s.unless(is && w.State == trace.WorkEnd, "it is %+v", s.e.Body)
	}),
	"%s ends its work at level %d, and in Redis the lock is not its own.":               all(level(2), notOwn),
	"%s ends its work at level %d, and its key has no expiry.":                          all(level(2), own, noExpiry),
	"%s ends its work at level %d, and its lease has %s left.":                          all(level(2), own, left(3)),
	"%s ends its work at level %d, and the key has %s left.":                            all(level(2), own, left(3)),
	"%s works at level %d for %s, and the key has %s left.":                             all(level(2), workFor(3), own, left(4)),
	"%s works on at level %d for %s, and the key has %s left.":                          all(level(2), workFor(3), own, left(4)),
	"%s stops its work at level %d, which would take %s: its hold's context has ended.": all(level(2), workFor(3)),
	"%s stops asking for level %d: the context of the level that called it has ended.":  all(result(trace.Cancelled), level(2)),
	"%s works at level %d for %s, and nothing keeps the others out.":                    all(level(2), workFor(3), noLock),
	"%s works at level %d for %s; a spin lock has no lease that could end.":             all(level(2), workFor(3), inProcess),
	"%s works at level %d for %s, though in Redis the lock is not its own.":             all(level(2), workFor(3), notOwn),
	"%s works at level %d for %s, and its key has no expiry.":                           all(level(2), workFor(3), own, noExpiry),
	"%s works at level %d for %s, within the %s that its lease has left.": all(level(2), workFor(3), own, left(4), func(s scene) string {
		return s.unless(s.work().For < trace.Millis(s.key.PTTL), "%v of %d", s.work().For, s.key.PTTL)
	}),
	"%s works at level %d for %s, and its lease has %s left: the watchdog must renew it.":                                  all(level(2), workFor(3), own, left(4), watches, renews),
	"%s works at level %d for %s, its lease has %s left, and there is no watchdog.":                                        all(level(2), workFor(3), own, left(4), unwatched),
	"%s works at level %d for %s, its lease has %s left, and its watchdog has stopped.":                                    all(level(2), workFor(3), own, left(4), watches, hasStopped),
	"%s works on at level %d for %s, and nothing keeps the others out.":                                                    all(level(2), workFor(3), noLock),
	"%s works on at level %d for %s; a spin lock has no lease that could end.":                                             all(level(2), workFor(3), inProcess),
	"%s works on at level %d for %s, though in Redis the lock is not its own.":                                             all(level(2), workFor(3), notOwn),
	"%s works on at level %d for %s, and its key has no expiry.":                                                           all(level(2), workFor(3), own, noExpiry),
	"%s works on at level %d for %s, within the %s that its lease has left.":                                               all(level(2), workFor(3), own, left(4)),
	"%s works on at level %d for %s, and its lease has %s left: the watchdog must renew it.":                               all(level(2), workFor(3), own, left(4), watches, renews),
	"%s works on at level %d for %s, its lease has %s left, and there is no watchdog.":                                     all(level(2), workFor(3), own, left(4), unwatched),
	"%s works on at level %d for %s, its lease has %s left, and its watchdog has stopped.":                                 all(level(2), workFor(3), own, left(4), watches, hasStopped),
	"%s sleeps for %s; without a new beat its key lasts %s.":                                                               all(asks(2, false), own, left(3)),
	"%s sleeps for %s, and does not look meanwhile.":                                                                       asks(2, false),
	"%s's client hears nothing, and sends the request again in %s, unless its call is over by then. The lock is not told.": asks(2, false),
	"%s waits %s before it sends its unlock again, unless its time is up first: retry %d.":                                 all(asks(2, false), waited(3)),
	"%s waits to be handed the lock, and asks again after %s at the latest.":                                               asks(2, true),
	"%s waits to be told that the lock is free, and asks again after %s at the latest.":                                    asks(2, true),
	"%s waits %s for nothing: it has no retry left, and gives up after that.":                                              asks(2, false),
	"%s waits %s before it asks again: retry %d, without a limit.":                                                         all(asks(2, false), waited(3)),
	"%s waits %s before it asks again: retry %d of %d.":                                                                    all(asks(2, false), waited(3), retries(4)),

	"%s finds %d left, and takes none.":                                                  all(amount(2, func(r trace.Resource) int { return r.Value }), resource(func(r trace.Resource) bool { return r.Stock && r.Value <= 0 })),
	"%s finds %d left, and means to take one when its work is done.":                     amount(2, func(r trace.Resource) int { return r.Value }),
	"%s reads %d, and means to write %d when its work is done.":                          all(amount(2, func(r trace.Resource) int { return r.Value }), amount(3, func(r trace.Resource) int { return r.Value + 1 })),
	"%s takes one, and %d are left.":                                                     all(amount(2, func(r trace.Resource) int { return r.Value }), resource(func(r trace.Resource) bool { return r.Value != 1 })),
	"%s takes one, and one is left.":                                                     resource(func(r trace.Resource) bool { return r.Value == 1 }),
	"%s takes one that does not exist: the stock is at %d.":                              all(amount(2, func(r trace.Resource) int { return r.Value }), resource(func(r trace.Resource) bool { return r.Value < 0 })),
	"%s writes %d over newer writes: it has missed %d since it read.":                    all(amount(2, func(r trace.Resource) int { return r.Value }), amount(3, func(r trace.Resource) int { return r.Version - 1 - r.Based })),
	"%s writes %d, one more than it read, and nobody wrote between.":                     all(amount(2, func(r trace.Resource) int { return r.Value }), resource(func(r trace.Resource) bool { return r.Version == r.Based+1 })),
	"%s finds it done, and leaves it.":                                                   resource(func(r trace.Resource) bool { return r.Effect && r.Value > 0 && r.Op == trace.OpRead }),
	"%s finds it not done, and means to do it when its work is done.":                    resource(func(r trace.Resource) bool { return r.Effect && r.Value == 0 && r.Op == trace.OpRead }),
	"%s does it again: it has now been done %d times.":                                   amount(2, func(r trace.Resource) int { return r.Value }),
	"%s does it: it is done once.":                                                       resource(func(r trace.Resource) bool { return r.Effect && r.Value == 1 }),
	"%s tries it again, without effect: its key is known.":                               resource(func(r trace.Resource) bool { return r.Refused }),
	"%s buys: user %s now has %d of %d.":                                                 all(amount(3, func(r trace.Resource) int { return r.Value }), amount(4, func(r trace.Resource) int { return r.Limit })),
	"%s finds that user %s has bought %d of %d, and does not buy.":                       all(amount(3, func(r trace.Resource) int { return r.Value }), resource(func(r trace.Resource) bool { return r.Value >= r.Limit })),
	"%s finds that user %s has bought %d of %d, and means to buy when its work is done.": all(amount(3, func(r trace.Resource) int { return r.Value }), resource(func(r trace.Resource) bool { return r.Value < r.Limit })),

	"Node %d drops %s's key: there its lease of %s is over.":                                  all(expired(2), given(3)),
	"Redis drops %s's key, which was kept after the work: its %s are over.":                   all(expired(1), given(2), keepsKey),
	"Redis drops %s's key: its lease of %s is over, and %s has ended before.":                 all(expired(1), given(2), ended),
	"Redis drops %s's key: its lease of %s is over before the last unlock of %s has arrived.": all(expired(1), given(2), leaving(1)),
	"Redis drops %s's key: its lease of %s is over, and its last unlock was answered with %s.": all(expired(1), given(2), leaving(1), func(s scene) string {
		_, refused := s.leaves(s.value(1))
		return s.unless(refused == s.value(3) || s.answered(s.value(1)) == s.value(3), "it was told %q", refused)
	}),
	"Redis drops %s's key: its lease of %s is over, and %s is leaving.": all(expired(1), given(2), leaving(1)),
	"Redis drops %s's key: its lease of %s is over. %s is paused and does not know.": all(expired(1), given(2), believed(1), func(s scene) string {
		s.who = s.value(1)
		return s.unless(s.stands(s.e.At, s.e.At) || s.byHand(), "it is not paused")
	}),
	"Redis drops %s's key: its lease of %s is over, and %s goes on as if it held the lock.": all(expired(1), given(2), believed(1)),
	"Redis drops %s's key: its lease of %s is over, and nobody has renewed it.":             all(expired(1), given(2)),
	"Redis drops the key: its lease of %s is over.":                                         given(1),
	"Redis drops the key of %s: its lease of %s is over.":                                   all(dropped(1), given(2)),
	"Redis drops the key of %s: its clock has jumped by %s, beyond the lease of %s.":        all(dropped(1), given(3)),
	"The new master drops %s's key: there its lease of %s is over.":                         all(expired(1), given(2)),

	"%s is done: its business call has returned without an error, round %d of %d.": all(quantity(2, func(s scene) int { return s.thread().Repeat }), quantity(3, func(s scene) int { return s.thread().Repeat })),
	"%s is done, but its key is still there, with count %d.":                       all(counts(0, 2), own),
	"%s is done, and its key stays on purpose, for another %s.":                    all(own, keepsKey, left(2)),
	"%s is done, but its key is still there.":                                      own,
	"%s is done, but it is still in the key.":                                      own,
	"The run is over at step %d, and no rule was broken.":                          all(quantity(1, func(s scene) int { return s.e.Step }), noViolation),
	"The run is over at step %d: no rule was broken, but this cannot be judged.":   all(quantity(1, func(s scene) int { return s.e.Step }), noViolation),
	"The run is over at step %d, and one rule was broken.":                         all(quantity(1, func(s scene) int { return s.e.Step }), func(s scene) string { s.said = []string{"1"}; return violations(1)(s) }),
	"The run is over at step %d: a rule was broken %d times.":                      all(quantity(1, func(s scene) int { return s.e.Step }), violations(2)),
	"The run is over at step %d: no rule was broken, but %s ended with an error.":  noViolation,
	"%s is gone: a crash runs no unlock.": func(s scene) string {
		b, _ := s.e.Body.(trace.End)
		return s.unless(b.Result == trace.Crashed, "%s", b.Result)
	},
	"%s ends with an error: it was told that its lock had been lost.": func(s scene) string {
		b, _ := s.e.Body.(trace.End)
		return s.unless(b.Result == trace.Lost, "%s", b.Result)
	},

	"%s finds a key: EXISTS answers 1, so it must ask next whether the key is its own.":                            all(ran("EXISTS", 1), ours(ofCommand), func(s scene) string { return s.unless(s.key.Exists(), "there is no key") }),
	"%s finds the lock free: EXISTS answers 0, there is no key.":                                                   all(ran("EXISTS", 0), noKey),
	"%s wants level %d and finds no key: EXISTS answers 0, so its outer level is gone.":                            all(ran("EXISTS", 0), noKey, level(2), ours(ofCommand)),
	"%s still has its field: HEXISTS answers 1, so it may leave level %d.":                                         all(ran("HEXISTS", 1), own, level(2), ours(ofCommand)),
	"%s has no field to count down: HEXISTS answers 0, the key is %s's now.":                                       all(ran("HEXISTS", 0), of(2), notOwn),
	"%s has no field to count down: HEXISTS answers 0, there is no key.":                                           all(ran("HEXISTS", 0), noKey),
	"%s's watchdog finds its field: HEXISTS answers 1, so the lease is its own to renew.":                          all(ran("HEXISTS", 1), own, ours(ofCommand)),
	"%s's watchdog finds no field of its own: HEXISTS answers 0, the key is %s's now.":                             all(ran("HEXISTS", 0), of(2), notOwn),
	"%s's watchdog finds no field of its own: HEXISTS answers 0, there is no key.":                                 all(ran("HEXISTS", 0), noKey),
	"%s finds its own field: HEXISTS answers 1, so this is a re-entry and no conflict.":                            all(ran("HEXISTS", 1), own, ours(ofCommand)),
	"%s finds its own field before it was told of it: HEXISTS answers 1, so the lock is its own.":                  all(ran("HEXISTS", 1), own, ours(ofCommand)),
	"%s finds no field of its own: HEXISTS answers 0, the key is %s's with count %d.":                              all(ran("HEXISTS", 0), counts(2, 3)),
	"%s reads its count: %s answers %d, and leaving level %d makes it %d.":                                         all(level(4), counts(0, 3), ours(ofCommand)),
	"%s reads its count: HGET answers %d, and entering level %d makes it %d.":                                      all(level(3), counts(0, 2), ours(ofCommand)),
	"%s leaves level %d: HINCRBY makes its count 0, and at 0 the key is deleted.":                                  all(level(2), ran("HINCRBY", 0), ours(ofCommand)),
	"%s leaves level %d: HINCRBY makes its count %d, and only at 0 the key is deleted.":                            all(level(2), answers("HINCRBY", 3), ours(ofCommand)),
	"%s takes the lock: HINCRBY makes its field %d, and for now the key has no expiry.":                            all(answers("HINCRBY", 2), own, noExpiry),
	"%s takes the lock: HINCRBY makes its field %d.":                                                               all(answers("HINCRBY", 2), own),
	"%s enters level %d: its field is %d already, so HINCRBY makes it %d and nobody is asked.":                     all(level(2), answers("HINCRBY", 4), own),
	"%s begins its lease: PEXPIRE gives the key %s, which had no expiry until now.":                                all(sets(2), ran("PEXPIRE", 1), func(s scene) string { return s.unless(s.before().PTTL == trace.NoExpiry, "it had %d", s.before().PTTL) }),
	"%s keeps the key on purpose: PEXPIRE gives it %s from now.":                                                   all(sets(2), ran("PEXPIRE", 1), own, keepsKey),
	"%s begins its lease: PEXPIRE gives the key %s.":                                                               all(sets(2), ran("PEXPIRE", 1)),
	"%s starts its lease again: PEXPIRE raises what is left from %s to %s.":                                        all(sets(3), hadLeft(2)),
	"%s sets no expiry: PEXPIRE answers 0, there is no key.":                                                       all(ran("PEXPIRE", 0), noKey),
	"%s's watchdog renews nothing: PEXPIRE answers 0, there is no key.":                                            all(ran("PEXPIRE", 0), noKey),
	"%s's watchdog sets the lease of %s to %s: a plain PEXPIRE asks nobody.":                                       all(of(2), sets(3)),
	"%s's watchdog cuts the lease from %s to %s: a plain PEXPIRE does not check what is left.":                     all(hadLeft(2), sets(3)),
	"%s's watchdog sets the lease to %s, with a plain PEXPIRE that asks nobody whose it is.":                       sets(2),
	"%s's watchdog gives the key an expiry again: PEXPIRE sets it to %s.":                                          sets(2),
	"%s's watchdog renews: PEXPIRE raises what is left of the lease from %s to %s.":                                all(hadLeft(2), sets(3), ran("PEXPIRE", 1), ours(ofCommand)),
	"%s's watchdog reads PTTL: %s of %s are left, so it renews.":                                                   all(left(2), ours(ofCommand)),
	"%s's watchdog reads PTTL: it is -1, so the key has no expiry and must get one.":                               all(ran("PTTL", -1), noExpiry, ours(ofCommand)),
	"%s reads PTTL: %s are left where %s are due, so its lease starts again.":                                      all(left(2), ours(ofCommand)),
	"%s asks how long to wait: by PTTL the lock is %s's for another %s.":                                           all(of(2), left(3)),
	"%s asks how long to wait: by PTTL the lock of %s has no expiry.":                                              all(of(2), noExpiry),
	"%s deletes nothing: DEL answers 0, there is no key any more.":                                                 all(ran("DEL", 0), noKey),
	"%s deletes nothing: DELEX answers 0, there is no key any more.":                                               all(ran("DELEX", 0), noKey),
	"%s deletes nothing: DELEX IFEQ finds the value of %s, whose lock it is now.":                                  all(ran("DELEX", 0), of(2)),
	"%s deletes the key: DELEX IFEQ finds its own value, compared and deleted in one command.":                     all(deletes, was(0)),
	"%s gives node %d back: DEL removes its key there.":                                                            all(deletes, was(0), quantity(2, func(s scene) int { return s.command().Node })),
	"%s deletes the key: it was its own when GET looked, and this time it still is.":                               all(deletes, was(0)),
	"%s deletes the key of %s: when GET looked it was its own, and DEL does not look again.":                       all(deletes, was(2)),
	"%s deletes the key: a plain DEL asks nobody whose it is; this time it is its own.":                            all(deletes, was(0)),
	"%s deletes the key of %s: a plain DEL asks nobody whose it is.":                                               all(deletes, was(2)),
	"%s deletes the key at level %d: its count is 0, though level %d goes on.":                                     all(deletes, level(2)),
	"%s deletes the key as it leaves level %d: nothing was counted, and level %d goes on.":                         all(deletes, level(2)),
	"%s deletes the key: its count is 0, so the lock is free.":                                                     all(deletes, ours(ofCommand)),
	"%s deletes the key as it leaves its last level: the lock is free.":                                            all(deletes, ours(ofCommand)),
	"%s deletes the key: the value was its own, so the lock is free.":                                              all(deletes, was(0), ours(ofCommand)),
	"%s's watchdog finds its own value, with %s left: it may renew.":                                               all(own, left(2), ours(ofCommand)),
	"%s's watchdog must not renew: GET reads the value of %s.":                                                     all(of(2), ours(ofCommand)),
	"%s's watchdog finds nothing to renew: GET answers nil, there is no key.":                                      noKey,
	"%s finds its own value: by GET the lock is its own, and it may enter again.":                                  all(own, ours(ofCommand)),
	"%s finds its own value before it was told of it: by GET the lock is its own.":                                 all(own, ours(ofCommand)),
	"%s must stay out: GET reads the value of %s.":                                                                 all(of(2), ours(ofCommand)),
	"%s finds no value: GET answers nil.":                                                                          all(ran("GET", nil), noKey),
	"%s may delete on node %d: GET reads its own value there.":                                                     own,
	"%s must not delete on node %d: GET reads the value of %s there.":                                              of(3),
	"%s finds nothing to delete on node %d: GET answers nil.":                                                      all(ran("GET", nil), noKey),
	"%s may delete the key: GET reads its own value. Until DEL comes, that can change.":                            own,
	"%s may keep the key: GET reads its own value.":                                                                all(own, keepsKey),
	"%s must not keep the key: GET reads the value of %s, whose lock it is now.":                                   all(of(2), keepsKey),
	"%s finds nothing to keep: GET answers nil, there is no key.":                                                  all(ran("GET", nil), noKey, keepsKey),
	"%s may delete the key: GET reads its own value.":                                                              all(own, ours(ofCommand)),
	"%s must not delete the key: GET reads the value of %s, whose lock it is now.":                                 all(of(2), ours(ofCommand)),
	"%s finds nothing to delete: GET answers nil, there is no key.":                                                all(ran("GET", nil), noKey),
	"%s reports that it is there: SET makes its key last %s from now.":                                             all(own, sets(2)),
	"%s wants level %d, but there was no key: SET takes the lock again, for %s.":                                   all(own, sets(3), level(2), ours(ofCommand)),
	"%s takes the lock: SET writes its value and gives it %s.":                                                     all(own, sets(2), ours(ofCommand)),
	"%s gets node %d: SET NX finds no key there and makes one, for %s.":                                            all(ran("SET", "OK"), own, sets(3)),
	"%s does not get node %d: SET NX finds its own key there.":                                                     own,
	"%s does not get node %d: SET NX finds the key of %s there.":                                                   of(3),
	"%s takes the lock: SET NX finds no key and makes one, for %s.":                                                all(ran("SET", "OK"), own, sets(2)),
	"%s takes the lock: SET NX finds no key and makes one, until an instant that is %s away by Redis' clock.":      all(ran("SET", "OK"), own, sets(2)),
	"%s gets nothing: SET NX finds a key, which is its own.":                                                       all(own, ran("SET", nil)),
	"%s gets nothing: SET NX finds the key of %s, which has no expiry.":                                            all(of(2), noExpiry),
	"%s gets nothing: SET NX finds the key of %s, which has %s left.":                                              all(of(2), left(3)),
	"%s takes the lock: SETNX answers 1. Until PEXPIRE comes, the key has no expiry.":                              all(ran("SETNX", 1), own, noExpiry, ours(ofCommand)),
	"%s gets nothing: SETNX answers 0, the key is its own.":                                                        all(ran("SETNX", 0), own),
	"%s gets nothing: SETNX answers 0, the key is %s's and has no expiry.":                                         all(ran("SETNX", 0), of(2), noExpiry),
	"%s gets nothing: SETNX answers 0, the key is %s's for another %s.":                                            all(ran("SETNX", 0), of(2), left(3)),
	"%s finds no field of its own: HMGET answers nil, the key is %s's with count %d.":                              all(counts(2, 3), notOwn),
	"%s does not hold the lock: HMGET answers nil, there is no key.":                                               noKey,
	"%s does not hold the lock: HMGET answers nil, the key is %s's now.":                                           all(of(2), notOwn),
	"%s finds the lock free: EXISTS answers 0, there is neither a key nor a note of calls that are over.":          all(ran("EXISTS", 0), noKey),
	"%s finds the key alone: EXISTS answers 1, so the lock is taken, and there is no note of calls that are over.": ran("EXISTS", 1),
	"%s notes the number of this call: HSET sets it to %s, and what arrives later with a smaller one is refused.":  shown(2, func(s scene) string { return s.command().Arg(3) }),
	"%s reads its count: HMGET answers %d, and level 1 is its last, so the key can go.":                            all(counts(0, 2), ours(ofCommand)),

	"%s thinks it has released the lock, but there was no key of its own to delete.":                      notOwn,
	"%s has left the lock, and its key stays on purpose, for another %s.":                                 all(own, keepsKey, left(2)),
	"%s has left the lock. Its key was to stay, but in Redis the lock is not its own.":                    all(notOwn, keepsKey),
	"%s thinks it has released the lock, but the key is still its own.":                                   own,
	"%s's watchdog stops: it renews a lock for %s at most, and that time is up. The key has %s left.":     all(own, left(3), aged),
	"%s's watchdog stops: it renews a lock for %s at most, and that time is up. The key has no expiry.":   all(own, noExpiry, aged),
	"%s's watchdog stops: it renews a lock for %s at most, and that time is up. The key is not its own.":  all(notOwn, aged),
	"%[1]s is told %[3]s in answer to its %[2]s: the part that Redis ran changed nothing.":                all(toldCode(3), nothingWritten),
	"%[1]s is told %[4]s in answer to retry %[2]d of its %[3]s: the part that Redis ran changed nothing.": all(toldCode(4), nothingWritten),
	"%s has a permit: its script says yes.":                                                               all(result(trace.Acquired), theirs, counted),
	"%s has the lock: its script says yes.":                                                               all(result(trace.Acquired), theirs),
	"%s is at level %d: its script says yes.":                                                             all(result(trace.Reentered), level(2), theirs),
	"%s has the lock and fencing token %d: its script says yes.":                                          all(result(trace.Acquired), theirs),
	"%s is refused: its script says no.":                                                                  all(result(trace.Refused), theirs),
	"%s has unlocked level %d: its script says yes.":                                                      all(result(trace.Released, trace.Decremented), level(2), theirs),
	"%s assumes that its lock is released.":                                                               all(result(trace.Released), theirs),
	"%s's watchdog believes that it renewed: its script says yes.":                                        all(result(trace.Renewed), theirs),
	"%s's watchdog assumes that the lock is lost: its script says no.":                                    all(result(trace.Lost), theirs),
	"%s hears as it leaves level %d that the lock was lost: its script says no.":                          all(result(trace.Lost), level(2), theirs),
	"%s sends %s, and Redis answers %s.":                                                                  func(s scene) string { return s.unless(s.verb() == s.value(2), "%s", s.verb()) },
	"%s's %s arrives late. %s":                                                                            func(s scene) string { return s.unless(s.command().Late, "it is not late") },
	"%s gets the lock.":                                                                                   all(framed, result(trace.Acquired)),
	"%s gets the lock again: level %d.":                                                                   all(framed, result(trace.Reentered), level(2)),
	"%s gets a permit.":                                                                                   all(framed, result(trace.Acquired), counted),
	"%s gets no permit.":                                                                                  all(framed, result(trace.Refused), counted),
	"%s does not get the lock.":                                                                           all(framed, result(trace.Refused)),
	"%s's %s is done.":                                                                                    all(framed, result(trace.Released, trace.Decremented, trace.Renewed)),
	"%s's %s finds nothing of its own.":                                                                   all(framed, result(trace.NotHeld)),
	"%s works at level %d for %s, and its lease has %s left.":                                             all(framed, level(2), workFor(3), own, left(4)),
	"%s works on at level %d for %s, and its lease has %s left.":                                          all(framed, level(2), workFor(3), own, left(4)),
	"%s's script runs %s, which answers %s.":                                                              func(s scene) string { return s.unless(s.verb() == s.value(2), "%s", s.verb()) },

	"%s's work is paused for %s; its watchdog is not.":                               all(quietFor(2), watches, renews),
	"%s's work is paused for %s.":                                                    quietFor(2),
	"%s's whole process is paused for %s, and its lease has only %s left.":           all(quietFor(2), own, left(3)),
	"%s's whole process is paused for %s, less than the %s that its lease has left.": all(quietFor(2), own, left(3)),
	"%s's whole process is paused for %s.":                                           quietFor(2),
	"%s dies with the lock: nothing is released, and the key has %s left.":           all(own, left(2)),
	"%s dies with the lock: nothing is released, and the key has no expiry.":         all(own, noExpiry),
	"%s dies, and no more of its code runs; it has no key in Redis.":                 notOwn,
	"%s's work hangs for ever, but its watchdog lives and renews every %s.": all(watches, renews, func(s scene) string {
		return s.unless(s.sc.Lock.MaxHold == 0, "it stops after %v", s.sc.Lock.MaxHold)
	}),
	"%s's work hangs for ever; its watchdog renews every %s, until it has held the lock for %s.": all(watches, renews, shown(2, func(s scene) string { return s.length(s.sc.Lock.Watchdog) }), shown(3, func(s scene) string { return s.length(cmp.Or(s.sc.Lock.MaxHold, time.Hour)) })),
	"%s ends without level %d: retry %d was its last.":                                           lastRetry(2, 3),
	"%s ends without level %d, which it asked for once.":                                         all(quantity(2, func(s scene) int { return s.gaveUp().Level }), func(s scene) string { return s.unless(s.gaveUp().Attempt == 1, "%+v", s.gaveUp()) }),
	"%s waits for replicas: what it wrote is acknowledged by %d.":                                answers("WAIT", 2),
	"%s's clock runs %s fast: by it a lease ends sooner than it does in Redis.":                  func(s scene) string { return s.unless(s.thread().Drift > 0, "%v", s.thread().Drift) },
	"%s's clock runs %s slow: by it a lease ends later than it does in Redis.":                   func(s scene) string { return s.unless(s.thread().Drift < 0, "%v", s.thread().Drift) },
	"%s blocks itself: it holds the lock, and this kind does not let its owner in again.":        func(s scene) string { s.who = s.value(1); return own(s) },
	"%s forgets to unlock level %d, so its count stays %d.":                                      counts(0, 3),
	"%s's %s is held up on the way and reaches Redis %s later.":                                  struckFor(3),
	"%s's %s is held up on the way: it fails now, and Redis runs it %s later.":                   struckFor(3),
	"Node %d answers %s from now on: %d of %d nodes serve, and %d are needed.":                   all(serve(3, 4, false), quorum(5)),
	"Node %d no longer answers %s: %d of %d nodes are left to it, and %d are needed.":            all(serve(3, 4, true), quorum(5)),
	"Node %d no longer answers: %d of %d nodes are left, and %d are needed.":                     all(serve(2, 3, false), quorum(4)),
	"Node %d answers %s with %s from now on: %d of %d nodes serve it, and %d are needed.":        all(serve(4, 5, true), quorum(6)),
	"Redis answers %s with %s from now on; it answers the others as it did.":                     shown(1, func(s scene) string { return s.struck().Thread }),
	"Redis serves %s again.":                                                           shown(1, func(s scene) string { return s.struck().Thread }),
	"Redis answers again.":                                                             nobodyOut,
	"Redis serves again: it no longer answers with %s.":                                nobodyOut,
	"Node %d serves again: %d of %d nodes do.":                                         serve(2, 3, false),
	"Node %d serves %s again: %d of %d nodes do.":                                      serve(3, 4, true),
	"%s's %s is answered with %s: Redis does not run this request.":                    unrun,
	"%s's %s is answered with %s by node %d, which does not run this request.":         unrun,
	"Redis answers %s to every command, and runs none.":                                func(s scene) string { return s.unless(s.struck().Thread == "", "only to %s", s.struck().Thread) },
	"Redis no longer answers %s, but still answers the others.":                        all(shown(1, func(s scene) string { return s.struck().Thread }), othersServed),
	"Redis no longer answers: calls fail until it is up again.":                        func(s scene) string { return s.unless(s.struck().Thread == "", "only to %s", s.struck().Thread) },
	"Redis evicts the key: %s's lock is gone, and nobody is told.":                     all(noKey, was(1)),
	"Redis should evict the key, but there is none.":                                   noKey,
	"Redis restarts empty: %s's key is gone, and nobody is told.":                      all(noKey, was(1)),
	"Redis restarts empty, and there was no key to lose.":                              noKey,
	"Redis fails over to a replica that lacks the last writes (%d): %s's key is gone.": all(noKey, was(2)),

	"Whoever comes is refused for %[1]s, though nobody is inside: %[2]s.": shutOut,
	"Whoever comes is refused for ever, though nobody is inside: %s.":     shutOut,
	"Nobody else gets in for %[1]s: %[2]s.":                               func(s scene) string { return s.unless(s.key.Exists(), "there is no key") },
	"Nobody else ever gets in: %s.":                                       func(s scene) string { return s.unless(s.key.Exists(), "there is no key") },
	"%s is at level %d, and its hold count is %d: the two must be equal.": func(s scene) string {
		s.who = s.value(1)
		return s.unless(s.field(s.who) == strconv.Itoa(s.number(3)) && s.e.Belief[s.who] == s.number(2), "%v %v", s.key, s.e.Belief)
	},
	"%s is at no level, and its hold count is %d: it must be 0.": func(s scene) string {
		s.who = s.value(1)
		return s.unless(s.field(s.who) == strconv.Itoa(s.number(2)) && s.e.Belief[s.who] == 0, "%v %v", s.key, s.e.Belief)
	},
	"%s and %s are inside at once, and in Redis the lock is held by %s.": func(s scene) string {
		return s.unless(s.value(3) == s.all(s.key), "it is %v's", s.holders(s.key))
	},
	"%s is inside while %s reads: only readers share the lock.": func(s scene) string {
		return s.unless(s.e.Belief[s.value(1)] > 0 && s.e.Belief[s.value(2)] > 0 && s.cameIn(s.value(2)) == trace.ModeRead && s.cameIn(s.value(1)) != trace.ModeRead, "%s came in as %q, %s as %q", s.value(1), s.cameIn(s.value(1)), s.value(2), s.cameIn(s.value(2)))
	},
	"%s and %s are inside at once, and in Redis the lock is %s's.":                                          func(s scene) string { return s.unless(s.has(s.key, s.value(3)), "it is %v's", s.holders(s.key)) },
	"%s and %s are inside at once: Redis has two masters, and %s asks the old one.":                         func(s scene) string { return s.unless(s.twoMasters(), "there is one master") },
	"%s and %s are inside at once, and in Redis the lock is nobody's.":                                      noKey,
	"%s has deleted a key that was not its own: it was %s's, and %s is not told.":                           func(s scene) string { return s.foreign(s.value(1), s.value(2)) },
	"%[1]s has deleted %[2]s's key: its unlock came late. When %[1]s called it, the key was still its own.": func(s scene) string { return s.foreign(s.value(1), s.value(2)) },
}

// shutOut is that nobody believes that it holds what is left.
func shutOut(s scene) string {
	return s.unless(len(s.e.Belief) == 0, "%v believe", s.e.Belief)
}

// answered is the error with which a fault has the thread's last unlock answered.
func (s scene) answered(who string) string {
	for j := s.i - 1; j >= 0; j-- {
		if f, ok := s.events[j].Body.(trace.Fault); ok && s.events[j].Thread == who && f.Do == "answer-error" && f.At == "unlock" {
			return f.Error
		}
	}
	return ""
}

// unrun is a request of which Redis runs nothing: the next the thread hears of its call is
// that error, and no command ran since.
func unrun(s scene) string {
	for _, e := range s.events[s.i+1:] {
		if e.At > s.e.At {
			break
		}
		if e.Thread != s.who {
			continue
		}
		switch b := e.Body.(type) {
		case trace.Command:
			if b.Call == s.struck().At && !b.Late && (s.struck().Node == 0 || b.Node == s.struck().Node) {
				return fmt.Sprintf("it ran %v", b.Args)
			}
		case trace.Outcome, trace.End, trace.Wait:
			return ""
		}
	}
	return ""
}

func nothingWritten(s scene) string {
	for _, c := range s.attempt(false) {
		if c.Error == "" && journal.Wrote(c.Args, c.Reply) && c.Arg(0) != "WAIT" {
			return fmt.Sprintf("it ran %v", c.Args)
		}
	}
	return ""
}

// aged is a watchdog that has renewed for as long as it may.
func aged(s scene) string {
	most := s.sc.Lock.MaxHold
	if most == 0 {
		most = time.Hour
	}
	return s.unless(s.value(2) == s.length(most) && s.outcome().Result == trace.Aged, "at most %v", most)
}

// gaveUp is the thread's last acquisition that came to nothing.
func (s scene) gaveUp() trace.Outcome {
	for j := s.i - 1; j >= 0; j-- {
		if o, ok := s.events[j].Body.(trace.Outcome); ok && s.events[j].Thread == s.who && o.Result == trace.Exhausted {
			return o
		}
	}
	return trace.Outcome{}
}

func lastRetry(level, retry int) holds {
	return func(s scene) string {
		o := s.gaveUp()
		return s.unless(o.Level == s.number(level) && o.Attempt-1 == s.number(retry), "%+v", o)
	}
}

// theirs is the script of a call that is somebody's own.
func theirs(s scene) string {
	return s.unless(slices.Contains(s.sc.Lock.Scripts.Calls(), s.outcome().Call), "the script of %s is not", s.outcome().Call)
}

// stopped reports whether the thread's watchdog has stopped since it has the lock.
func (s scene) stopped() bool {
	for j := s.i - 1; j >= 0; j-- {
		if o, ok := s.events[j].Body.(trace.Outcome); ok && s.events[j].Thread == s.who {
			switch {
			case o.Result == trace.Acquired:
				return false
			case o.Result == trace.Aged, o.Call == "renew" && o.Result == trace.Lost:
				return true
			}
		}
	}
	return false
}

func (s scene) byHand() bool { return false }

var (
	renews     = func(s scene) string { return s.unless(!s.stopped(), "its watchdog has stopped") }
	hasStopped = func(s scene) string { return s.unless(s.stopped(), "its watchdog goes on") }
	unwatched  = func(s scene) string { return s.unless(watches(s) != "", "there is a watchdog") }
	nobodyOut  = func(s scene) string {
		s.i++
		return othersServed(s)
	}
	othersServed = func(s scene) string {
		out := map[string]bool{}
		for _, e := range s.events[:s.i] {
			f, ok := e.Body.(trace.Fault)
			if !ok || f.At != "" && f.ForMS == 0 {
				continue
			}
			switch f.Do {
			case "down":
				out[f.Thread] = true
			case "answer-error":
				if f.Error != "NOSCRIPT" {
					out[f.Thread] = true
				} else {
					delete(out, f.Thread)
				}
			case "restart":
				if f.ForMS > 0 {
					out[""] = true
				}
			case "up":
				delete(out, f.Thread)
			}
		}
		if s.struck().Do != "up" {
			delete(out, s.struck().Thread)
		}
		return s.unless(len(out) == 0, "nor does it answer %v", out)
	}
)

// besides are sentences that may follow another, and what must be so then.
var besides = map[string]holds{
	"It asks the old master.": func(s scene) string { return s.unless(s.aside[s.i], "there is one master") },
	"Old masters: %s.":        func(s scene) string { return s.unless(s.aside[s.i], "there is one master") },
	"This is the new master.": func(s scene) string { return s.unless(s.twoMasters(), "there is one master") },
	"By its own clock.":       func(s scene) string { return s.unless(s.thread().Drift != 0, "it does not drift") },
	"Call %d follows call %s: not late.": func(s scene) string {
		return s.unless(s.number(1) == int(s.command().Number), "it is call %d", s.command().Number)
	},
	"There is no key.":                                       noKey,
	"The key is its own and has no expiry.":                  all(own, noExpiry),
	"The key is its own for another %s.":                     all(own, left(1)),
	"The key is %s's and has no expiry.":                     all(of(1), noExpiry),
	"The key is %s's for another %s.":                        all(of(1), left(2)),
	"The key names no thread and has no expiry.":             all(nobodys, noExpiry),
	"The key names no thread and has %s left.":               all(nobodys, left(1)),
	"Its field in the key is %s, and the key has no expiry.": all(counts(0, 1), noExpiry),
	"Its field in the key is %s, and the key has %s left.":   all(counts(0, 1), left(2)),
	"The key has no expiry.":                                 noExpiry,
	"The key has %s left.":                                   left(1),
	"%d members for %d permits.": all(taken(1), permits(2), func(s scene) string {
		return s.unless(s.members() > s.sc.Lock.Kind.Permits, "there are no more than permits")
	}),
	"Both permits are taken.": func(s scene) string {
		return s.unless(s.members() == 2 && s.sc.Lock.Kind.Permits == 2, "%d are", s.members())
	},
	"All %d permits are taken.":   all(taken(1), permits(1)),
	"1 of %d permits is taken.":   all(permits(1), func(s scene) string { return s.unless(s.members() == 1, "%d are", s.members()) }),
	"%d of %d permits are taken.": all(taken(1), permits(2)),
	"%s read.":                    all(everybody(1), mode(trace.ModeRead), func(s scene) string { return s.unless(s.l != words.English || len(s.holders(s.key)) > 1, "one does") }),
	"%s reads.":                   all(everybody(1), mode(trace.ModeRead)),
	"%s writes.":                  all(everybody(1), mode(trace.ModeWrite)),
	"%s are in the key.":          all(everybody(1), func(s scene) string { return s.unless(s.l != words.English || len(s.holders(s.key)) > 1, "one is") }),
	"%s is in the key.":           everybody(1),
}

// counted is a lock that has permits.
func counted(s scene) string { return s.unless(s.sc.Lock.Kind.Permits > 0, "it is %v", s.sc.Lock.Kind) }

// dropped are those whose key has expired, more than one.
func dropped(n int) holds {
	return func(s scene) string {
		b, ok := s.e.Body.(trace.Expired)
		return s.unless(ok && s.value(n) == s.all(b.Was) && (s.l != words.English || len(s.holders(b.Was)) > 1), "it was %v's", s.holders(b.Was))
	}
}

// cameIn is the mode that the key had when a thread that is inside came in.
func (s scene) cameIn(who string) string {
	at := s.i
	for at > 0 && s.events[at-1].Belief[who] > 0 {
		at--
	}
	return s.events[at].Key.Fields[trace.Mode]
}

// everybody are all holders of the key.
func everybody(n int) holds {
	return func(s scene) string { return s.unless(s.value(n) == s.all(s.key), "they are %v", s.holders(s.key)) }
}

func taken(n int) holds { return quantity(n, scene.members) }

func permits(n int) holds {
	return quantity(n, func(s scene) int { return s.sc.Lock.Kind.Permits })
}

func mode(is string) holds {
	return func(s scene) string {
		return s.unless(s.key.Fields[trace.Mode] == is, "the mode is %q", s.key.Fields[trace.Mode])
	}
}

func nobodys(s scene) string {
	for _, h := range s.holders(s.key) {
		for _, t := range s.sc.Threads {
			if t.Name == h {
				return "it is " + h + "'s"
			}
		}
	}
	return s.unless(s.key.Exists(), "there is no key")
}

func (s scene) twoMasters() bool {
	n := 0
	for _, e := range s.events[:s.i] {
		if f, ok := e.Body.(trace.Fault); ok {
			switch f.Do {
			case "two-masters":
				n++
			case "one-master":
				n--
			}
		}
	}
	return n > 0
}

// foreign is the command right before a violation, which has deleted another's key.
func (s scene) foreign(who, whose string) string {
	for j := s.i - 1; j >= 0; j-- {
		if _, ok := s.events[j].Body.(trace.Command); ok {
			then := s.scene(s.l, j, nil)
			return s.unless(then.who == who && then.has(then.before(), whose) && !then.has(then.before(), who), "%s deleted %v's", then.who, then.holders(then.before()))
		}
	}
	return "no command"
}
