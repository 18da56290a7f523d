package scenario

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Drift is how much faster than the other clocks a thread's clock runs, in
// millionths; negative where it runs slower. All that a client measures goes by
// its clock: how long it waits, when it renews, until when it relies on its
// lease. Work is effort, and does not.
type Drift int

// Percent is a drift of a hundredth: 10 ms in each second.
const Percent Drift = 10_000

// String formats the drift as scenarios do: "0.5%", "-5%".
func (d Drift) String() string {
	return strconv.FormatFloat(float64(d)/float64(Percent), 'f', -1, 64) + "%"
}

// Size is the drift without its direction: "5%".
func (d Drift) Size() string { return max(d, -d).String() }

// Margin is what the lock takes off its lease for clocks that drift.
func (l Lock) Margin() time.Duration { return l.Implementation().Margin(l.Lease) }

var (
	driftPercent = regexp.MustCompile(`^[+-]?[0-9]{1,3}(\.[0-9]{1,4})?%$`)
	driftPPM     = regexp.MustCompile(`^[+-]?[0-9]{1,7}ppm$`)
)

// ParseDrift reads a drift: "5%", "-0.25%", or, as data sheets of clocks have it,
// "200ppm". It returns false for anything else, and for what is beyond MaxDrift.
func ParseDrift(text string) (Drift, bool) {
	d := Drift(0)
	switch {
	case driftPercent.MatchString(text):
		percent, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
		if err != nil {
			return 0, false
		}
		if percent < 0 {
			d = Drift(percent*float64(Percent) - 0.5)
		} else {
			d = Drift(percent*float64(Percent) + 0.5)
		}
	case driftPPM.MatchString(text):
		millionths, err := strconv.Atoi(strings.TrimSuffix(text, "ppm"))
		if err != nil {
			return 0, false
		}
		d = Drift(millionths)
	default:
		return 0, false
	}
	return d, d >= -MaxDrift && d <= MaxDrift
}
