package load_test

import (
	"hash/maphash"
	"net/url"
	"slices"
	"testing"

	"relock/web/board"
	"relock/web/site/wire"
	"relock/web/webtest"
)

// busyText is a run that has something to show all the time, for longer than
// any test takes.
const busyText = `lock: {protocol: mutex, lease: 60s, watchdog: off, retry: {times: 1000, interval: 1ms, wait: poll}}
threads: [{name: A, work: 40s}, {name: B}]
`

// Viewers who do not read are dropped once the kernel and their queues are
// full, and nobody else is; when they read again they hear why.
func TestStuckViewersAreTold(t *testing.T) {
	s := webtest.Open(t, nil)
	path := s.Run(t, url.Values{"base": {busyText}, "yaml": {busyText}, "store": {"wall"}, "slow": {"1"}, "action": {"run"}})
	stuck, err := audience{
		Address: narrowListener(t, s.Web), Path: path + "/socket?since=0", Viewers: 5, Buffer: stuckBuffer,
	}.join()
	if err != nil {
		t.Fatal(err)
	}
	quick, _, err := s.Dial(t, path, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = quick.Close() }()
	for s.Viewers(t) > 1 {
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

// Who does not read in a room holds up nobody, is not closed, and then gets what
// was on its way and the room as it is: in order, whole, and once.
func TestWhoDoesNotReadInARoomGetsTheNewest(t *testing.T) {
	const moves = 60
	s := webtest.Open(t, nil)
	code, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret})
	quick := s.Visit(t, code, "en", nil).Join("audience", nil)
	stuck, err := audience{
		Address: narrowListener(t, s.Web), Path: "/room/" + code + "/socket?lang=en", Viewers: 1, Buffer: stuckBuffer,
		Say: `{"id":1,"do":"join","part":"audience"}`,
	}.join()
	if err != nil {
		t.Fatal(err)
	}
	host.Until("both are there", func() bool { return host.Room.Members == 2 })
	for range 8 {
		host.Must(webtest.Object{"do": "step"})
	}
	first := host.Seq
	for i := range moves {
		host.Must(webtest.Object{"do": "go", "branch": 0, "at": i % 8})
		quick.Until("one who reads has it", func() bool { return quick.Seq >= host.Seq })
	}
	last := host.Seq
	w := witness{seed: maphash.MakeSeed(), index: map[uint64]uint32{}}
	var got viewing
	read := make(chan error, 1)
	go func() { read <- w.follow(stuck[0], &got) }()
	caughtUp := func() bool { // before the room ends: its end may overtake a frame
		w.mu.RLock()
		defer w.mu.RUnlock()
		return slices.ContainsFunc(seen{Messages: w.messages}.inflate(t), func(text []byte) bool { return newestSeq(text) >= last })
	}
	for i := 0; !caughtUp(); i++ {
		if i == 10*moves {
			t.Fatal("it reads again, and does not get the newest")
		}
		host.Must(webtest.Object{"do": "go", "branch": 0, "at": i % 8})
	}
	host.Must(webtest.Object{"do": "end"})
	if err := <-read; err != nil || got.Code != int(board.Over) {
		t.Errorf("closed with %d, %v", got.Code, err)
	}
	list := seen{Messages: w.messages}.inflate(t)
	shown, seq := 0, 0
	for _, id := range got.Messages {
		now := newestSeq(list[id])
		if now == 0 {
			continue
		}
		if now < seq || now == seq && now > first {
			t.Errorf("seq %d after %d", now, seq)
		}
		if seq = now; seq > first {
			shown++
		}
	}
	if seq < last {
		t.Errorf("shown up to %d of %d", seq, last)
	}
	if shown == 0 || shown > moves/2 {
		t.Errorf("it was shown %d of %d moves: it was not stuck", shown, moves)
	}
}
