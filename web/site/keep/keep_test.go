package keep

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/store/storetest"
)

// hundred is long enough for every test but that of age.
const hundred = 100 * time.Hour

// shelves are all kinds there are. Pass moves a shelf's time.
var shelves = map[string]func(t *testing.T, l Limits) (shelf Shelf, pass func(time.Duration)){
	"memory": func(_ *testing.T, l Limits) (Shelf, func(time.Duration)) {
		k := newLocal("", l, nil)
		return k, k.ages()
	},
	"folder": func(t *testing.T, l Limits) (Shelf, func(time.Duration)) {
		k, err := openFolder(t.TempDir(), l, ours, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return k, k.ages()
	},
	"redis": func(t *testing.T, l Limits) (Shelf, func(time.Duration)) {
		client := storetest.Redis(t)
		return OnRedis(client, "test", l), func(d time.Duration) { age(t, client, d) }
	},
	"cluster": func(t *testing.T, l Limits) (Shelf, func(time.Duration)) {
		at := storetest.Start(t, "--cluster-enabled", "yes")
		one := storetest.Client(at.Addr)
		if err := one.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
			t.Fatal(err)
		}
		for !strings.Contains(one.ClusterInfo(t.Context()).Val(), "cluster_state:ok") {
			if t.Context().Err() != nil {
				t.Fatal("the cluster does not begin")
			}
		}
		client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{at.Addr}, MaxRetries: -1})
		t.Cleanup(func() { _, _ = one.Close(), client.Close() })
		return OnRedis(client, "test", l), func(d time.Duration) { age(t, one, d) }
	},
}

// ages returns what moves the shelf's time.
func (k *local) ages() func(time.Duration) {
	now := time.Now()
	k.now = func() time.Time { return now }
	return func(d time.Duration) { now = now.Add(d) }
}

// age makes everything on a Redis older.
func age(t *testing.T, client *redis.Client, by time.Duration) {
	t.Helper()
	for _, key := range client.Keys(t.Context(), "relock:test:*").Val() {
		if left := client.PTTL(t.Context(), key).Val(); left > 0 {
			client.PExpire(t.Context(), key, max(left-by, 0))
		}
	}
	for _, id := range client.ZRange(t.Context(), "relock:test:{index}:used", 0, -1).Val() {
		client.ZIncrBy(t.Context(), "relock:test:{index}:used", -float64(by.Milliseconds()), id)
	}
}

// each tries every kind of shelf.
func each(t *testing.T, l Limits, try func(t *testing.T, shelf Shelf, pass func(time.Duration))) {
	for _, kind := range slices.Sorted(maps.Keys(shelves)) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			shelf, pass := shelves[kind](t, l)
			try(t, shelf, pass)
		})
	}
}

func name(n int) string { return fmt.Sprintf("text-number-%d", n) }

// ours tells the test's texts from other files.
func ours(id, text string) bool { return strings.HasPrefix(text, id) }

// put puts texts of a hundred bytes on a shelf, oldest first.
func put(t *testing.T, shelf Shelf, pass func(time.Duration), numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		pass(time.Second)
		if err := shelf.Put(t.Context(), name(n), fmt.Sprintf("%-100s", name(n))); err != nil {
			t.Fatal(err)
		}
	}
}

// holds fails unless these of the texts up to number 9 are on a shelf.
func holds(t *testing.T, shelf Shelf, want ...int) {
	t.Helper()
	for n := range 10 {
		text, err := shelf.Get(t.Context(), name(n))
		switch there := slices.Contains(want, n); {
		case err != nil && !errors.Is(err, ErrNotKept):
			t.Error(err)
		case (err == nil) != there:
			t.Errorf("text %d is there: %t, want %t", n, err == nil, there)
		case there && text != fmt.Sprintf("%-100s", name(n)):
			t.Errorf("text %d is %q", n, text)
		}
	}
}

func TestAShelfIsBoundedInNumber(t *testing.T) {
	t.Parallel()
	each(t, Limits{Texts: 3, Bytes: 1 << 20, Age: hundred}, func(t *testing.T, shelf Shelf, pass func(time.Duration)) {
		put(t, shelf, pass, 0, 1, 2)
		pass(time.Hour)
		if _, err := shelf.Get(t.Context(), name(0)); err != nil {
			t.Fatal(err)
		}
		put(t, shelf, pass, 3, 3) // 0 was read, so that 1 goes; and the same again needs no room
		holds(t, shelf, 0, 2, 3)
	})
}

func TestAShelfIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	each(t, Limits{Texts: 100, Bytes: 350, Age: hundred}, func(t *testing.T, shelf Shelf, pass func(time.Duration)) {
		put(t, shelf, pass, 0, 1, 2, 3, 4, 2)
		put(t, shelf, pass, 5)
		holds(t, shelf, 2, 4, 5)
	})
}

