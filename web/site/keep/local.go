package keep

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// local is a shelf of one process.
type local struct {
	dir    string // "" in memory
	ours   func(id, text string) bool
	limits Limits
	now    func() time.Time

	mu    sync.Mutex
	texts map[string]*list.Element // of *entry, by id
	order *list.List               // least recently used first
	bytes int
}

type entry struct {
	id   string
	text string // "" in a folder: the file has it
	size int
	used time.Time // last put or read, in a folder to within touchEvery
}

// InMemory returns a shelf that lasts as long as the process.
func InMemory(l Limits) Shelf { return newLocal("", l, nil) }

func newLocal(dir string, l Limits, ours func(id, text string) bool) *local {
	return &local{dir: dir, ours: ours, limits: l, now: time.Now, texts: map[string]*list.Element{}, order: list.New()}
}

// InFolder returns a shelf in the files of a folder, which must belong to it
// alone. Ours tells a text of ours from a file that merely has such a name, and
// is not removed. It fails if the folder cannot be created or read.
func InFolder(dir string, l Limits, ours func(id, text string) bool) (Shelf, error) {
	return openFolder(dir, l, ours, time.Now)
}

func openFolder(dir string, l Limits, ours func(id, text string) bool, now func() time.Time) (*local, error) {
	k := newLocal(dir, l, ours)
	k.now = now
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep: %w", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("keep: %w", err)
	}
	var there []*entry
	for _, f := range files {
		info, err := f.Info()
		if err == nil && info.Mode().IsRegular() && idForm.MatchString(f.Name()) && !strings.HasPrefix(f.Name(), unfinished) {
			there = append(there, &entry{id: f.Name(), size: int(info.Size()), used: info.ModTime()})
		}
	}
	slices.SortFunc(there, func(a, b *entry) int { return a.used.Compare(b.used) })
	for _, e := range there {
		k.put(e)
	}
	return k, k.makeRoom(0)
}

// put adds an entry as the most recently used. The caller holds mu or has the
// only reference.
func (k *local) put(e *entry) {
	k.texts[e.id] = k.order.PushBack(e)
	k.bytes += e.size
}

// makeRoom drops what is too old, and what is too much once so many bytes are
// added. The caller holds mu or has the only reference.
func (k *local) makeRoom(bytes int) error {
	for k.order.Len() > 0 {
		oldest, _ := k.order.Front().Value.(*entry)
		coming := min(bytes, 1)
		if k.order.Len()+coming <= k.limits.Texts && k.bytes+bytes <= k.limits.Bytes && k.now().Sub(oldest.used) <= k.limits.Age {
			return nil
		}
		if k.dir != "" {
			if err := k.remove(oldest.id); err != nil {
				return err
			}
		}
		k.forget(oldest)
	}
	return nil
}

// remove removes a text's file, unless it is not ours.
func (k *local) remove(id string) error {
	path := filepath.Join(k.dir, id)
	text, err := os.ReadFile(path) //nolint:gosec // a name from the folder itself
	if err == nil && k.ours(id, string(text)) {
		err = os.Remove(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep: make room: %w", err)
	}
	return nil
}

func (k *local) forget(e *entry) {
	k.order.Remove(k.texts[e.id])
	delete(k.texts, e.id)
	k.bytes -= e.size
}

// use records that a text was put or read again. The caller holds mu.
func (k *local) use(at *list.Element) {
	k.order.MoveToBack(at)
	e, _ := at.Value.(*entry)
	now := k.now()
	if k.dir == "" || now.Sub(e.used) >= k.limits.touchEvery() {
		e.used = now
		if k.dir != "" {
			_ = os.Chtimes(filepath.Join(k.dir, e.id), now, now) // if this fails, it is dropped a bit earlier
		}
	}
}

// Put implements Shelf.
func (k *local) Put(_ context.Context, id, text string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at, there := k.texts[id]; there {
		k.use(at)
		return nil
	}
	if err := k.makeRoom(len(text)); err != nil {
		return err
	}
	e := &entry{id: id, size: len(text), used: k.now()}
	if k.dir == "" {
		e.text = text
	} else if err := k.write(id, text); err != nil {
		return err
	}
	k.put(e)
	return nil
}

// unfinished is the prefix of files being written.
const unfinished = "new-"

// write creates the whole file or none.
func (k *local) write(id, text string) error {
	f, err := os.CreateTemp(k.dir, unfinished+"*")
	if err != nil {
		return fmt.Errorf("keep: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(k.dir, id))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep: %w", err), os.Remove(f.Name()))
	}
	return nil
}

// Get implements Shelf.
func (k *local) Get(_ context.Context, id string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at, ok := k.texts[id]
	if !ok {
		return "", ErrNotKept
	}
	e, _ := at.Value.(*entry)
	if k.now().Sub(e.used) > k.limits.Age {
		return "", ErrNotKept
	}
	text := e.text
	if k.dir != "" {
		data, err := os.ReadFile(filepath.Join(k.dir, id)) //nolint:gosec // one of our own names
		if errors.Is(err, fs.ErrNotExist) {
			k.forget(e)
			return "", ErrNotKept
		}
		if err != nil {
			return "", fmt.Errorf("keep: %w", err)
		}
		text = string(data)
	}
	k.use(at)
	return text, nil
}
