package infer

import (
	"slices"
	"strings"

	"relock/engine/check"
)

// circle notes who has which key and who was refused which, to find threads that wait
// for one another: of any keys, as a deadlock needs two. A thread that was refused once may
// give back what it has: it only waits once it has asked again, or asks in vain while
// nobody can move. The zero value knows of none. It is not safe for concurrent use.
type circle struct {
	has  map[string]string  // by key: the thread that has made it
	asks map[string]refusal // by thread: what it was refused since it last took or gave back a key
	told []string           // the threads of the circle that was found, until one of the keys is another's
}

// refusal is a key that a thread was refused, and how often in a row.
type refusal struct {
	key   string
	times int
}

// see takes the next record, and returns the threads that wait in a circle since then,
// from its own on, once; nil where there are none. For threads that ask in vain, see
// stand.
func (c *circle) see(r Record) []check.Waits {
	for _, key := range r.Gone {
		c.free(key)
	}
	switch {
	case r.Thread == "" || r.Mark != "":
		return nil
	case r.Ended != "" || r.Late || r.Do != "": // the answer that it got is not what Redis did
		delete(c.asks, r.Thread)
		return nil
	}
	if len(r.Inner) == 0 {
		c.command(r.Thread, r.Args, r.Reply)
	}
	for _, e := range r.Inner {
		c.command(r.Thread, e.Args, e.Reply)
	}
	return c.round(r.Thread, nil)
}

// stand returns the threads that wait in a circle, once, given those that ask in vain
// while nobody can move.
func (c *circle) stand(asking []string) []check.Waits {
	for _, thread := range asking {
		if found := c.round(thread, asking); found != nil {
			return found
		}
	}
	return nil
}

// command takes one command of a thread.
func (c *circle) command(thread string, args []string, reply any) {
	if len(args) < 2 {
		return
	}
	key, verb := args[1], strings.ToUpper(args[0])
	switch {
	case MakesLock(args):
		if reply == nil || reply == int64(0) {
			was := c.asks[thread]
			if was.key != key {
				was = refusal{key: key}
			}
			was.times++
			if c.asks == nil {
				c.asks = map[string]refusal{}
			}
			c.asks[thread] = was
			return
		}
		if c.has == nil {
			c.has = map[string]string{}
		}
		c.has[key] = thread
		delete(c.asks, thread)
	case verb == "DEL" || verb == "UNLINK":
		for _, key := range args[1:] {
			if c.has[key] == thread {
				delete(c.asks, thread)
			}
			c.free(key)
		}
	}
}

// free notes that nobody has a key any more.
func (c *circle) free(key string) {
	delete(c.has, key)
	c.told = nil
}

// round is the circle that a thread closes, once.
func (c *circle) round(thread string, asking []string) []check.Waits {
	wants := map[string]string{}
	for who, one := range c.asks {
		if one.times > 1 || slices.Contains(asking, who) {
			wants[who] = one.key
		}
	}
	list := check.Circle(thread, wants, func(key string) string { return c.has[key] })
	threads := check.Waiters(list)
	if list == nil || slices.Equal(threads, c.told) {
		return nil
	}
	c.told = threads
	return list
}
