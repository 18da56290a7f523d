package link

import (
	"container/list"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"relock/engine/phrase"
)

// Limits bound what a shelf keeps. Beyond them it drops the links that were
// made or opened longest ago.
type Limits struct {
	Links int           // entries
	Bytes int           // of all texts in total
	Age   time.Duration // since a link was last made or opened
}

// MemoryLimits and FolderLimits are the limits of a shelf in memory and in a
// folder.
var (
	MemoryLimits = Limits{10_000, 32 << 20, 365 * 24 * time.Hour}
	FolderLimits = Limits{100_000, 512 << 20, 365 * 24 * time.Hour}
)

// touchEvery is how often opening a link updates its file's time.
const touchEvery = 24 * time.Hour

// idLength is how many characters of a digest identify a link: 66 bits.
const idLength = 11

// ErrNotKept is returned for an unknown id.
var ErrNotKept = phrase.New("nothing is kept under this address; it may be mistyped, or older than the server's memory")

// Shelf keeps links under short ids; equal links have equal ids. It is safe for
// concurrent use, but a folder must belong to one shelf only.
type Shelf struct {
	dir    string // "" in memory
	limits Limits
	now    func() time.Time

	mu    sync.Mutex
	links map[string]*list.Element // of *entry, by id
	order *list.List               // least recently used first
	bytes int
}

type entry struct {
	id   string
	text string // "" in a folder: the file has it
	size int
	used time.Time // last made or opened, in a folder to within touchEvery
}

// NewShelf keeps links in the files of a folder, or, if dir is "", in memory
// for as long as the process lives. It fails if the folder cannot be created or
// read.
func NewShelf(dir string) (*Shelf, error) {
	k := &Shelf{dir: dir, limits: MemoryLimits, now: time.Now, links: map[string]*list.Element{}, order: list.New()}
	if dir == "" {
		return k, nil
	}
	k.limits = FolderLimits
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("link: %w", err)
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
func (k *Shelf) put(e *entry) {
	k.links[e.id] = k.order.PushBack(e)
	k.bytes += e.size
}

// makeRoom drops what is too old, and what is too much once so many bytes are
// added. The caller holds mu or has the only reference.
func (k *Shelf) makeRoom(bytes int) error {
	for k.order.Len() > 0 {
		oldest, _ := k.order.Front().Value.(*entry)
		coming := min(bytes, 1)
		if k.order.Len()+coming <= k.limits.Links && k.bytes+bytes <= k.limits.Bytes && k.now().Sub(oldest.used) <= k.limits.Age {
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

// remove removes a link's file, unless it merely has such a name and is not
// ours.
func (k *Shelf) remove(id string) error {
	path := filepath.Join(k.dir, id)
	text, err := os.ReadFile(path) //nolint:gosec // a name from the folder itself
	if err == nil && identify(string(text)) == id {
		err = os.Remove(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("link: make room: %w", err)
	}
	return nil
}

func (k *Shelf) forget(e *entry) {
	k.order.Remove(k.links[e.id])
	delete(k.links, e.id)
	k.bytes -= e.size
}

// use records that a link was made or opened again. The caller holds mu.
func (k *Shelf) use(at *list.Element) {
	k.order.MoveToBack(at)
	e, _ := at.Value.(*entry)
	now := k.now()
	if k.dir == "" || now.Sub(e.used) >= touchEvery {
		e.used = now
		if k.dir != "" {
			_ = os.Chtimes(filepath.Join(k.dir, e.id), now, now) // if this fails, it is dropped a bit earlier
		}
	}
}

// Keep keeps the link of s and returns its id.
func (k *Shelf) Keep(s State) (string, error) {
	text, err := Encode(s)
	if err != nil {
		return "", err
	}
	if len(text) > MaxPacked {
		return "", ErrTooLong
	}
	id := identify(text)
	k.mu.Lock()
	defer k.mu.Unlock()
	if at, there := k.links[id]; there {
		k.use(at)
		return id, nil
	}
	if err := k.makeRoom(len(text)); err != nil {
		return "", err
	}
	e := &entry{id: id, size: len(text), used: k.now()}
	if k.dir == "" {
		e.text = text
	} else if err := k.write(id, text); err != nil {
		return "", err
	}
	k.put(e)
	return id, nil
}

// identify returns the id for a text, from its digest. It must not end in - or
// _, which programs that find links in prose cut off.
func identify(text string) string {
	sum := sha256.Sum256([]byte(text))
	full := base64.RawURLEncoding.EncodeToString(sum[:])
	n := idLength
	for n < len(full) && strings.ContainsAny(full[n-1:n], "-_") {
		n++
	}
	return full[:n]
}

// unfinished is the prefix of files being written.
const unfinished = "new-"

// write creates the whole file or none.
func (k *Shelf) write(id, text string) error {
	path := filepath.Join(k.dir, id)
	f, err := os.CreateTemp(k.dir, unfinished+"*")
	if err != nil {
		return fmt.Errorf("link: keep: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("link: keep: %w", err), os.Remove(f.Name()))
	}
	return nil
}

var idForm = regexp.MustCompile(`^[A-Za-z0-9_-]{11,43}$`)

// Find returns the link kept under id. It fails with ErrNotKept.
func (k *Shelf) Find(id string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at, ok := k.links[id]
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
			return "", fmt.Errorf("link: find: %w", err)
		}
		text = string(data)
	}
	k.use(at)
	return text, nil
}
