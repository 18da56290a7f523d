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

// The forms of a Sync, without and with the number of replicas.
const (
	syncForm   = `([1-9]) in (\S+)`
	syncOfForm = `([1-9]) of ([1-9]) in (\S+)`
)

var syncs = map[bool]*regexp.Regexp{false: regexp.MustCompile("^" + syncForm + "$"), true: regexp.MustCompile("^" + syncOfForm + "$")}

// parseSync reads how many replicas must have heard of something; all says of how many.
func parseSync(text string, all bool) (s Sync, ok bool) {
	m := syncs[all].FindStringSubmatch(text)
	if m == nil {
		return s, false
	}
	most := MaxReplicas
	if s.Count, _ = strconv.Atoi(m[1]); all { // a digit
		s.Of, _ = strconv.Atoi(m[2])
		most = min(most, s.Of)
	}
	s.Within, ok = strict.ParseTime(m[len(m)-1])
	return s, ok && s.Count <= most && s.Of <= MaxReplicas && s.Within >= time.Millisecond && s.Within <= MaxDuration && s.Within%time.Millisecond == 0
}
