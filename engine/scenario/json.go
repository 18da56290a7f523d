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
	type fault struct {
		Thread string   `json:"thread"`
		At     string   `json:"at"`
		Level  int      `json:"level"`
		Round  int      `json:"round"`
		Do     string   `json:"do"`
		For    duration `json:"for,omitzero"`
		Scope  string   `json:"scope,omitempty"`
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
		Faults   []fault  `json:"faults,omitempty"`
		Seed     uint64   `json:"seed"`
		Policy   string   `json:"policy"`
		Schedule []int    `json:"schedule,omitempty"`
		Expect   *expect  `json:"expect,omitempty"`
	}{Title: s.Title, Seed: s.Seed, Policy: s.Policy, Schedule: s.Schedule}
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
	for _, f := range s.Faults {
		out.Faults = append(out.Faults, fault{f.Thread, f.At, f.Level, f.Round, f.Do, duration(f.For), f.Scope})
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
		Jitter   *Range   `json:"jitter,omitempty"`
	}{r.Times, duration(r.Interval), r.Wait, r.jitter()})
}

func (r retryJSON) jitter() *Range {
	if r.JitterMax == 0 {
		return nil
	}
	return &Range{r.JitterMin, r.JitterMax}
}
