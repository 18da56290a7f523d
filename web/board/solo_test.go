package board_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"relock/web/board"
)

// A log that a crash has cut anywhere in its last line has lost that line, and
// goes on.
func TestALogThatWasCut(t *testing.T) {
	const code = "K7M4XW"
	dir := t.TempDir()
	whole := writeLog(t, dir, code)
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for cut := last; cut < len(whole); cut++ {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, code+".jsonl"), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		s := solo(t, dir)
		for n, want := range []int{3, 4} {
			term, err := s.Lead(t.Context(), code)
			if err != nil {
				t.Fatal(err)
			}
			list, lost, err := term.Log(t.Context())
			if err != nil || lost || len(list) != want || list[want-1].Seq != int64(want) {
				t.Fatalf("cut at %d of %d: %d entries, want %d (%v)", cut, len(whole), len(list), want, err)
			}
			if n == 0 {
				err = term.Append(t.Context(), []board.Entry{{Seq: 4, Do: "again"}})
			}
			if err != nil {
				t.Fatal(err)
			}
			term.Resign()
			s.Close()
			s = solo(t, dir)
		}
		s.Close()
	}
}

// wholeState is a room that is new.
func wholeState(code string) *board.State {
	return &board.State{Code: code, Scene: board.Scene{Scenario: json.RawMessage(`{"threads":[{"name":"A"}]}`)}}
}

