package scenario

import (
	"encoding/json"
	"time"
)

// MarshalJSON writes the scenario in its normal form: the keys of the YAML,
// in one order, with every default filled in. Parse reads it back.
func (s *Scenario) MarshalJSON() ([]byte, error) {
	type thread struct {
		Name   string    `json:"name"`
		Start  duration  `json:"start"`
		Depth  int       `json:"depth"`
		Work   Range     `json:"work"`
		Repeat int       `json:"repeat"`
		OnLost string    `json:"on-lost"`
		Retry  retryJSON `json:"retry"`
	}
	type lock struct {
		Protocol string    `json:"protocol"`
		Key      string    `json:"key"`
		Lease    duration  `json:"lease"`
		Watchdog any       `json:"watchdog"`
		Retry    retryJSON `json:"retry"`
		Nodes    int       `json:"nodes"`
	}
	type expect struct {
		Violations *[]string         `json:"violations,omitempty"`
		Outcome    map[string]string `json:"outcome,omitempty"`
	}
	out := struct {
		Title    string   `json:"title,omitempty"`
		Lock     lock     `json:"lock"`
		Threads  []thread `json:"threads"`
		Faults   []Fault  `json:"faults,omitempty"`
		Seed     uint64   `json:"seed"`
		Policy   string   `json:"policy"`
		Schedule []int    `json:"schedule,omitempty"`
		Expect   *expect  `json:"expect,omitempty"`
	}{Title: s.Title, Seed: s.Seed, Policy: s.Policy, Schedule: s.Schedule, Faults: s.Faults}
	l := s.Lock
	out.Lock = lock{l.Protocol, l.Key, duration(l.Lease), duration(l.Watchdog), retryJSON(l.Retry), l.Nodes}
	if l.Watchdog == 0 {
		out.Lock.Watchdog = "off"
	}
	for _, t := range s.Threads {
		out.Threads = append(out.Threads, thread{
			t.Name, duration(t.Start), t.Depth, t.Work, t.Repeat, t.OnLost, retryJSON(t.Retry),
		})
	}
	if s.Expect != nil {
		out.Expect = &expect{s.Expect.Violations, s.Expect.Outcome}
	}
	return json.Marshal(out)
}

type duration time.Duration

// MarshalText words the duration.
func (d duration) MarshalText() ([]byte, error) { return []byte(Duration(time.Duration(d))), nil }

// MarshalText words the range: "50ms", "50ms-100ms".
func (r Range) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// String words the range as scenarios do.
func (r Range) String() string {
	if r.Min == r.Max {
		return Duration(r.Min)
	}
	return Duration(r.Min) + "-" + Duration(r.Max)
}

type retryJSON Retry

// MarshalJSON writes the keys of the YAML.
func (r retryJSON) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Times    int      `json:"times"`
		Interval duration `json:"interval"`
		Wait     string   `json:"wait"`
		Jitter   Range    `json:"jitter"`
	}{r.Times, duration(r.Interval), r.Wait, Range{r.JitterMin, r.JitterMax}})
}

// MarshalJSON writes the keys of the YAML that the fault has.
func (f Fault) MarshalJSON() ([]byte, error) {
	out := struct {
		Thread string    `json:"thread,omitempty"`
		At     string    `json:"at,omitempty"`
		Level  int       `json:"level,omitempty"`
		Round  int       `json:"round,omitempty"`
		Time   *duration `json:"time,omitempty"`
		Do     string    `json:"do"`
		For    duration  `json:"for,omitzero"`
		Scope  string    `json:"scope,omitempty"`
		By     string    `json:"by,omitempty"`
		Behind *int      `json:"behind,omitempty"`
		Keep   bool      `json:"keep,omitempty"`
	}{Thread: f.Thread, At: f.At, Level: f.Level, Round: f.Round, Do: f.Do, For: duration(f.For), Scope: f.Scope, Keep: f.Keep}
	if f.Timed {
		out.Time = (*duration)(&f.Time)
	}
	if f.By > 0 {
		out.By = Duration(f.By)
	}
	if f.By < 0 {
		out.By = "-" + Duration(-f.By)
	}
	if f.Do == FaultFailOver {
		out.Behind = &f.Behind
	}
	return json.Marshal(out)
}
