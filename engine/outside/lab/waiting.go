package lab

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/outside/infer"
	"relock/engine/outside/resp"
)

// begin notes when a command that waits for others was sent.
func (g *Gate) begin(it *item) {
	now := g.nodes.now()
	switch v := infer.Verb(it.args); v {
	case "WAIT", "WAITAOF":
		if ms, err := strconv.Atoi(it.args[len(it.args)-1]); err == nil && ms > 0 {
			it.deadline = now + time.Duration(ms)*time.Millisecond
		}
	case "XREAD", "XREADGROUP":
		at := slices.IndexFunc(it.args, func(a string) bool { return strings.EqualFold(a, "BLOCK") })
		if at+1 < len(it.args) {
			if ms, err := strconv.Atoi(it.args[at+1]); err == nil && ms > 0 {
				it.deadline = now + time.Duration(ms)*time.Millisecond
			}
			it.args = slices.Concat(it.args[:at], it.args[at+2:])
		}
		g.last(it)
	case "BLMPOP", "BZMPOP":
		it.deadline = seconds(now, it.args[min(1, len(it.args)-1)])
	default:
		it.deadline = seconds(now, it.args[len(it.args)-1])
	}
}

// wake answers a command that waits in vain at its deadline, if the gate holds nobody and
// Redis has the wall clock.
func (g *Gate) wake(it *item) {
	if _, wall := g.nodes.kind(); !g.live || !wall || it.deadline == 0 {
		return
	}
	g.wg.Add(1)
	it.alarm = time.AfterFunc(it.deadline-g.nodes.now(), func() {
		defer g.wg.Done()
		g.mu.Lock()
		defer g.mu.Unlock()
		if len(it.c.queue) == 0 || it.c.queue[0] != it {
			return
		}
		r := g.expire(it)
		if g.onRecord != nil {
			g.onRecord(r)
		}
		g.tell()
	})
}

// silence stops the alarm of a command that no longer waits.
func (g *Gate) silence(it *item) {
	if it.alarm != nil && it.alarm.Stop() {
		g.wg.Done()
	}
}

// misdated says what is wrong with the timeout of a command that waits for others, as
// Redis does, or "".
func misdated(args []string) string {
	if !blocks(args) || len(args) < 3 {
		return ""
	}
	const negative = "ERR timeout is negative"
	whole := func(text string) string {
		switch ms, err := strconv.ParseInt(text, 10, 64); {
		case err != nil:
			return "ERR timeout is not an integer or out of range"
		case ms < 0:
			return negative
		}
		return ""
	}
	text := args[len(args)-1]
	switch infer.Verb(args) {
	case "WAIT", "WAITAOF":
		return whole(text)
	case "XREAD", "XREADGROUP":
		at := slices.IndexFunc(args, func(a string) bool { return strings.EqualFold(a, "BLOCK") })
		if at+1 == len(args) {
			return "ERR syntax error"
		}
		return whole(args[at+1])
	case "BLMPOP", "BZMPOP":
		text = args[1]
	}
	switch s, err := strconv.ParseFloat(text, 64); {
	case err != nil || math.IsNaN(s) || s > maxWait:
		return "ERR timeout is not a float or out of range"
	case s < 0:
		return negative
	}
	return ""
}

// maxWait is how many seconds a command may wait for others: so many milliseconds are a
// whole number, and so many nanoseconds, too.
const maxWait = 1e9

func seconds(now time.Duration, text string) time.Duration {
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 {
		return now + time.Duration(s*float64(time.Second))
	}
	return 0
}

// last puts the newest entry of each stream in the place of $: what comes later is
// what it waits for.
func (g *Gate) last(it *item) {
	keys := streams(it.args)
	for i, key := range keys {
		at := len(it.args) - len(keys) + i
		if it.args[at] != "$" {
			continue
		}
		it.args[at] = "0-0"
		raw, err := g.own[it.c.node].do([]string{"XREVRANGE", key, "+", "-", "COUNT", "1"})
		if err != nil {
			continue
		}
		if v, _ := resp.Value(raw); v != nil {
			if list, ok := v.([]any); ok && len(list) > 0 {
				if entry, ok := list[0].([]any); ok && len(entry) > 0 {
					it.args[at], _ = entry[0].(string)
				}
			}
		}
	}
}

