package scenario

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"relock/engine/strict"

	"relock/engine/phrase"
)

// MaxReplicas is how many replicas a Redis has at most.
const MaxReplicas = 5

// Sync is how many replicas must have heard of something, and how soon. The zero
// Sync asks for none.
type Sync struct {
	Count  int           // 1 to Of, or to MaxReplicas
	Of     int           // how many there are, to MaxReplicas; 0 where that does not matter
	Within time.Duration // 1ms to MaxDuration, in whole milliseconds
}

// String writes it as scenarios do: "1 of 2 in 50ms".
func (s Sync) String() string {
	if s.Of > 0 {
		return fmt.Sprintf("%d of %d in %s", s.Count, s.Of, phrase.Duration(s.Within))
	}
	return fmt.Sprintf("%d in %s", s.Count, phrase.Duration(s.Within))
}

// MarshalText is String.
func (s Sync) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// The forms of a Sync, without and with the number of replicas.
const (
	syncForm   = `([1-9]) in (\S+)`
	syncOfForm = `([1-9]) of ([1-9]) in (\S+)`
)

var syncs = map[bool]*regexp.Regexp{false: regexp.MustCompile("^" + syncForm + "$"), true: regexp.MustCompile("^" + syncOfForm + "$")}

// sync reads how many replicas must have heard of something; all says of how many.
func (p *parser) sync(f strict.Map, key string, all bool, into *Sync) {
	allowed := strict.Say("replicas and a time, such as %s: at most %s, and no more than there are; whole milliseconds, to %s", example(all).String(), MaxReplicas, phrase.Duration(MaxDuration))
	v, ok := f[key]
	if !ok {
		return
	}
	text, is := p.Scalar(v, allowed)
	if !is {
		return
	}
	m := syncs[all].FindStringSubmatch(text)
	if m == nil {
		p.Wrong(v, strict.Quoted(text), allowed)
		return
	}
	var s Sync
	s.Count, _ = strconv.Atoi(m[1])
	most := MaxReplicas
	if all {
		s.Of, _ = strconv.Atoi(m[2])
		most = min(most, s.Of)
	}
	s.Within, ok = strict.ParseTime(m[len(m)-1])
	if !ok || s.Count > most || s.Of > MaxReplicas || s.Within < time.Millisecond || s.Within > MaxDuration || s.Within%time.Millisecond != 0 {
		p.Wrong(v, strict.Quoted(text), allowed)
		return
	}
	*into = s
}

func example(all bool) Sync {
	if all {
		return Sync{1, 2, 50 * time.Millisecond}
	}
	return Sync{Count: 1, Within: time.Second}
}

// replicas reads what of the lock is about replicas.
func (p *parser) replicas(f strict.Map, l *Lock) {
	p.sync(f, "wait", true, &l.Wait)
	p.sync(f, "min-replicas", false, &l.MinReplicas)
	if v, ok := f["wait"]; ok && p.judges() && !l.plain().CanSync() {
		p.Wrong(v, strict.TheKey("wait"), strict.Say("only with a lock in one Redis"))
	}
}
