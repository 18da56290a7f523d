package board

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"relock/engine/panics"
)

// Solo is the journal of a server that shares its rooms with no other: in the
// files of a folder, or in memory.
type Solo struct {
	// Log hears of damaged files, once of each. It may be nil, and must be set before the
	// first room.
	Log *slog.Logger

	dir    string // "" for memory
	server string

	mu    sync.Mutex
	books map[string]*book
	swept time.Time
	noted map[string]bool // codes of files that Log knows of
}

// book is a room's log, as far as it is needed, and what waits to be decided.
type book struct {
	mu       sync.Mutex
	entries  []Entry
	whole    int      // the index of the newest whole entry
	file     *os.File // nil in memory
	size     int64    // of the file's whole lines, in bytes
	grown    chan struct{}
	requests []Request
	waiting  chan struct{} // of capacity 1: there are requests
	led      chan struct{} // of capacity 1: full while somebody leads
	deleted  bool
}

// NewSolo keeps rooms in files of a folder, which it creates, or in memory if dir
// is "". No other file in the folder may have a name like a room's log.
func NewSolo(dir string) (*Solo, error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("board: the folder of rooms: %w", err)
		}
	}
	s := &Solo{dir: dir, server: NewCode(), books: map[string]*book{}, noted: map[string]bool{}}
	return s, s.sweep(time.Now())
}

// Server implements Journal.
func (s *Solo) Server() string { return s.server }

// Gone implements Journal: this process is the only server.
func (s *Solo) Gone(servers []string) []string {
	return slices.DeleteFunc(slices.Clone(servers), func(one string) bool { return one == s.server })
}

// Rest implements Journal: nobody else leads the room.
func (s *Solo) Rest() time.Duration { return 0 }

// Close implements Journal.
func (s *Solo) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.books {
		b.mu.Lock()
		b.shut()
		b.mu.Unlock()
	}
	s.books = map[string]*book{}
}

// shut closes the file. The caller holds mu.
func (b *book) shut() {
	if b.file != nil {
		_ = b.file.Close() // each append was synced
		b.file = nil
	}
}

const (
	extension  = ".jsonl"
	unfinished = ".new" // after it: a log that is begun again
	bad        = ".bad" // after it: what could not be read of a log
	maxLine    = 32 << 20
	sweepEvery = time.Hour

	mostRequests = 10_000 // that wait to be decided
)

func (s *Solo) path(code string) string { return filepath.Join(s.dir, code+extension) }

// book returns the log of a room. It fails with ErrNoRoom.
func (s *Solo) book(code string) (*book, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.books[code]; b != nil {
		return b, nil
	}
	if s.dir == "" {
		return nil, ErrNoRoom
	}
	b, err := s.read(code)
	if errors.Is(err, ErrSpoiled) {
		s.note(code, err)
	}
	if err != nil {
		return nil, err
	}
	s.books[code] = b
	return b, nil
}

// note logs what is wrong with a file, once.
func (s *Solo) note(code string, err error) {
	if s.Log != nil && !s.noted[code] {
		s.noted[code] = true
		s.Log.Error("rooms: a damaged file", slog.String("file", s.path(code)), slog.String("error", err.Error()))
	}
}

// read reads a room's file. If a crash has cut off the last entry, nobody has heard of
// it, and it is dropped; any other unreadable rest is kept aside. It fails with ErrNoRoom
// and ErrSpoiled. The caller holds mu.
func (s *Solo) read(code string) (*book, error) {
	path := s.path(code)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNoRoom
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: it is no regular file: %v", ErrSpoiled, info.Mode().Type())
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0o600) //nolint:gosec // its name is a code
	if err != nil {
		return nil, fmt.Errorf("%w: open the log: %w", ErrSpoiled, err)
	}
	list, size, err := readLog(file)
	if err != nil && len(list) > 0 {
		if err = setAside(path+bad, file, size, err); err == nil || errors.Is(err, errSetAside) {
			s.note(code, err)
			err = nil
		}
	}
	if err == nil {
		err = file.Truncate(size)
	}
	if err == nil && len(list) == 0 {
		err = ErrNoRoom
	}
	switch {
	case errors.Is(err, ErrNoRoom), err != nil:
		_ = file.Close() // the first error says more
		if !errors.Is(err, ErrNoRoom) {
			err = fmt.Errorf("%w: %w", ErrSpoiled, err)
		}
		return nil, err
	}
	b := newBook(list)
	b.file, b.size = file, size
	return b, nil
}

// errSetAside: the end of a log could not be read, and is kept aside.
var errSetAside = errors.New("what follows its last good line is in the file of that name that ends with " + bad)