// writeLog returns the file of a log of four entries.
func writeLog(t *testing.T, dir, code string) []byte {
	t.Helper()
	s := solo(t, dir)
	defer s.Close()
	if err := s.Create(t.Context(), code, board.Entry{Seq: 1, Whole: wholeState(code)}); err != nil {
		t.Fatal(err)
	}
	term, err := s.Lead(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	defer term.Resign()
	for seq := int64(2); seq <= 4; seq++ {
		if err := term.Append(t.Context(), []board.Entry{{Seq: seq, Do: "step", Refused: "“not now”"}}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, code+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A room that nobody has come back to is deleted, as if it had been led.
func TestOldLogsAreDeleted(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-board.HostsAbsent - time.Minute)
	for _, name := range []string{"K7M4XW.jsonl", "K7M4XW.jsonl.new", "ABCDEF.jsonl", "notes.txt"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		if name == "ABCDEF.jsonl" {
			if err := os.Chtimes(path, time.Now(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
	}
	solo(t, dir)
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 2 || left[0].Name() != "ABCDEF.jsonl" || left[1].Name() != "notes.txt" {
		t.Errorf("left are %v", left)
	}
}

// A follower takes each entry once, also those before a whole one
// with which they came.
func TestAWholeEntryTakesNothingAway(t *testing.T) {
	const code = "K7M4XW"
	onSolo := map[string]string{"memory": "", "files": t.TempDir()}
	for name, dir := range onSolo {
		t.Run(name, func(t *testing.T) {
			s := solo(t, dir)
			defer s.Close()
			whole := func(seq int64) board.Entry { return board.Entry{Seq: seq, Whole: wholeState(code)} }
			if err := s.Create(t.Context(), code, whole(1)); err != nil {
				t.Fatal(err)
			}
			term, err := s.Lead(t.Context(), code)
			if err != nil {
				t.Fatal(err)
			}
			defer term.Resign()
			done := errors.New("has all")
			ctx, end := context.WithCancelCause(t.Context())
			defer end(nil)
			var got []int64
			err = s.Follow(ctx, code, func(list []board.Entry) {
				for _, e := range list {
					got = append(got, e.Seq)
				}
				switch got[len(got)-1] {
				case 1:
					if err := term.Append(t.Context(), []board.Entry{{Seq: 2}, {Seq: 3}, whole(4)}); err != nil {
						t.Error(err)
					}
				case 4:
					end(done)
				}
			})
			if !errors.Is(err, done) || len(got) != 4 {
				t.Errorf("it took %v: %v", got, err)
			}
			if list, _, _ := term.Log(t.Context()); len(list) != 1 || list[0].Seq != 4 {
				t.Errorf("the log begins with %+v", list)
			}
		})
	}
}

// A damaged file goes on from its last good line; the rest is kept aside, and the
// log says so. Without a good line the room cannot be read.
func TestADamagedFile(t *testing.T) {
	const code = "K7M4XW"
	good := string(writeLog(t, t.TempDir(), code))
	lines := strings.SplitAfter(good, "\n")
	for what, c := range map[string]struct {
		text string
		want int // entries, 0 for none
	}{
		"garbage at the end":         {good + "garbage\n", 4},
		"an empty object at the end": {good + "{}\n", 4},
		"a flipped line":             {lines[0] + lines[1] + "x" + lines[2] + lines[3], 2},
		"a line that is lacking":     {lines[0] + lines[1] + lines[3], 2},
		"a long line":                {good + strings.Repeat("x", 33<<20) + "\n", 4},
		"no scenario":                {good + `{"seq":5,"at":1,"whole":{}}` + "\n", 4},
		"what cannot be folded":      {good + `{"seq":5,"at":1,"moved":{"branch":0,"parent":0,"fork":0,"after":7,"move":0}}` + "\n", 4},
		"a flipped first line":       {"x" + good, 0},
		"only an empty object":       {"{}\n", 0},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, code+".jsonl")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			s := solo(t, dir)
			defer s.Close()
			var logged bytes.Buffer
			s.Log = slog.New(slog.NewTextHandler(&logged, nil))
			term, err := s.Lead(t.Context(), code)
			_, again := s.Exists(t.Context(), code)
			if n := strings.Count(logged.String(), "\n"); n != 1 || !strings.Contains(logged.String(), path) {
				t.Errorf("%d lines in the log: %s", n, logged.String())
			}
			left, _ := os.ReadFile(path)
			aside, _ := os.ReadFile(path + ".bad")
			if c.want == 0 {
				if !errors.Is(err, board.ErrSpoiled) || !errors.Is(again, board.ErrSpoiled) || string(left) != c.text {
					t.Errorf("%v, and %v", err, again)
				}
				return
			}
			if err != nil || string(left)+string(aside) != c.text || len(aside) == 0 {
				t.Fatalf("%v; of %d bytes %d are left and %d aside", err, len(c.text), len(left), len(aside))
			}
			list, _, err := term.Log(t.Context())
			if err != nil || len(list) != c.want {
				t.Errorf("%d entries, want %d (%v)", len(list), c.want, err)
			}
			if err := term.Append(t.Context(), []board.Entry{{Seq: int64(c.want + 1)}}); err != nil {
				t.Error(err)
			}
		})
	}
}

// Something named like a room that is no file does not trouble the journal.
func TestWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "K7M4XW.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "ABCDEF.jsonl")); err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, solo(t, dir))
	for _, code := range []string{"K7M4XW", "ABCDEF"} {
		if _, err := h.Room(t.Context(), code); !errors.Is(err, board.ErrSpoiled) || errors.Is(err, board.ErrUnreached) {
			t.Errorf("%s: %v", code, err)
		}
	}
}

// If a journal can no longer append, members hear so; when it can again, their repeated
// requests count.
func TestAFullDisk(t *testing.T) {
	j := &fullJournal{Solo: solo(t, "")}
	h := newHouse(t, j)
	code, secret := open(t, h)
	host := joinAs(t, h, code, board.Host, secret)
	host.mustDo(`{"do":"step"}`)
	j.full.Store(true)
	if refused := host.do(`{"do":"step"}`); !strings.EqualFold(strings.TrimSuffix(refused, "."), board.ErrUnreached.Error()) {
		t.Errorf("it says %q", refused)
	}
	late := enter(t, h, code)
	if refused := late.do(`{"do":"join","part":"audience"}`); refused == "" {
		t.Error("somebody has joined")
	}
	j.full.Store(false)
	if refused := host.give(host.id, `{"do":"step"}`); refused != "" {
		t.Error(refused)
	}
	if refused := late.do(`{"do":"join","part":"audience"}`); refused != "" {
		t.Error(refused)
	}
	if s := state(t, h, code); len(s.Branches[0].Moves) != 2 {
		t.Errorf("%d moves, want 2", len(s.Branches[0].Moves))
	}
}

// fullJournal is a journal that appends nothing while it is full.
type fullJournal struct {
	*board.Solo

	full atomic.Bool
}

func (j *fullJournal) Lead(ctx context.Context, code string) (board.Term, error) {
	term, err := j.Solo.Lead(ctx, code)
	return fullTerm{term, j}, err
}

type fullTerm struct {
	board.Term

	of *fullJournal
}

func (t fullTerm) Append(ctx context.Context, list []board.Entry) error {
	if t.of.full.Load() && len(list) > 0 {
		return syscall.ENOSPC
	}
	return t.Term.Append(ctx, list)
}

// Of a room that could not be written nothing is left.
func TestARoomThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	s := solo(t, dir)
	defer s.Close()
	broken := wholeState("K7M4XW")
	broken.Scenario = json.RawMessage("{")
	if err := s.Create(t.Context(), "K7M4XW", board.Entry{Seq: 1, Whole: broken}); err == nil {
		t.Error("it was written")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left are %v: %v", left, err)
	}
}
