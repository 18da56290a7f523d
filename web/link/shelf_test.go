package link

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"relock/engine/scenario"
)

// keep keeps a link that differs from others by its number.
func keep(t *testing.T, k *Shelf, n int) string {
	t.Helper()
	sc, err := scenario.Parse(fmt.Appendf(nil, "seed: %d\nthreads: [{name: A}]", n+1))
	if err != nil {
		t.Fatal(err)
	}
	id, err := k.Keep(State{Scenario: sc})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestAShelfIsBounded(t *testing.T) {
	for name, dir := range map[string]string{"memory": "", "folder": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			shelf, err := NewShelf(dir)
			if err != nil {
				t.Fatal(err)
			}
			foreign := filepath.Join(dir, "not-a-link-of-ours")
			now := time.Now()
			shelf.now = func() time.Time { return now }
			shelf.limits = Limits{Links: 3, Bytes: 1 << 20, Age: 100 * time.Hour}
			is := func(id string, want bool) {
				t.Helper()
				if _, err := shelf.Find(id); (err == nil) != want || err != nil && !errors.Is(err, ErrNotKept) {
					t.Errorf("%s: %v, want there: %v", id, err, want)
				}
			}
			var ids []string
			for n := range 3 {
				ids = append(ids, keep(t, shelf, n))
			}
			is(ids[0], true) // opened: the others go first
			ids = append(ids, keep(t, shelf, 3))
			is(ids[0], true)
			is(ids[1], false)
			is(ids[2], true)
			is(ids[3], true)
			shelf.limits.Links, shelf.limits.Bytes = 10, shelf.bytes+20 // less than a link has
			ids = append(ids, keep(t, shelf, 4))
			is(ids[0], false)
			if dir != "" {
				if err := os.WriteFile(foreign, []byte("mine"), 0o600); err != nil {
					t.Fatal(err)
				}
				old := now.Add(-2 * FolderLimits.Age)
				for _, path := range []string{foreign, filepath.Join(dir, ids[2])} {
					if err := os.Chtimes(path, old, old); err != nil {
						t.Fatal(err)
					}
				}
				if shelf, err = NewShelf(dir); err != nil {
					t.Fatal(err)
				}
				is(ids[2], false) // too old when the server starts
				is(ids[3], true)
				is(ids[4], true)
				if _, err := os.Stat(foreign); err != nil {
					t.Errorf("a file that is none of ours is gone: %v", err)
				}
				if files, _ := os.ReadDir(dir); len(files) != 3 {
					t.Errorf("%d files, want 2 links and a foreign one", len(files))
				}
			}
			shelf.now = func() time.Time { return now.Add(shelf.limits.Age + time.Hour) }
			is(ids[4], false)
		})
	}
}
