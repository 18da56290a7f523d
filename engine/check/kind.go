package check

import (
	"strconv"
	"strings"

	"relock/engine/phrase"
)

// MostPermits is how many threads a lock may let in at once, at most.
const MostPermits = 1000

// Kind is what somebody says of a lock: who may be inside at once, of which one is set. Of
// the zero value nobody has said it: that is one thread, or readers where the key says that
// they hold it. It is immutable.
type Kind struct {
	Exclusive bool // one thread
	Readers   bool // readers share it, and a writer is alone
	Permits   int  // so many threads, 2 to MostPermits
}

// The words for kinds, of which permits=N has its number behind it.
const (
	exclusive = "exclusive"
	readers   = "readers"
	permits   = "permits="
)

// Kinds lists the words that ParseKind takes, in no language.
const Kinds = exclusive + ", " + readers + ", " + permits + "N"

// ParseKind reads a kind: exclusive, readers or permits=N. It fails with one sentence.
func ParseKind(text string) (Kind, error) {
	switch number, counted := strings.CutPrefix(text, permits); {
	case text == exclusive:
		return Kind{Exclusive: true}, nil
	case text == readers:
		return Kind{Readers: true}, nil
	case counted:
		n, err := strconv.Atoi(number)
		switch {
		case err != nil || n < 1 || n > MostPermits:
			return Kind{}, phrase.New("%.40q: allowed: permits=1 to permits=%d", text, MostPermits)
		case n == 1:
			return Kind{Exclusive: true}, nil
		}
		return Kind{Permits: n}, nil
	}
	return Kind{}, phrase.New("%.40q is no kind of lock; allowed: %s", text, Kinds)
}

// MeantAsKind reports whether a text is one that ParseKind reads, or nearly: permits without
// its number, readers with one.
func MeantAsKind(text string) bool {
	word, _, _ := strings.Cut(text, "=")
	return word == exclusive || word == readers || word+"=" == permits
}

// Said reports whether somebody has said it.
func (k Kind) Said() bool { return k != Kind{} }

// Shared reports whether somebody has said that several threads may be inside at once.
func (k Kind) Shared() bool { return k.Readers || k.Permits > 0 }

// Inside returns the kind of a lock that lets in so many at once. It fails with one sentence.
func Inside(n int) (Kind, error) {
	switch {
	case n < 1 || n > MostPermits:
		return Kind{}, phrase.New("-inside %d: allowed: 1 to %d", n, MostPermits)
	case n == 1:
		return Kind{}, nil
	}
	return Kind{Permits: n}, nil
}

// String returns the kind as ParseKind reads it, "" if nobody has said it.
func (k Kind) String() string {
	switch {
	case k.Readers:
		return readers
	case k.Permits > 0:
		return permits + strconv.Itoa(k.Permits)
	case k.Exclusive:
		return exclusive
	}
	return ""
}

// Most is how many threads may be inside at once, readers apart.
func (k Kind) Most() int { return max(k.Permits, 1) }

// Title returns what people call a rule of a lock of this kind.
func (k Kind) Title(rule string) phrase.Wording {
	if rule == MutualExclusion && k.Permits > 0 {
		return phrase.Say("more inside than permits")
	}
	return Title(rule)
}

// together reports whether threads may be inside at once, given which of them share.
func (k Kind) together(inside []string, shares func(thread string) bool) bool {
	switch {
	case len(inside) <= k.Most():
		return true
	case k.Exclusive || k.Permits > 0:
		return false
	}
	for _, thread := range inside {
		if !shares(thread) {
			return false
		}
	}
	return true
}