// setAside keeps what a file has after so many bytes, for why. It returns why, and
// that it is kept.
func setAside(path string, file *os.File, from int64, why error) error {
	aside, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600) //nolint:gosec // its name is a code
	if err != nil {
		return errors.Join(why, err)
	}
	_, err = file.Seek(from, io.SeekStart)
	if err == nil {
		_, err = io.Copy(aside, file)
	}
	if err = errors.Join(err, aside.Sync(), aside.Close()); err != nil {
		return errors.Join(why, err)
	}
	return fmt.Errorf("%w; %w", why, errSetAside)
}

func newBook(list []Entry) *book {
	return &book{entries: list, grown: make(chan struct{}), waiting: make(chan struct{}, 1), led: make(chan struct{}, 1)}
}

// readLog reads the whole lines of a log, and tells how many bytes they are. With
// an error it returns those before the line that cannot be one.
func readLog(r io.Reader) (list []Entry, size int64, err error) {
	lines := bufio.NewReader(r)
	state := &State{}
	for n := 1; ; n++ {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return list, size, nil
		}
		var e Entry
		if err == nil {
			err = json.Unmarshal(line, &e)
		}
		if err == nil {
			err = state.follows(e)
		}
		if err != nil {
			return list, size, fmt.Errorf("board: line %d: %w", n, err)
		}
		if e.Whole != nil {
			list = nil
		}
		list, size = append(list, e), size+int64(len(line))
	}
}

// readLine reads up to the next newline. It fails with io.EOF if there is none,
// and if the line is longer than a log's.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > maxLine:
			return nil, fmt.Errorf("it is longer than %d MB", maxLine>>20)
		}
	}
}

// follows folds an entry of a log, if it can be the next.
func (s *State) follows(e Entry) error {
	switch {
	case e.Whole == nil && s.Seq == 0:
		return errors.New("a log begins with a whole entry")
	case s.Seq > 0 && e.Seq != s.Seq+1 || e.Seq < 1:
		return fmt.Errorf("entry %d follows entry %d", e.Seq, s.Seq)
	}
	scene := e.Scene
	if e.Whole != nil {
		scene = &e.Whole.Scene
	}
	if scene != nil {
		if _, err := newRun(scene.Scenario); err != nil {
			return err
		}
	}
	return panics.Catch(func() error {
		s.Fold(e)
		return nil
	})
}

// Create implements Journal.
func (s *Solo) Create(_ context.Context, code string, first Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.books[code] != nil {
		return ErrTaken
	}
	if err := s.sweep(time.Now()); err != nil {
		return err
	}
	b, path := newBook(nil), s.path(code)
	if s.dir != "" {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // its name is a code
		if errors.Is(err, fs.ErrExist) {
			return ErrTaken
		}
		if err != nil {
			return fmt.Errorf("board: create the log: %w", err)
		}
		b.file = file
	}
	if err := b.write([]Entry{first}); err != nil {
		b.shut()
		return errors.Join(err, os.Remove(path))
	}
	b.entries = []Entry{first}
	s.books[code] = b
	return nil
}

