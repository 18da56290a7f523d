package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// If it cannot serve from a folder, it says so at the start.
func TestServeSaysWhatItCannotServeFrom(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const unwritable = "/proc/self/fdinfo" // for root, too
	endless := filepath.Join(dir, "endless", "chapter")
	long := filepath.Join(dir, "long", "chapter")
	for _, folder := range []string{endless, long} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/dev/zero", filepath.Join(endless, "chapter.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(long, "chapter.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(long, "chapter.yaml"), 1<<40); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flag, value string
		code        int
		says        string
	}{
		{"-links", file, 1, "-links " + file + ": it cannot be written: "},
		{"-rooms", file, 1, "-rooms " + file + ": it cannot be written: "},
		{"-rooms", filepath.Join(file, "rooms"), 1, "it cannot be written: "},
		{"-links", unwritable, 1, "-links " + unwritable + ": it cannot be written: "},
		{"-rooms", unwritable, 1, "-rooms " + unwritable + ": it cannot be written: "},
		{"-course", filepath.Dir(endless), 2, "chapter/chapter.yaml is no regular file"},
		{"-course", filepath.Dir(long), 2, "chapter/chapter.yaml is too large: a file may have 1024 KiB"},
	} {
		got := playground(t, "", "serve", "-addr", "127.0.0.1:0", c.flag, c.value)
		if got.code != c.code || !strings.Contains(got.err, c.says) {
			t.Errorf("%s %s: exit code %d, want %d; it says %q, want %q", c.flag, c.value, got.code, c.code, got.err, c.says)
		}
	}
	if there, err := os.ReadDir(dir); err != nil || len(there) != 3 {
		t.Errorf("it leaves %v, %v", there, err)
	}
}
