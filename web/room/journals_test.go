package room_test

import (
	"testing"
	"time"

	"relock/engine/store/storetest"
	"relock/web/room"
	"relock/web/room/stream"
)

// onEach runs a test on every journal. Server returns the journal of a server;
// if it is kept, each call is for one more, or for one that starts again.
func onEach(t *testing.T, test func(t *testing.T, server func() room.Journal)) {
	t.Run("memory", func(t *testing.T) {
		test(t, func() room.Journal { return solo(t, "") })
	})
	onKept(t, test)
}

// onKept is onEach for the journals that outlive a server.
func onKept(t *testing.T, test func(t *testing.T, server func() room.Journal)) {
	t.Run("files", func(t *testing.T) {
		dir := t.TempDir()
		test(t, func() room.Journal { return solo(t, dir) })
	})
	t.Run("redis", func(t *testing.T) {
		addr := storetest.Start(t).Addr
		test(t, func() room.Journal { return onRedis(t, addr, stream.Options{Beat: 50 * time.Millisecond}) })
	})
}

// until waits until a condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	limit := time.After(20 * time.Second)
	for !holds() {
		select {
		case <-look.C:
		case <-limit:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// onRedis is the journal of one more server on a Redis.
func onRedis(t *testing.T, addr string, o stream.Options) *stream.Journal {
	t.Helper()
	client := storetest.Client(addr)
	t.Cleanup(func() { _ = client.Close() })
	j, err := stream.New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}
