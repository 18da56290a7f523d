package room_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"relock/web/room"
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
				err = term.Append(t.Context(), []room.Entry{{Seq: 4, Do: "again"}})
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

// writeLog returns the file of a log of four entries.
func writeLog(t *testing.T, dir, code string) []byte {
	t.Helper()
	s := solo(t, dir)
	defer s.Close()
	if err := s.Create(t.Context(), code, room.Entry{Seq: 1, Whole: &room.State{Code: code}}); err != nil {
		t.Fatal(err)
	}
	term, err := s.Lead(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	defer term.Resign()
	for seq := int64(2); seq <= 4; seq++ {
		if err := term.Append(t.Context(), []room.Entry{{Seq: seq, Do: "step", Refused: "“not now”"}}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, code+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// What nobody has come back to is deleted, as if the room had been led.
func TestOldLogsAreDeleted(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-room.HostsAbsent - time.Minute)
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

// Whoever follows a log takes each entry once, also those before a whole one
// with which they came.
func TestAWholeEntryTakesNothingAway(t *testing.T) {
	const code = "K7M4XW"
	onSolo := map[string]string{"memory": "", "files": t.TempDir()}
	for name, dir := range onSolo {
		t.Run(name, func(t *testing.T) {
			s := solo(t, dir)
			defer s.Close()
			whole := func(seq int64) room.Entry { return room.Entry{Seq: seq, Whole: &room.State{Code: code}} }
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
			err = s.Follow(ctx, code, func(list []room.Entry) {
				for _, e := range list {
					got = append(got, e.Seq)
				}
				switch seq := got[len(got)-1]; {
				case seq == 1:
					if err := term.Append(t.Context(), []room.Entry{{Seq: 2}, {Seq: 3}, whole(4)}); err != nil {
						t.Error(err)
					}
				case seq == 4:
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