func TestAShelfForgetsWhatIsOld(t *testing.T) {
	t.Parallel()
	each(t, Limits{Texts: 100, Bytes: 1 << 20, Age: hundred}, func(t *testing.T, shelf Shelf, pass func(time.Duration)) {
		put(t, shelf, pass, 0, 1)
		pass(60 * time.Hour)
		put(t, shelf, pass, 2)
		if _, err := shelf.Get(t.Context(), name(1)); err != nil { // and so it is young again
			t.Fatal(err)
		}
		pass(60 * time.Hour)
		holds(t, shelf, 1, 2)
		put(t, shelf, pass, 0)
		holds(t, shelf, 0, 1, 2)
	})
}

func TestAShelfHasNothingUnderOtherNames(t *testing.T) {
	t.Parallel()
	each(t, Limits{Texts: 100, Bytes: 1 << 20, Age: hundred}, func(t *testing.T, shelf Shelf, pass func(time.Duration)) {
		put(t, shelf, pass, 0)
		for _, id := range []string{"AAAAAAAAAAA", "", "../../../etc/passwd", "new-1234567", "{index}:used"} {
			if _, err := shelf.Get(t.Context(), id); !errors.Is(err, ErrNotKept) {
				t.Errorf("%q: %v", id, err)
			}
		}
	})
}

func TestAFolderIsFoundAgain(t *testing.T) {
	t.Parallel()
	now := time.Now()
	dir, clock := t.TempDir(), func() time.Time { return now }
	limits := Limits{Texts: 100, Bytes: 1 << 20, Age: hundred}
	shelf, err := openFolder(dir, limits, ours, clock)
	if err != nil {
		t.Fatal(err)
	}
	put(t, shelf, func(time.Duration) {}, 0, 1)
	foreign := filepath.Join(dir, "not-a-text-of-ours")
	if err := os.WriteFile(foreign, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := now.Add(-2 * hundred)
	for _, path := range []string{foreign, filepath.Join(dir, name(0))} {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if shelf, err = openFolder(dir, limits, ours, clock); err != nil {
		t.Fatal(err)
	}
	holds(t, shelf, 1)
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("a file that is none of ours is gone: %v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("%d files, want one of ours and a foreign one", len(files))
	}
}

// One server finds what another has put on a Redis, and both bound it together.
func TestServersShareAShelfOnRedis(t *testing.T) {
	t.Parallel()
	at, limits := storetest.Start(t), Limits{Texts: 3, Bytes: 1 << 20, Age: hundred}
	var shelves []Shelf
	for range 2 {
		client := storetest.Client(at.Addr)
		t.Cleanup(func() { _ = client.Close() })
		shelves = append(shelves, OnRedis(client, "test", limits))
	}
	for n := range 6 {
		put(t, shelves[n%2], func(time.Duration) {}, n)
	}
	for _, shelf := range shelves {
		holds(t, shelf, 3, 4, 5)
	}
}

// A shelf on Redis leaves nothing there for good, and begins again where what
// bounds it was lost.
func TestEverythingOnRedisExpires(t *testing.T) {
	t.Parallel()
	client := storetest.Redis(t)
	shelf := OnRedis(client, "test", Limits{Texts: 3, Bytes: 1 << 20, Age: hundred})
	still := func(time.Duration) {}
	put(t, shelf, still, 0, 1)
	client.Del(t.Context(), "relock:test:{index}:sizes")
	put(t, shelf, still, 2, 3, 4, 5)
	holds(t, shelf, 0, 1, 3, 4, 5) // what was known of 0 and 1 is lost: their expiry bounds them
	if all := client.HGet(t.Context(), "relock:test:{index}:sizes", "").Val(); all != "300" {
		t.Errorf("%s bytes are counted, want 300", all)
	}
	for _, key := range client.Keys(t.Context(), "*").Val() {
		if left := client.PTTL(t.Context(), key).Val(); left <= 0 || left > hundred {
			t.Errorf("%s expires in %v", key, left)
		}
	}
}

// Nobody waits long for a Redis that does not answer, and hears why.
func TestARedisThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	at := storetest.Start(t)
	client := storetest.Client(at.Addr)
	t.Cleanup(func() { _ = client.Close() })
	shelf := OnRedis(client, "test", Limits{Texts: 3, Bytes: 1 << 20, Age: hundred})
	put(t, shelf, func(time.Duration) {}, 0)
	away := func(what string) {
		t.Helper()
		began := time.Now()
		if _, err := shelf.Get(t.Context(), name(0)); !errors.Is(err, ErrAway) {
			t.Errorf("%s, reading: %v", what, err)
		}
		if err := shelf.Put(t.Context(), name(1), "text"); !errors.Is(err, ErrAway) {
			t.Errorf("%s, putting: %v", what, err)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s: it took %v", what, took)
		}
	}
	if err := at.Stall(); err != nil {
		t.Fatal(err)
	}
	away("it stands still")
	if err := at.Resume(); err != nil {
		t.Fatal(err)
	}
	at.Kill()
	away("it is gone")
	if err := at.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, shelf, func(time.Duration) {}, 2)
	if err := client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if err := shelf.Put(t.Context(), name(3), "text"); !errors.Is(err, ErrAway) {
		t.Errorf("it has no memory left: %v", err)
	}
}
