package bound_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"relock/engine/bound"
)

func TestOperatorsReadTheBounds(t *testing.T) {
	text, err := os.ReadFile("../../lessons/docs/OPERATE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		fmt.Sprintf("| processor time to read an input, or to write a file | %d s |", int(bound.Work/time.Second)),
		fmt.Sprintf("| lists within lists of an answer, in a log or a trace | %d |", bound.Depth),
		fmt.Sprintf("| memory of a trace that is made from a log | %d MB |", bound.Held>>20),
		fmt.Sprintf("| a file that the server writes | %d MB |", bound.Written>>20),
	} {
		if !strings.Contains(string(text), row+"\n") {
			t.Errorf("OPERATE does not say %q", row)
		}
	}
}
