package check

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// Orphan is the rule that no key is left behind: a lease after every thread has
// ended, the key is gone.
const Orphan = "orphan"

// Finish checks the key where nothing follows any more: a lease after every thread has
// ended, or at once where nobody can know how long a lease is, and nobody believes that
// it holds the lock. A key whose value is a deadline is not left behind: who comes after
// it takes the key. Nor is one that its last release has kept on purpose.
// Of several locks there is a key of each.
func (c *Checker) Finish(keys ...trace.KeyState) []Finding {
	if c.locks == nil {
		return c.finish(keys[0])
	}
	var found []Finding
	for i, one := range c.locks[:min(len(c.locks), len(keys))] {
		for _, f := range one.finish(keys[i]) {
			found = append(found, f.Of(c.keys[i]))
		}
	}
	return found
}

func (c *Checker) finish(key trace.KeyState) []Finding {
	if all, tokens := c.facts.Put().Filled(); tokens {
		return c.lost(int(key.Length), all)
	}
	if !key.Exists() || c.end.kept && key.PTTL >= 0 || c.end.deadline != "" && key.PTTL < 0 && key.Value != nil && *key.Value == c.end.deadline {
		return nil
	}
	holders := c.facts.Holders(key)
	events := append(c.facts.Gained.Of(holders...), c.facts.Last.Of(holders...)...)
	left := time.Duration(key.PTTL) * time.Millisecond
	one := found(Orphan, holders, proof(events...), c.end.says(key.PTTL, left), whyLeft(holders, key.PTTL, left))
	if key.PTTL >= 0 {
		one.Detail = fmt.Sprintf(string(one.Says.Text), fmt.Sprint(key.PTTL, " ms"))
	}
	return []Finding{one}
}

// lost checks a list of tokens where nothing follows any more: all that it was filled with
// are in it again.
func (c *Checker) lost(left, all int) []Finding {
	if left >= all {
		return nil
	}
	holders := c.facts.Put().Threads()
	return []Finding{found(Orphan, holders, proof(c.facts.Last.Of(holders...)...),
		phrase.Say("nobody believes that it holds a permit, and the list has %[1]d of its %[2]d tokens", left, all),
		phrase.Say("A token is lost: no thread believes that it has one, and the list has %[1]d of %[2]d.", left, all))}
}

func whyLeft(holders []string, pttl int64, left time.Duration) phrase.Wording {
	switch {
	case len(holders) > 0 && pttl < 0:
		return phrase.Say("%s's key is left behind: no thread believes that it holds the lock, and the key has no expiry.", holders[0])
	case len(holders) > 0:
		return phrase.Say("%s's key is left behind: no thread believes that it holds the lock, and the key stays for another %s.", holders[0], left)
	case pttl < 0:
		return phrase.Say("A key is left behind: no thread believes that it holds the lock, and the key has no expiry.")
	default:
		return phrase.Say("A key is left behind: no thread believes that it holds the lock, and the key stays for another %s.", left)
	}
}

// end is what matters where nothing follows any more.
type end struct {
	open     []string         // threads that have done something, and not ended
	over     []string         // threads that have ended
	asked    map[string]int64 // Redis' time in microseconds, by the thread whose script has asked for it
	deadline string           // the key's value, if that is one
	kept     bool             // its last release has left the key, and nobody was granted the lock since
}

// says tells of a key that is left.
func (d *end) says(pttl int64, left time.Duration) phrase.Wording {
	switch {
	case len(d.open) > 0 && pttl < 0:
		return phrase.Say("nobody believes that it holds the lock, and the key has no expiry")
	case len(d.open) > 0:
		return phrase.Say("nobody believes that it holds the lock, and the key stands for another %s", left)
	case pttl < 0:
		return phrase.Say("every thread has ended, nobody believes that it holds the lock, and the key has no expiry")
	default:
		return phrase.Say("every thread has ended, nobody believes that it holds the lock, and the key stands for another %s", left)
	}
}

// append writes all on which a later finding depends: what a thread has asked for is in its
// own history.
func (d *end) append(b []byte) []byte {
	return append(strconv.AppendBool(append(append(b, d.deadline...), ';'), d.kept), ';')
}

// clone returns one in the same state that goes its own way.
func (d *end) clone() end {
	c := *d
	c.asked = maps.Clone(d.asked)
	return c
}

// see takes the next event.
func (d *end) see(e trace.Event) {
	d.kept = d.kept && e.Key.Exists()
	if e.Thread == "" {
		return
	}
	_, ends := e.Body.(trace.End)
	switch {
	case ends:
		d.open = slices.DeleteFunc(slices.Clone(d.open), func(name string) bool { return name == e.Thread })
		d.over = append(slices.Clip(d.over), e.Thread)
	case !slices.Contains(d.open, e.Thread) && !slices.Contains(d.over, e.Thread):
		d.open = append(slices.Clip(d.open), e.Thread) // clones share what is there
	}
	switch b := e.Body.(type) {
	case trace.Outcome:
		delete(d.asked, e.Thread)
		d.kept = d.kept && b.Result != trace.Acquired
	case trace.Command:
		d.kept = d.kept || facts.Keeps(b)
		if strings.EqualFold(b.Arg(0), "TIME") {
			if list, _ := b.Reply.([]any); len(list) == 2 {
				if d.asked == nil {
					d.asked = map[string]int64{}
				}
				d.asked[e.Thread] = facts.Number(list[0])*1_000_000 + facts.Number(list[1])
			}
			break
		}
		if now, ok := d.asked[e.Thread]; ok && e.Key.Value != nil && isDeadline(*e.Key.Value, now) && b.Arg(2) == *e.Key.Value {
			d.deadline = *e.Key.Value
		}
	}
}

// isDeadline reports whether a value is a time that comes within a day of now, in
// microseconds: in seconds, milliseconds or microseconds.
func isDeadline(value string, now int64) bool {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return false
	}
	const day = 24 * 60 * 60 * 1e6
	for _, unit := range []float64{1, 1e3, 1e6} {
		if ahead := v*unit - float64(now); ahead > 0 && ahead <= day {
			return true
		}
	}
	return false
}
