package trace_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"relock/engine/bound"
	"relock/engine/bound/boundtest"
	"relock/engine/racetest"
	"relock/engine/trace"
)

const head = `{"relock":1,"scenario":{},"store":"embedded","clock":"virtual"}` + "\n"

// replied is a command whose reply has lists within lists.
func replied(seq, depth int) string {
	return fmt.Sprintf(`{"seq":%d,"step":1,"at_ms":0,"thread":"A","kind":"command","call":"lock","attempt":1,"level":1,"args":["GET","k"],"reply":%s"a"%s,"key":{"type":"none","pttl_ms":-2},"belief":{"A":9000000000000}}`+"\n",
		seq, strings.Repeat("[", depth), strings.Repeat("]", depth))
}

func TestRepliesAreAsDeepAsABoundSays(t *testing.T) {
	for depth, fine := range map[int]bool{0: true, bound.Depth: true, bound.Depth + 1: false, 5000: false} {
		h, events, err := trace.Read(t.Context(), strings.NewReader(head+replied(1, depth)))
		if err != nil {
			t.Fatal(err)
		}
		switch err := trace.Check(h, events, []string{"A"}); {
		case fine && err != nil:
			t.Errorf("%d deep: %v", depth, err)
		case !fine && (!errors.Is(err, trace.ErrMalformed) || err.Error() != "line 2: its reply has lists within lists, more than 100 deep; allowed: 100"):
			t.Errorf("%d deep: %v", depth, err)
		}
	}
}

func TestGrowthOfReadingATrace(t *testing.T) {
	racetest.Skip(t)
	for name, text := range map[string]func(n int) string{
		"events": func(n int) string {
			var b strings.Builder
			for i := range n {
				b.WriteString(replied(i+1, 2))
			}
			return b.String()
		},
		"a wide reply": func(n int) string {
			return strings.Replace(replied(1, 0), `"reply":"a"`, `"reply":[`+strings.Repeat(`"a",`, 50*n)+`"a"]`, 1)
		},
		"many owners": func(n int) string {
			var fields []string
			for i := range 20 * n {
				fields = append(fields, fmt.Sprintf(`"o%d":"1"`, i))
			}
			return strings.Replace(replied(1, 0), `"type":"none"`, `"type":"hash","fields":{`+strings.Join(fields, ",")+`}`, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			boundtest.Linear(t, func(times int) func() {
				text := head + text(200*times)
				return func() {
					h, events, err := trace.Read(t.Context(), strings.NewReader(text))
					if err == nil {
						err = trace.Check(h, events, []string{"A"})
					}
					if err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}