// streams returns the keys of an XREAD.
func streams(args []string) []string {
	at := slices.IndexFunc(args, func(a string) bool { return strings.EqualFold(a, "STREAMS") })
	rest := args[at+1:]
	return rest[:len(rest)/2]
}

// undelivered reports whether an XREADGROUP would be answered now: with an entry that its
// group was not given yet, with what its consumer was given earlier, or with an error.
func (g *Gate) undelivered(args []string, asks func(...string) any) bool {
	keys := streams(args)
	if len(keys) == 0 || len(args) < 3 {
		return true
	}
	for i, key := range keys {
		if args[len(args)-len(keys)+i] != ">" {
			return true
		}
		groups, _ := asks("XINFO", "GROUPS", key).([]any)
		last := ""
		for _, one := range groups {
			of, _ := one.([]any)
			facts := map[string]string{}
			for n := 0; n+1 < len(of); n += 2 {
				name, _ := of[n].(string)
				facts[name], _ = of[n+1].(string)
			}
			if facts["name"] == args[2] {
				last = facts["last-delivered-id"]
			}
		}
		if last == "" {
			return true
		}
		if list, _ := asks("XRANGE", key, "("+last, "+", "COUNT", "1").([]any); len(list) > 0 {
			return true
		}
	}
	return false
}

// ready reports whether a command that waits for others would be answered now.
func (g *Gate) ready(it *item) bool {
	if !it.blocking {
		return true
	}
	asks := func(args ...string) any {
		raw, err := g.own[it.c.node].do(args)
		if err != nil {
			return nil
		}
		v, _ := resp.Value(raw)
		return v
	}
	switch v := infer.Verb(it.args); v {
	case "WAIT", "WAITAOF":
		return len(it.args) < 2 || it.args[1] == "0" && v == "WAIT"
	case "XREAD":
		raw, err := g.own[it.c.node].do(it.args)
		v, failed := resp.Value(raw)
		return err != nil || v != nil || failed != ""
	case "XREADGROUP":
		return g.undelivered(it.args, asks)
	case "BLMPOP", "BZMPOP":
		if len(it.args) < 4 {
			return true
		}
		n, _ := strconv.Atoi(it.args[2])
		for _, key := range it.args[3:min(3+n, len(it.args))] {
			if asks("EXISTS", key) == int64(1) {
				return true
			}
		}
		return false
	case "BLMOVE", "BRPOPLPUSH":
		return len(it.args) < 2 || asks("EXISTS", it.args[1]) == int64(1)
	default:
		for _, key := range it.args[1:max(len(it.args)-1, 1)] {
			if asks("EXISTS", key) == int64(1) {
				return true
			}
		}
		return len(it.args) < 3
	}
}

// gaveUp is the answer of a command that has waited in vain.
func gaveUp(it *item) []byte {
	switch infer.Verb(it.args) {
	case "WAIT":
		return resp.Number(0)
	case "WAITAOF":
		return resp.Join(resp.Head('*', 2), resp.Number(0), resp.Number(0))
	}
	if it.c.resp3 {
		return resp.Null(true)
	}
	return []byte("*-1\r\n")
}

// expire answers a command that has waited in vain.
func (g *Gate) expire(it *item) infer.Record {
	r := infer.Record{Thread: it.c.lane.name, Args: it.args, Node: g.numbered(it.c.node), Before: g.state(it.c.node), After: g.state(it.c.node), At: g.nodes.now(), Vain: true}
	g.opens(&r, it.c.node)
	g.closes(&r, it.c.node)
	raw := gaveUp(it)
	r.Reply, r.Err = resp.Value(raw)
	if len(it.c.queue) > 0 {
		it.c.queue = it.c.queue[1:]
		g.room.Broadcast()
	}
	it.c.lane.moved = time.Now()
	it.c.lane.tells(&r)
	g.reply(it.c, raw)
	g.pump(it.c)
	return r
}