// write appends to the file. The caller holds mu, or has the only reference.
func (b *book) write(list []Entry) error {
	if b.file == nil {
		return nil
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	for _, e := range list {
		if err := enc.Encode(e); err != nil {
			return fmt.Errorf("board: %w", err)
		}
	}
	_, err := b.file.WriteAt(text.Bytes(), b.size)
	if err == nil {
		err = b.file.Sync()
	}
	if err != nil {
		// Half a line would spoil those that follow.
		return errors.Join(fmt.Errorf("board: write the log: %w", err), b.file.Truncate(b.size))
	}
	b.size += int64(text.Len())
	return nil
}

// renew begins the file again with what is needed from now on. The caller holds
// mu.
func (b *book) renew(path string, list []Entry) error {
	if b.file == nil {
		return nil
	}
	file, err := os.OpenFile(path+unfinished, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600) //nolint:gosec // its name is a code
	if err != nil {
		return fmt.Errorf("board: begin the log again: %w", err)
	}
	fresh := book{file: file}
	if err = fresh.write(list); err == nil {
		err = os.Rename(path+unfinished, path)
	}
	if err != nil {
		fresh.shut()
		_ = os.Remove(path + unfinished) // the first error says more
		return fmt.Errorf("board: begin the log again: %w", err)
	}
	b.shut()
	b.file, b.size = file, fresh.size
	return nil
}

// Exists implements Journal.
func (s *Solo) Exists(_ context.Context, code string) (bool, error) {
	_, err := s.book(code)
	if errors.Is(err, ErrNoRoom) {
		return false, nil
	}
	return err == nil, err
}

// Made implements Journal. It counts rooms of an earlier server only once somebody
// comes back to them.
func (s *Solo) Made(_ context.Context, by string) (codes []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for code, b := range s.books {
		b.mu.Lock()
		if len(b.entries) > b.whole && b.entries[b.whole].Whole.By == by {
			codes = append(codes, code)
		}
		b.mu.Unlock()
	}
	return codes, nil
}

// sweep removes rooms to which nobody has come back since a server before this
// one. The caller holds mu.
func (s *Solo) sweep(now time.Time) error {
	if s.dir == "" || now.Sub(s.swept) < sweepEvery {
		return nil
	}
	s.swept = now
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("board: the folder of rooms: %w", err)
	}
	for _, f := range files {
		code, ours := strings.CutSuffix(strings.TrimSuffix(strings.TrimSuffix(f.Name(), unfinished), bad), extension)
		if parsed, err := ParseCode(code); !ours || err != nil || parsed != code || s.books[code] != nil {
			continue
		}
		if info, err := f.Info(); err != nil || now.Sub(info.ModTime()) < HostsAbsent {
			continue
		}
		if err := os.Remove(filepath.Join(s.dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("board: delete an old log: %w", err)
		}
	}
	return nil
}

// Follow implements Journal.
func (s *Solo) Follow(ctx context.Context, code string, take func([]Entry)) error {
	b, err := s.book(code)
	if err != nil {
		return err
	}
	var after int64
	for {
		b.mu.Lock()
		fresh, err := b.since(after)
		grown, deleted := b.grown, b.deleted
		b.mu.Unlock()
		switch {
		case err != nil:
			return err
		case len(fresh) > 0:
			take(fresh)
			after = fresh[len(fresh)-1].Seq
			continue
		case deleted:
			return ErrNoRoom
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// since returns the entries after a seq, from the newest whole one on after 0.
// It fails with ErrBroken where they are not kept any more. The caller holds
// mu.
func (b *book) since(after int64) ([]Entry, error) {
	if len(b.entries) == 0 {
		return nil, nil
	}
	from := b.whole
	if after > 0 {
		from = int(after + 1 - b.entries[0].Seq) // there is no gap
	}
	if from < 0 || from > len(b.entries) {
		return nil, ErrBroken
	}
	return b.entries[from:len(b.entries):len(b.entries)], nil
}

// Send implements Journal.
func (s *Solo) Send(_ context.Context, code string, o Request) error {
	b, err := s.book(code)
	if err != nil {
		return err
	}
	b.mu.Lock()
	busy := len(b.requests) >= mostRequests && !o.Left // who has left does not come again to say so
	if !busy {
		b.requests = append(b.requests, o)
	}
	b.mu.Unlock()
	if busy {
		return ErrBusy
	}
	select {
	case b.waiting <- struct{}{}:
	default:
	}
	return nil
}

// Lead implements Journal.
func (s *Solo) Lead(ctx context.Context, code string) (Term, error) {
	b, err := s.book(code)
	if err != nil {
		return nil, err
	}
	select {
	case b.led <- struct{}{}:
		return &soloTerm{b, s.path(code)}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Delete implements Journal.
func (s *Solo) Delete(_ context.Context, code string) error {
	b, err := s.book(code)
	if errors.Is(err, ErrNoRoom) {
		return nil
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.books, code)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deleted = true
	b.tell()
	b.shut()
	if s.dir != "" {
		if err := os.Remove(s.path(code)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("board: delete the log: %w", err)
		}
	}
	return nil
}

// tell wakes the followers. The caller holds mu.
func (b *book) tell() {
	close(b.grown)
	b.grown = make(chan struct{})
}

type soloTerm struct {
	*book

	path string
}

// Log implements Term.
func (t *soloTerm) Log(context.Context) (list []Entry, lost bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list, err = t.since(0)
	return list, false, err
}

// Next implements Term.
func (t *soloTerm) Next(ctx context.Context, deadline time.Time) ([]Request, error) {
	var due <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		due = timer.C
	}
	for {
		t.mu.Lock()
		requests, deleted := t.requests, t.deleted
		t.requests = nil
		t.mu.Unlock()
		switch {
		case deleted:
			return nil, ErrNoRoom
		case len(requests) > 0:
			return requests, nil
		}
		select {
		case <-t.waiting:
		case <-due:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Append implements Term.
func (t *soloTerm) Append(_ context.Context, list []Entry) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.deleted:
		return ErrNoRoom
	case len(list) == 0:
		return nil
	}
	whole := lastWhole(list)
	if whole < 0 {
		if err := t.write(list); err != nil {
			return err
		}
		t.entries = append(t.entries, list...)
		t.tell()
		return nil
	}
	if err := t.renew(t.path, list[whole:]); err != nil {
		return err
	}
	// A follower has yet to take what came before the whole entry.
	kept := t.entries[max(0, len(t.entries)-Overlap):]
	t.entries = slices.Concat(kept, list)
	t.whole = len(kept) + whole
	t.tell()
	return nil
}

// lastWhole returns the index of the newest whole entry, or -1.
func lastWhole(list []Entry) int {
	for i, e := range slices.Backward(list) {
		if e.Whole != nil {
			return i
		}
	}
	return -1
}

// Resign implements Term.
func (t *soloTerm) Resign() { <-t.led }
