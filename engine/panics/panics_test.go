package panics_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"relock/engine/panics"
)

func TestCatch(t *testing.T) {
	if err := panics.Catch(func() error { return nil }); err != nil {
		t.Errorf("nothing went wrong: %v", err)
	}
	if err := panics.Catch(func() error { return io.EOF }); !errors.Is(err, io.EOF) {
		t.Errorf("%v, want what was returned", err)
	}
	err := panics.Catch(planted)
	var caught *panics.Error
	if !errors.As(err, &caught) || !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "panics_test.planted") {
		t.Errorf("%v, want the value and where it was panicked with", err)
	}
}

func planted() error { panic(io.ErrUnexpectedEOF) }

// A panic handed on from another goroutine shows where it began.
func TestAPanicKeepsItsFirstStack(t *testing.T) {
	first := panics.Try(func() { _ = planted() })
	again := panics.Try(func() { panic(first) })
	if again != first {
		t.Errorf("%v, want %v", again, first)
	}
}

func TestTryLetsGoexitPass(t *testing.T) {
	ended := make(chan *panics.Error, 1)
	t.Run("goexit", func(t *testing.T) {
		defer close(ended)
		ended <- panics.Try(t.SkipNow)
	})
	if _, returned := <-ended; returned {
		t.Error("Try returned")
	}
}
