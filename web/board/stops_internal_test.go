package board

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Wherever a host stopped for 20 s, or asked, the lesson that is made from a log has a
// place, wherever the log begins.
func TestStops(t *testing.T) {
	b := newBench(t, "lease-expiry; h host; a play A")
	log := []Entry{{Seq: 1, At: b.now.UnixMilli(), Whole: b.f.state.clone()}}
	id := map[string]int{}
	do := func(who string, words ...string) {
		was := b.f.state.Seq
		if words[0] == "+" {
			b.decide(t, []string{"+" + words[1]})
			return
		}
		id[who]++
		c := commandOf(t, words[0], words[1:])
		c["id"] = id[who]
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := ParseCommand(Class, text)
		if err != nil {
			t.Fatal(err)
		}
		list := b.f.decide(t.Context(), Request{Conn: "x/" + who, Member: who, Lang: "en", Command: parsed})
		if list[0].Refused != "" || b.f.state.Seq == was {
			t.Fatal(words, list)
		}
		log = append(log, list...)
	}
	do("h", "step", "A") // left at once: no stop
	do("h", "step", "B")
	do("h", "+", "19s")
	do("h", "step") // nor is this
	do("h", "+", "20s")
	do("h", "ask", "predict") // where it stood, asked
	do("h", "close")
	do("h", "step")
	do("h", "+", "21s")
	do("h", "open", "fenced-late-write") // where it stood
	do("h", "+", "60s")
	do("a", "step", "A") // a player goes on: the host has not stopped here
	do("h", "+", "60s")
	do("h", "hold") // the log's end

	told := func(stops []Stop) string {
		var list []string
		for _, s := range stops {
			text := fmt.Sprint(len(s.Moves))
			if s.Held {
				text += " held"
			}
			if s.Question != nil {
				text += " asked"
			}
			list = append(list, text)
		}
		return strings.Join(list, ", ")
	}
	if got, want := told(Stops(log)), "0, 3 asked, 4, 0, 1 held"; got != want {
		t.Errorf("stops at %s, want %s", got, want)
	}
	whole := []Entry{{Seq: 99, At: b.now.UnixMilli(), Whole: b.f.state.clone()}}
	if got, want := told(Stops(whole)), "0 held, 3 held asked, 0 held"; got != want {
		t.Errorf("of a log that begins again: %s, want %s", got, want)
	}
	if got := Stops(nil); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}
