package effects

import (
	"slices"
	"strings"

	"relock/engine/check"
)

// circle notes who has which key and who was refused which, to find threads that wait
// for one another: of any keys, as a deadlock needs two. The zero value knows of none.
// It is not safe for concurrent use.
type circle struct {
	has   map[string]string // by key: the thread that has made it
	wants map[string]string // by thread: the key that its last command was refused
	told  []string          // the threads of the circle that was found, until one of the keys is another's
}

// see takes the next record, and returns the threads that wait in a circle since then,
// from its own on, once; nil where there are none.
func (c *circle) see(r Record) []check.Waits {
	for _, key := range r.Gone {
		c.free(key)
	}
	if r.Thread == "" || r.Mark != "" {
		return nil
	}
	delete(c.wants, r.Thread)
	if r.Ended != "" || r.Late || r.Do != "" { // what it was told is not what Redis did
		return nil
	}
	if len(r.Inner) == 0 {
		c.command(r.Thread, r.Args, r.Reply)
	}
	for _, e := range r.Inner {
		c.command(r.Thread, e.Args, e.Reply)
	}
	return c.round(r.Thread)
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
			c.note(&c.wants, thread, key)
			return
		}
		c.note(&c.has, key, thread)
	case verb == "DEL" || verb == "UNLINK":
		for _, key := range args[1:] {
			c.free(key)
		}
	}
}

// free notes that nobody has a key any more.
func (c *circle) free(key string) {
	delete(c.has, key)
	c.told = nil
}

func (c *circle) note(in *map[string]string, name, value string) {
	if *in == nil {
		*in = map[string]string{}
	}
	(*in)[name] = value
}

// round is the circle that a thread closes, once.
func (c *circle) round(thread string) []check.Waits {
	list := check.Circle(thread, c.wants, func(key string) string { return c.has[key] })
	threads := check.Waiters(list)
	if list == nil || slices.Equal(threads, c.told) {
		return nil
	}
	c.told = threads
	return list
}
