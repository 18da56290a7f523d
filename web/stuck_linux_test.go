package web_test

import (
	"hash/maphash"
	"net/url"
	"testing"

	"relock/web"
	"relock/web/site/wire"
)

// busyText is a run that has something to show all the time, for longer than
// any test takes.
const busyText = `lock: {protocol: mutex, lease: 60s, watchdog: off, retry: {times: 1000, interval: 1ms, wait: poll}}
threads: [{name: A, work: 40s}, {name: B}]
`

// Viewers who do not read are dropped once the kernel and their queues are
// full, and nobody else is; when they read again they hear why.
func TestStuckViewersAreTold(t *testing.T) {
	s := open(t, nil)
	path := s.run(t, url.Values{"base": {busyText}, "yaml": {busyText}, "store": {"wall"}, "slow": {"1"}, "action": {"run"}})
	stuck, err := audience{
		Address: narrowListener(t, s.web), Path: path + "/socket?since=0", Viewers: 5, Buffer: stuckBuffer,
	}.join()
	if err != nil {
		t.Fatal(err)
	}
	quick, _, err := s.dial(t, path, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = quick.Close() }()
	for web.Viewers(s.web, path) > 1 {
		if _, _, err := quick.ReadMessage(); err != nil {
			t.Fatalf("one who reads is closed: %v", err)
		}
	}
	w := witness{seed: maphash.MakeSeed(), index: map[uint64]uint32{}}
	for i, v := range stuck {
		var got viewing
		err := w.follow(v, &got)
		if err != nil || got.Code != wire.CloseSlow || len(got.Messages) == 0 {
			t.Errorf("stuck viewer %d: %d messages, code %d, %v; want some, and %d", i, len(got.Messages), got.Code, err, wire.CloseSlow)
		}
		_ = v.Close()
	}
	if _, _, err := quick.ReadMessage(); err != nil {
		t.Errorf("one who reads is closed beside those who did not: %v", err)
	}
}
