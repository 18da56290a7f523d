package page_test

import (
	"strings"
	"testing"

	"relock/web/page"
	"relock/web/words"
)

func TestTheSettingsOfAScenario(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a lock in Redis", "threads: [{name: A, depth: 2}, {name: B, retry: {times: unlimited}}]", "start depth work retry.times | threads protocol lease watchdog interval"},
		{"each its own wait", "threads: [{name: A, retry: {interval: 5ms}}, {name: B}]", "start depth work retry.times retry.interval | threads protocol lease watchdog"},
		{"a heartbeat", "kind: heartbeat\nthreads: [{name: A}, {name: B}]", "start work | threads lease"},
		{"two locks", "locks: [x, y]\nthreads: [{name: A}]", "start work retry.times | threads protocol lease watchdog interval"},
		{"no lock", "lock: {protocol: none}\nthreads: [{name: A}]", "start depth work | threads protocol"},
	} {
		s := page.NewSettings(words.English, c.text)
		var got []string
		for _, f := range s.Threads[0].Fields {
			got = append(got, strings.TrimPrefix(f.Name, "threads[0]."))
		}
		got = append(got, "|")
		for _, f := range s.Lock {
			got = append(got, f.Name[strings.LastIndexByte(f.Name, '.')+1:])
		}
		if strings.Join(got, " ") != c.want || len(s.Head) != len(s.Threads[0].Fields) {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
	for _, text := range []string{"", "title: x", "threads: []", "threads: A", "threads: [", "lock: {}"} {
		if s := page.NewSettings(words.English, text); len(s.Lock) > 0 {
			t.Errorf("without threads %q has settings: %+v", text, s)
		}
	}
	s := page.NewSettings(words.English, "threads: [{name: A, depth: 33, retry: {times: unlimited}}]\nfaults: [{do: evict}]")
	f := s.Threads[0].Fields
	if len(f[1].Mistakes) != 1 || f[1].Value != "33" || f[3].Value != "unlimited" || f[0].Value != "0 ms" || len(s.Mistakes) != 1 || !strings.HasPrefix(s.Mistakes[0], "faults[0].time: ") {
		t.Errorf("%+v", s)
	}
}
