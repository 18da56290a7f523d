package film_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"relock/web/film"
)

// What is told below a picture has each word once, within its column, and the
// columns are read one after the other.
func TestToldIsSetInColumns(t *testing.T) {
	var list []film.Sentence
	for range 12 {
		list = append(list,
			film.Sentence{Time: "T5", At: "62 ms", Why: "A has the lock at retry 3: hold count 1, and a lease of 200 ms. A's whole process is paused for 300 ms, and only 200 ms of its lease are left."},
			film.Sentence{Time: "T6", At: "1,062 ms", Why: strings.Repeat("x", 300), Broken: true, Beliefs: []string{"A 以为：我持有锁，1 次。Redis 里并没有。5 个节点中 2 个知道，不够。节点 2、节点 3、节点 4 都没有。"}},
			film.Sentence{Time: "T7", At: "1,063 ms"},
		)
	}
	for _, width := range []float64{100, 500, 1000, 3000} {
		told := film.Tell(width, list)
		if told.Width < width {
			t.Errorf("%v: only %v wide", width, told.Width)
		}
		text, x, y, columns := "", 0.0, 0.0, 1
		for _, l := range told.Lines {
			if l.X < 0 || l.X+5*float64(utf8.RuneCountInString(l.Text)) > told.Width || l.Y > told.Height {
				t.Errorf("%v: %q at %v, %v is not within %v, %v", width, l.Text, l.X, l.Y, told.Width, told.Height)
			}
			if l.Y < y {
				columns++
				if l.X <= x {
					t.Errorf("%v: %q at %v, %v is above what comes before it", width, l.Text, l.X, l.Y)
				}
				x = l.X
			}
			y = l.Y
			if first, _ := utf8.DecodeRuneInString(l.Text); strings.ContainsRune("，。：、", first) {
				t.Errorf("%v: a line begins with %q", width, l.Text)
			}
			if l.Kind == film.ToldWhy || l.Kind == film.ToldBad {
				text += l.Text
			}
		}
		if want := max(int((told.Width+28)/488), 1); columns != want {
			t.Errorf("%v: %d columns, want %d", width, columns, want)
		}
		want := ""
		for _, s := range list {
			want += s.Why + strings.Join(s.Beliefs, "")
		}
		if bare := strings.NewReplacer(" ", ""); bare.Replace(text) != bare.Replace(want) {
			t.Errorf("%v: told is %q", width, text)
		}
	}
	if told := film.Tell(500, nil); len(told.Lines) > 0 || told.Height > 0 {
		t.Errorf("of nothing there is %+v", told)
	}
}
