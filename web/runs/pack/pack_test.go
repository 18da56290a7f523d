package pack_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"relock/web/runs/pack"
	"relock/web/runs/pack/packtest"
)

func TestWhoComesInAnywhereReadsAllThatFollows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := pack.New(3)
	var readers []*packtest.Reader
	for n := range 60 {
		r := packtest.NewReader(3)
		if texts, err := r.Record(s.Start()); err != nil || len(texts) > 0 {
			t.Fatalf("the start before record %d: %d texts, %v", n, len(texts), err)
		}
		readers = append(readers, r)
		length := []int{0, 20, 3000, pack.Window - 1, pack.Window, 2*pack.Window + 17}[random.IntN(6)]
		want := []string{strings.Repeat(fmt.Sprintf("<tr id=%d>", n), length/8+1)[:length], fmt.Sprint(n), ""}
		if n%7 == 3 {
			s.Pass([]byte("what nobody read")) // those who were there have missed it
			readers = nil
			continue
		}
		part := s.Add([]byte(want[0]), []byte(want[1]))
		for i, r := range readers {
			if got, err := r.Record(part); err != nil || !slices.Equal(got, want) {
				t.Fatalf("record %d: reader %d of %d reads %.40q, %v; want %.40q", n, i, len(readers), got, err, want)
			}
		}
	}
}

func TestWhatWasSaidBeforeCostsLittle(t *testing.T) {
	s := pack.New(2)
	record := func(n int) (row, other []byte) {
		return fmt.Appendf(nil, `<tr id="row-%d">%s</tr>`, n, strings.Repeat("what every row has, more or less; ", 40)),
			[]byte(strings.Repeat("and something else, ", 1500))
	}
	first := len(s.Add(record(1)))
	s.Add(record(2))
	if again := len(s.Add(record(3))); again > 260 || again > first {
		t.Errorf("a record takes %d bytes and one like it %d more", first, again)
	}
}

func BenchmarkAdd(b *testing.B) {
	s := pack.New(1)
	text := []byte(strings.Repeat("<td class=\"cell\">working, level 1</td>", 80))
	for b.Loop() {
		s.Add(text)
	}
}
