package film

import (
	"strconv"
	"strings"

	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

func (t *Narrator) command(e trace.Event, b trace.Command) string {
	c := t.about(b)
	if t.framed {
		return t.theirCommand(c)
	}
	if b.Late {
		return t.lateCommand(e, c)
	}
	if b.Error != "" {
		return t.failedCommand(c)
	}
	if t.own(b.Call) && b.Script != "" {
		return t.ownCommand(c)
	}
	if protocol.IsOver(c.Arg(1)) {
		return t.past(c)
	}
	if text, ok := t.counter(c); ok {
		return text
	}
	switch c.verb {
	case "HMGET", "HSET":
		return t.numbered(c)
	case "EXISTS":
		return t.exists(c)
	case "HEXISTS":
		return t.hexists(c)
	case "HGET":
		return t.hget(c)
	case "HINCRBY":
		return t.hincrby(c)
	case "PEXPIRE":
		return t.pexpire(c)
	case "PEXPIREAT":
		return t.pexpireat(c)
	case "PTTL":
		return t.pttl(c)
	case "DEL":
		return t.del(c)
	case "DELEX":
		return t.delex(c)
	case "GET":
		return t.get(c)
	case "SET":
		return t.set(c)
	case "SETNX":
		return t.setnx(c)
	case protocol.WAIT:
		return t.acknowledged(c)
	default:
		return t.queue(c)
	}
}

func (t *Narrator) failedCommand(c command) string {
	code, _, _ := strings.Cut(c.Error, " ")
	if code == "WRONGTYPE" && c.after.Type == trace.TypeString {
		return t.say("%s gets %s from %s: the key is a string, and a hash is wanted.", c.who, code, c.verb)
	}
	if protocol.UnknownCommand(c.Error) {
		return t.say("%s sends %s, which this Redis does not know: nothing happens. It takes a newer one.", c.who, c.verb)
	}
	return t.say("%s gets an error from %s: %s.", c.who, c.verb, code)
}

// acknowledged tells how many replicas have acknowledged what the thread wrote.
func (t *Narrator) acknowledged(c command) string {
	had, _ := c.Reply.(int64)
	least, _ := strconv.ParseInt(c.Arg(1), 10, 64)
	ms, _ := strconv.ParseInt(c.Arg(2), 10, 64)
	if had < least {
		return t.say("%s has waited %s for replicas: acknowledged by %d, and %d are needed.", c.who, t.ms(ms), had, least)
	}
	return t.say("%s waits for replicas: what it wrote is acknowledged by %d.", c.who, had)
}

func (t *Narrator) exists(c command) string {
	switch {
	case c.Call == trace.CallLook && c.n == 1:
		return t.say("%s finds the device's key: EXISTS answers 1, and it lasts another %s.", c.who, t.ms(max(c.after.PTTL, 0)))
	case c.Call == trace.CallLook:
		return t.say("%s finds no key of the device: EXISTS answers 0.", c.who)
	case c.Call == lock.CallLeave && c.n == 1:
		return t.say("%s leaves the line, and nobody needs waking: EXISTS answers 1, the lock is not free.", c.who)
	case c.Call == lock.CallLeave:
		return t.say("%s finds the lock free as it leaves the line: EXISTS answers 0, so it passes its turn on.", c.who)
	case len(c.Args) > 2 || c.asked.looked:
		return t.looks(c)
	case c.n == 1:
		return t.say("%s finds a key: EXISTS answers 1, so it must ask next whether the key is its own.", c.who)
	case c.Level > 1:
		return t.say("%s wants level %d and finds no key: EXISTS answers 0, so its outer level is gone.", c.who, c.Level)
	default:
		return t.say("%s finds the lock free: EXISTS answers 0, there is no key.", c.who)
	}
}

func (t *Narrator) hexists(c command) string {
	other := t.other(c.after, c.who)
	switch c.Call {
	case lock.CallUnlock:
		switch {
		case c.n == 1:
			return t.say("%s still has its field: HEXISTS answers 1, so it may leave level %d.", c.who, c.Level)
		case other != "":
			return t.say("%s has no field to count down: HEXISTS answers 0, the key is %s's now.", c.who, other)
		default:
			return t.say("%s has no field to count down: HEXISTS answers 0, there is no key.", c.who)
		}
	case lock.CallRenew:
		switch {
		case c.n == 1:
			return t.say("%s's watchdog finds its field: HEXISTS answers 1, so the lease is its own to renew.", c.who)
		case other != "":
			return t.say("%s's watchdog finds no field of its own: HEXISTS answers 0, the key is %s's now.", c.who, other)
		default:
			return t.say("%s's watchdog finds no field of its own: HEXISTS answers 0, there is no key.", c.who)
		}
	}
	switch {
	case c.n == 1 && c.Level > 1:
		return t.say("%s finds its own field: HEXISTS answers 1, so this is a re-entry and no conflict.", c.who)
	case c.n == 1:
		return t.say("%s finds its own field before it was told of it: HEXISTS answers 1, so the lock is its own.", c.who)
	case other != "" && c.Level > 1:
		return t.say("%s finds no field of its own for level %d: HEXISTS answers 0, the key is %s's now.", c.who, c.Level, other)
	case other != "":
		return t.say("%s finds no field of its own: HEXISTS answers 0, the key is %s's with count %d.", c.who, other, t.count(c.after, other))
	default:
		return t.say("%s finds no field of its own: HEXISTS answers 0.", c.who)
	}
}

func (t *Narrator) hget(c command) string {
	count, _ := strconv.Atoi(c.text)
	switch {
	case c.Call == lock.CallRenew:
		return t.say("%s's watchdog asks for the owner's last call: HGET answers %s, and only a later call than this renewal may have asked for more.", c.who, c.text)
	case c.Call == lock.CallUnlock || count < c.Level-1:
		return t.counted(c, count)
	case count == c.Level:
		return t.say("%s reads its count: HGET answers %d already, so asking twice counts once.", c.who, count)
	default:
		return t.say("%s reads its count: HGET answers %d, and entering level %d makes it %d.", c.who, count, c.Level, c.Level)
	}
}

// counted says what an unlock concludes from its own hold count, or a lock from
// a count that is too small.
func (t *Narrator) counted(c command, count int) string {
	switch outer := c.Level - 1; {
	case c.Call != lock.CallUnlock:
		return t.say("%s reads its count: %s answers %d, and level %d needs at least %d.", c.who, c.verb, count, c.Level, outer)
	case count < outer:
		return t.say("%s reads its count: %s answers %d, so level %d is not held.", c.who, c.verb, count, c.Level)
	case count == outer:
		return t.say("%s reads its count: %s answers %d already, so leaving twice counts once.", c.who, c.verb, count)
	case outer == 0 && c.verb == "HMGET":
		return t.say("%s reads its count: HMGET answers %d, and level 1 is its last, so the key can go.", c.who, count)
	default:
		return t.say("%s reads its count: %s answers %d, and leaving level %d makes it %d.", c.who, c.verb, count, c.Level, outer)
	}
}

func (t *Narrator) hincrby(c command) string {
	by, outer := c.number(3), int64(c.Level-1)
	if to := t.owner(c.Arg(2)); to != c.who {
		return t.say("%s hands the lock to %s: HINCRBY makes the field of the new owner %d.", c.who, to, c.n)
	}
	if c.Call == lock.CallUnlock {
		switch {
		case c.n != outer:
			return t.say("%s leaves level %d, but HINCRBY makes its count %d where %d is due: the two no longer agree.", c.who, c.Level, c.n, outer)
		case by < -1:
			return t.say("%s leaves level %d: HINCRBY by %d makes its count %d, because an inner level was not left yet.", c.who, c.Level, by, c.n)
		case c.n == 0:
			return t.say("%s leaves level %d: HINCRBY makes its count 0, and at 0 the key is deleted.", c.who, c.Level)
		default:
			return t.say("%s leaves level %d: HINCRBY makes its count %d, and only at 0 the key is deleted.", c.who, c.Level, c.n)
		}
	}
	switch level := int64(c.Level); {
	case by < 0:
		return t.say("%s corrects its count: HINCRBY by %d makes it %d, because an inner unlock never arrived.", c.who, by, c.n)
	case c.n > level:
		return t.say("%s asked for level %d, but its field was %d already: HINCRBY makes it %d.", c.who, level, c.n-by, c.n)
	case c.n < level:
		return t.say("%s asked for level %d, but its field was gone: HINCRBY begins again, at %d.", c.who, level, c.n)
	case level > 1:
		return t.say("%s enters level %d: its field is %d already, so HINCRBY makes it %d and nobody is asked.", c.who, level, c.n-by, c.n)
	case c.after.PTTL == trace.NoExpiry:
		return t.say("%s takes the lock: HINCRBY makes its field %d, and for now the key has no expiry.", c.who, c.n)
	default:
		return t.say("%s takes the lock: HINCRBY makes its field %d.", c.who, c.n)
	}
}

func (t *Narrator) pexpire(c command) string {
	given, left := t.ms(c.number(2)), t.ms(c.before.PTTL)
	switch {
	case !c.ofLock(t.Now):
		return t.say("%s gives the line of waiters %s to live, so that it cannot outlast them for long.", c.who, given)
	case c.Call == lock.CallRenew:
		return t.renewal(c)
	case c.n == 0:
		return t.say("%s sets no expiry: PEXPIRE answers 0, there is no key.", c.who)
	case facts.Keeps(c.Command):
		return t.say("%s keeps the key on purpose: PEXPIRE gives it %s from now.", c.who, given)
	case c.asked.handed != "":
		return t.say("%s reserves the lock for %s: PEXPIRE gives it %s, and by then the new owner must renew.", c.who, c.asked.handed, given)
	case c.number(2) == t.sc.Lock.Lease.Nanoseconds(): // the article's mistake
		return t.say("%s sends %d for a lease of %s: PEXPIRE counts milliseconds, which makes %d minutes.", c.who, c.number(2), t.l.Duration(t.sc.Lock.Lease), c.number(2)/60_000)
	case c.before.PTTL >= 0 && c.Script != "":
		return t.say("%s starts its lease again: PEXPIRE raises what is left from %s to %s.", c.who, left, given)
	case c.before.PTTL == trace.NoExpiry:
		return t.say("%s begins its lease: PEXPIRE gives the key %s, which had no expiry until now.", c.who, given)
	default:
		return t.say("%s begins its lease: PEXPIRE gives the key %s.", c.who, given)
	}
}

// pexpireat says what a renewal does that names an instant.
func (t *Narrator) pexpireat(c command) string {
	if !c.after.Exists() {
		return t.say("%s's watchdog names an instant that has passed by Redis' clock: PEXPIREAT drops the key at once.", c.who)
	}
	return t.say("%s's watchdog names the instant at which its lease ends: by Redis' clock in %s.", c.who, t.ms(max(c.after.PTTL, 0)))
}

// renewal says what the PEXPIRE of a watchdog does.
func (t *Narrator) renewal(c command) string {
	given, left := t.ms(c.number(2)), t.ms(c.before.PTTL)
	switch other := t.other(c.after, c.who); {
	case c.n == 0:
		return t.say("%s's watchdog renews nothing: PEXPIRE answers 0, there is no key.", c.who)
	case other != "" && !t.holds(c.after, c.who):
		return t.say("%s's watchdog sets the lease of %s to %s: a plain PEXPIRE asks nobody.", c.who, other, given)
	case c.shortens() && c.numbers():
		return t.say("%s's watchdog cuts the lease from %s to %s: Redis' clock was set back, and no later call asked for more.", c.who, left, given)
	case c.shortens():
		return t.say("%s's watchdog cuts the lease from %s to %s: a plain PEXPIRE does not check what is left.", c.who, left, given)
	case c.Script == "":
		return t.say("%s's watchdog sets the lease to %s, with a plain PEXPIRE that asks nobody whose it is.", c.who, given)
	case c.before.PTTL == trace.NoExpiry:
		return t.say("%s's watchdog gives the key an expiry again: PEXPIRE sets it to %s.", c.who, given)
	default:
		return t.say("%s's watchdog renews: PEXPIRE raises what is left of the lease from %s to %s.", c.who, left, given)
	}
}

func (t *Narrator) pttl(c command) string {
	left, lease := t.ms(c.n), t.l.Duration(t.sc.Lock.Lease)
	short := c.n < t.sc.Lock.Lease.Milliseconds()
	switch other := t.other(c.after, c.who); {
	case !c.ofLock(t.Now) && c.n == trace.NoExpiry:
		return t.say("%s asks how long the line of waiters will last: PTTL answers -1, because it has no expiry yet.", c.who)
	case !c.ofLock(t.Now):
		return t.say("%s asks how long the line of waiters will last: PTTL answers %s.", c.who, left)
	case c.Call == lock.CallLeave:
		return t.unconfirmed(c)
	case c.Call == lock.CallRenew && c.n == trace.NoExpiry:
		return t.say("%s's watchdog reads PTTL: it is -1, so the key has no expiry and must get one.", c.who)
	case c.Call == lock.CallRenew && c.numbers() && c.n > t.sc.Lock.Lease.Milliseconds():
		return t.say("%s's watchdog reads PTTL: %s are left, more than the lease of %s, so it asks for the owner's last call.", c.who, left, lease)
	case c.Call == lock.CallRenew && short:
		return t.say("%s's watchdog reads PTTL: %s of %s are left, so it renews.", c.who, left, lease)
	case c.Call == lock.CallRenew:
		return t.say("%s's watchdog reads PTTL: %s are left, no less than %s, so there is nothing to do.", c.who, left, lease)
	case t.holds(c.after, c.who) && short:
		return t.say("%s reads PTTL: %s are left where %s are due, so its lease starts again.", c.who, left, lease)
	case t.holds(c.after, c.who):
		return t.say("%s reads PTTL: %s are left, no less than %s, so its lease stays as it is.", c.who, left, lease)
	case other != "" && c.n >= 0:
		return t.say("%s asks how long to wait: by PTTL the lock is %s's for another %s.", c.who, other, left)
	case other != "":
		return t.say("%s asks how long to wait: by PTTL the lock of %s has no expiry.", c.who, other)
	default:
		return t.say("%s asks for the expiry: PTTL answers %d.", c.who, c.n)
	}
}

func (t *Narrator) del(c command) string {
	own, other := t.held(c.before, c.who), t.otherHeld(c.before, c.who)
	switch {
	case c.n == 0:
		return t.say("%s deletes nothing: DEL answers 0, there is no key any more.", c.who)
	case c.Node > 0:
		return t.say("%s gives node %d back: DEL removes its key there.", c.who, c.Node)
	case c.Script == "" && c.asked.last == "GET" && own:
		return t.say("%s deletes the key: it was its own when GET looked, and this time it still is.", c.who)
	case c.Script == "" && c.asked.last == "GET" && other != "":
		return t.say("%s deletes the key of %s: when GET looked it was its own, and DEL does not look again.", c.who, other)
	case c.Script == "" && own:
		return t.say("%s deletes the key: a plain DEL asks nobody whose it is; this time it is its own.", c.who)
	case c.Script == "" && other != "":
		return t.say("%s deletes the key of %s: a plain DEL asks nobody whose it is.", c.who, other)
	case c.Call == lock.CallLeave:
		return t.say("%s gives back the lock that it was handed: DEL removes the key.", c.who)
	case c.Level > 1 && t.counts():
		return t.say("%s deletes the key at level %d: its count is 0, though level %d goes on.", c.who, c.Level, c.Level-1)
	case c.Level > 1:
		return t.say("%s deletes the key as it leaves level %d: nothing was counted, and level %d goes on.", c.who, c.Level, c.Level-1)
	case t.counts() && c.asked.counted:
		return t.say("%s deletes the key: its count is 0, so the lock is free.", c.who)
	case t.counts():
		return t.say("%s deletes the key as it leaves its last level: the lock is free.", c.who)
	default:
		return t.say("%s deletes the key: the value was its own, so the lock is free.", c.who)
	}
}

// delex says what a release in one command does.
func (t *Narrator) delex(c command) string {
	switch other := t.other(c.after, c.who); {
	case c.n > 0:
		return t.say("%s deletes the key: DELEX IFEQ finds its own value, compared and deleted in one command.", c.who)
	case other != "":
		return t.say("%s deletes nothing: DELEX IFEQ finds the value of %s, whose lock it is now.", c.who, other)
	default:
		return t.say("%s deletes nothing: DELEX answers 0, there is no key any more.", c.who)
	}
}

func (t *Narrator) get(c command) string {
	owner := ""
	if c.text != "" {
		owner = t.owner(c.text)
	}
	own := owner == c.who
	switch {
	case !c.ofLock(t.Now):
		return t.say("%s keeps its fencing token: GET reads %s, because nobody else was granted the lock since.", c.who, c.text)
	case c.Call == lock.CallRenew:
		switch {
		case own && c.after.PTTL >= 0:
			return t.say("%s's watchdog finds its own value, with %s left: it may renew.", c.who, t.ms(c.after.PTTL))
		case own:
			return t.say("%s's watchdog finds its own value: it may renew.", c.who)
		case owner != "":
			return t.say("%s's watchdog must not renew: GET reads the value of %s.", c.who, owner)
		default:
			return t.say("%s's watchdog finds nothing to renew: GET answers nil, there is no key.", c.who)
		}
	case c.Call == lock.CallLock && t.protocol.Nodes == 0:
		switch {
		case own && c.Level == 1:
			return t.say("%s finds its own value before it was told of it: by GET the lock is its own.", c.who)
		case own:
			return t.say("%s finds its own value: by GET the lock is its own, and it may enter again.", c.who)
		case owner != "":
			return t.say("%s must stay out: GET reads the value of %s.", c.who, owner)
		default:
			return t.say("%s finds no value: GET answers nil.", c.who)
		}
	case c.Node > 0:
		switch {
		case own:
			return t.say("%s may delete on node %d: GET reads its own value there.", c.who, c.Node)
		case owner != "":
			return t.say("%s must not delete on node %d: GET reads the value of %s there.", c.who, c.Node, owner)
		default:
			return t.say("%s finds nothing to delete on node %d: GET answers nil.", c.who, c.Node)
		}
	case c.Script == protocol.MutexKeep.Name && own:
		return t.say("%s may keep the key: GET reads its own value.", c.who)
	case c.Script == protocol.MutexKeep.Name && owner != "":
		return t.say("%s must not keep the key: GET reads the value of %s, whose lock it is now.", c.who, owner)
	case c.Script == protocol.MutexKeep.Name:
		return t.say("%s finds nothing to keep: GET answers nil, there is no key.", c.who)
	case own && c.Script == "":
		return t.say("%s may delete the key: GET reads its own value. Until DEL comes, that can change.", c.who)
	case own:
		return t.say("%s may delete the key: GET reads its own value.", c.who)
	case owner != "":
		return t.say("%s must not delete the key: GET reads the value of %s, whose lock it is now.", c.who, owner)
	default:
		return t.say("%s finds nothing to delete: GET answers nil, there is no key.", c.who)
	}
}

func (t *Narrator) set(c command) string {
	px, _ := c.px()
	given, left := t.l.Duration(px), t.ms(c.after.PTTL)
	own, other := t.holds(c.after, c.who), t.other(c.after, c.who)
	conditional := c.Arg(3) == "NX"
	switch {
	case c.Call == trace.CallBeat:
		return t.say("%s reports that it is there: SET makes its key last %s from now.", c.who, given)
	case !conditional && c.Level > 1:
		return t.say("%s wants level %d, but there was no key: SET takes the lock again, for %s.", c.who, c.Level, given)
	case !conditional:
		return t.say("%s takes the lock: SET writes its value and gives it %s.", c.who, given)
	case c.Call == lock.CallRenew && c.text == "OK":
		return t.say("%s's watchdog finds no key, and takes the lock again: SET NX makes one, for %s.", c.who, given)
	case c.Call == lock.CallRenew:
		return t.say("%s's watchdog takes nothing: SET NX finds the key of %s.", c.who, other)
	case c.Arg(4) == "PXAT" && c.text == "OK" && !c.after.Exists():
		return t.say("%s names an instant that has passed by Redis' clock: SET is granted, and the key is gone at once.", c.who)
	case c.Arg(4) == "PXAT" && c.text == "OK":
		return t.say("%s takes the lock: SET NX finds no key and makes one, until an instant that is %s away by Redis' clock.", c.who, given)
	case c.Node > 0 && c.text == "OK":
		return t.say("%s gets node %d: SET NX finds no key there and makes one, for %s.", c.who, c.Node, given)
	case c.Node > 0 && own:
		return t.say("%s does not get node %d: SET NX finds its own key there.", c.who, c.Node)
	case c.Node > 0:
		return t.say("%s does not get node %d: SET NX finds the key of %s there.", c.who, c.Node, other)
	case c.text == "OK":
		return t.say("%s takes the lock: SET NX finds no key and makes one, for %s.", c.who, given)
	case own:
		return t.say("%s gets nothing: SET NX finds a key, which is its own.", c.who)
	case c.after.PTTL < 0:
		return t.say("%s gets nothing: SET NX finds the key of %s, which has no expiry.", c.who, other)
	default:
		return t.say("%s gets nothing: SET NX finds the key of %s, which has %s left.", c.who, other, left)
	}
}

func (t *Narrator) setnx(c command) string {
	own, other := t.holds(c.after, c.who), t.other(c.after, c.who)
	switch {
	case c.n == 1:
		return t.say("%s takes the lock: SETNX answers 1. Until PEXPIRE comes, the key has no expiry.", c.who)
	case own:
		return t.say("%s gets nothing: SETNX answers 0, the key is its own.", c.who)
	case c.after.PTTL < 0:
		return t.say("%s gets nothing: SETNX answers 0, the key is %s's and has no expiry.", c.who, other)
	default:
		return t.say("%s gets nothing: SETNX answers 0, the key is %s's for another %s.", c.who, other, t.ms(c.after.PTTL))
	}
}

// waiter returns the thread of a member of the queue, "owner inbox".
func (t *Narrator) waiter(member string) string {
	id, _, _ := strings.Cut(member, " ")
	return t.owner(id)
}

// queue says what a command does to the line of waiting threads.
func (t *Narrator) queue(c command) string {
	switch c.verb {
	case "TIME":
		if c.Call == lock.CallUnlock && (c.asked.looked || !t.protocol.Granting) {
			return t.say("%s takes the time from Redis: a note of calls that are over ends by its clock.", c.who)
		}
		return t.say("%s takes the time from Redis: one clock for all waiters.", c.who)
	case "LPOP":
		return t.lpop(c)
	case "ZSCORE":
		return t.zscore(c)
	case "ZREM":
		switch of := t.waiter(c.Arg(2)); {
		case of != c.who:
			return t.say("%s strikes %s off the list of deadlines: ZREM removes %d.", c.who, of, c.n)
		case c.n == 0:
			return t.say("%s was not among the waiters: ZREM removes 0.", c.who)
		default:
			return t.say("%s waits no longer: ZREM takes it off the list of waiters.", c.who)
		}
	case "LREM":
		if c.n == 0 {
			return t.say("%s is not in the queue any more: LREM removes 0.", c.who)
		}
		return t.say("%s waits no longer: LREM takes it out of the queue.", c.who)
	case "PUBLISH":
		return t.publish(c)
	case "ZADD":
		return t.zadd(c)
	case "LPUSH":
		return t.say("%s puts %s back at the head of the queue with LPUSH, because it could not be told.", c.who, t.waiter(c.Arg(2)))
	case "RPUSH":
		return t.say("%s joins the queue: RPUSH puts it at the end, as number %d.", c.who, c.n)
	case "ZPOPMIN":
		list, _ := c.Reply.([]any)
		if len(list) == 0 {
			return t.say("%s wakes nobody: ZPOPMIN finds no waiter.", c.who)
		}
		first, _ := list[0].(string)
		return t.say("%s looks for the longest waiter: ZPOPMIN takes %s out of the line.", c.who, t.waiter(first))
	default:
		return t.say("%s sends %s to Redis.", c.who, c.verb)
	}
}

func (t *Narrator) lpop(c command) string {
	switch {
	case c.text == "" && c.Call == lock.CallLock:
		return t.say("%s finds nobody in line before it: LPOP answers nil, so it may take the lock.", c.who)
	case c.text == "":
		return t.say("%s finds nobody in line: LPOP answers nil, so the lock is left free.", c.who)
	case t.waiter(c.text) == c.who:
		return t.say("%s is the first in line itself: LPOP takes it out.", c.who)
	default:
		return t.say("%s looks for the longest waiter: LPOP takes %s out of the queue.", c.who, t.waiter(c.text))
	}
}

func (t *Narrator) zscore(c command) string {
	of, left := t.waiter(c.Arg(2)), facts.Number(c.Reply)-c.asked.now
	switch {
	case of == c.who:
		return t.say("%s reads its own deadline with ZSCORE.", c.who)
	case c.Reply == nil:
		return t.say("%s passes over %s: ZSCORE finds no deadline of it.", c.who, of)
	case !c.asked.timed:
		return t.say("%s reads the deadline of %s with ZSCORE.", c.who, of)
	case left < 0:
		return t.say("%s passes over %s, whose deadline by ZSCORE was %s ago.", c.who, of, t.ms(-left))
	default:
		return t.say("%s looks at the patience of %s: ZSCORE says that it lasts another %s.", c.who, of, t.ms(left))
	}
}

// publish reads a message: "grant" or "wake", and the owner it is for.
func (t *Narrator) publish(c command) string {
	kind, rest, _ := strings.Cut(c.Arg(2), " ")
	to := t.waiter(rest)
	switch {
	case c.n == 0:
		return t.say("%s calls %s, but PUBLISH answers 0: nobody listens, so its turn is passed on.", c.who, to)
	case kind == "grant":
		return t.say("%s tells %s that the lock is handed to it: PUBLISH answers %d, somebody listens.", c.who, to, c.n)
	default:
		return t.say("%s wakes %s: PUBLISH answers %d, somebody listens.", c.who, to, c.n)
	}
}

func (t *Narrator) zadd(c command) string {
	patience := t.ms(c.number(2) - c.asked.now)
	switch of := t.waiter(c.Arg(len(c.Args) - 1)); {
	case of != c.who:
		return t.say("%s gives %s its deadline back: ZADD.", c.who, of)
	case c.Arg(2) == "NX" && c.n == 1:
		return t.say("%s joins the waiters: ZADD notes when it first asked.", c.who)
	case c.Arg(2) == "NX":
		return t.say("%s is already among the waiters: ZADD NX answers 0 and keeps its place.", c.who)
	case c.n == 1:
		return t.say("%s gets in line: ZADD keeps its place for %s, and longer if it asks again.", c.who, patience)
	default:
		return t.say("%s keeps its place in line: ZADD moves its deadline to %s from now.", c.who, patience)
	}
}
