package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
)

// An error is the same at both ends of the pipe, whatever it says.
func TestAnErrorKeepsItsKindOverThePipe(t *testing.T) {
	over := func(err error) error {
		data, failed := json.Marshal(refusalOf(err))
		if failed != nil {
			t.Fatal(failed)
		}
		var r refused
		if failed := json.Unmarshal(data, &r); failed != nil {
			t.Fatal(failed)
		}
		return r.err()
	}
	for _, err := range []error{ErrNoChoice, ErrSteering, ErrNobody, ErrTooLong, errClosed} {
		for _, sent := range []error{err, fmt.Errorf("it says more: %w", err)} {
			if got := over(sent); !errors.Is(got, err) {
				t.Errorf("%q comes as %q", sent, got)
			}
		}
		if got := over(errors.New(err.Error())); errors.Is(got, err) || got.Error() != err.Error() {
			t.Errorf("another error that says %q comes as %v", err, got)
		}
	}
	var roundless *RoundlessError
	if got := over(&RoundlessError{"B"}); !errors.As(got, &roundless) || roundless.Thread != "B" {
		t.Errorf("a thread without rounds comes as %v", got)
	}
	var diverged *DivergedError
	if got := over(&DivergedError{Divergence{Have: "GET k"}}); !errors.As(got, &diverged) || diverged.Have != "GET k" {
		t.Errorf("a divergence comes as %v", got)
	}
	var worker *WorkerError
	if got := over(&WorkerError{Thread: "C"}); !errors.As(got, &worker) || worker.Thread != "C" {
		t.Errorf("a worker's fault comes as %v", got)
	}
}
