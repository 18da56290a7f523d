package link

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Limits of a shelf in memory; one on disk is as large as the disk.
const (
	maxKept      = 10_000
	maxKeptBytes = 32 << 20
)

// idLength is how many characters of a digest name a link: 66 bits.
const idLength = 11

// ErrNotKept is returned for an id under which nothing is kept.
var ErrNotKept = errors.New("nothing is kept under this address; it may be mistyped, or older than the server's memory")

// Shelf keeps links under short ids: the same link has the same id. It is
// safe for concurrent use.
type Shelf struct {
	dir string

	mu    sync.Mutex
	links map[string]string
	order []string // of ids, oldest first
	bytes int
}

// NewShelf keeps links in the files of a folder, or in memory where dir is
// "": then the oldest go when it is full, and all with the process. It fails
// where the folder cannot be made.
func NewShelf(dir string) (*Shelf, error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("link: %w", err)
		}
	}
	return &Shelf{dir: dir, links: map[string]string{}}, nil
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
	if k.dir != "" {
		return id, k.write(id, text)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, there := k.links[id]; there {
		return id, nil
	}
	for len(k.order) > 0 && (len(k.order) >= maxKept || k.bytes+len(text) > maxKeptBytes) {
		k.bytes -= len(k.links[k.order[0]])
		delete(k.links, k.order[0])
		k.order = k.order[1:]
	}
	k.links[id] = text
	k.order = append(k.order, id)
	k.bytes += len(text)
	return id, nil
}

// identify names a text by its digest. Programs that find links in prose drop
// a - or _ at their end.
func identify(text string) string {
	sum := sha256.Sum256([]byte(text))
	full := base64.RawURLEncoding.EncodeToString(sum[:])
	n := idLength
	for n < len(full) && strings.ContainsAny(full[n-1:n], "-_") {
		n++
	}
	return full[:n]
}

// write makes the whole file or none.
func (k *Shelf) write(id, text string) error {
	path := filepath.Join(k.dir, id)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	f, err := os.CreateTemp(k.dir, "new-*")
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

// Find returns the link that is kept under id. It fails with ErrNotKept.
func (k *Shelf) Find(id string) (string, error) {
	if !idForm.MatchString(id) {
		return "", ErrNotKept
	}
	if k.dir != "" {
		text, err := os.ReadFile(filepath.Join(k.dir, id)) //nolint:gosec // the form has no path in it
		if errors.Is(err, fs.ErrNotExist) {
			return "", ErrNotKept
		}
		if err != nil {
			return "", fmt.Errorf("link: find: %w", err)
		}
		return string(text), nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	text, ok := k.links[id]
	if !ok {
		return "", ErrNotKept
	}
	return text, nil
}
