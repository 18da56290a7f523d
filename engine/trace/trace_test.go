package trace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"relock/engine/trace"
)

func TestEventsAreOneFlatLineEach(t *testing.T) {
	value := "x"
	hash := trace.KeyState{Type: "hash", Fields: map[string]string{"b": "2", "a": "1"}, PTTL: -1}
	for _, c := range []struct {
		body trace.Body
		key  trace.KeyState
		want string // between thread and the end
	}{
		{
			trace.Command{Call: "lock", Attempt: 1, Level: 1, Script: "lock.lua", Line: 10, Args: []string{"EXISTS", "k"}, Reply: int64(0)},
			trace.Absent(),
			`"kind":"command","call":"lock","attempt":1,"level":1,"script":"lock.lua","line":10,"args":["EXISTS","k"],"reply":0,"key":{"type":"none","pttl_ms":-2},"belief":{"A":2}}`,
		},
		{
			trace.Command{Call: "lock", Attempt: 2, Level: 1, Args: []string{"GET", "k"}, Error: "WRONGTYPE"},
			hash,
			`"kind":"command","call":"lock","attempt":2,"level":1,"args":["GET","k"],"reply":null,"error":"WRONGTYPE","key":{"type":"hash","fields":{"a":"1","b":"2"},"pttl_ms":-1},"belief":{"A":2}}`,
		},
		{
			trace.Outcome{Call: "unlock", Result: trace.Released, Level: 1, Attempt: 1},
			trace.KeyState{Type: "string", Value: &value, PTTL: 7},
			`"kind":"outcome","call":"unlock","result":"released","count":0,"level":1,"attempt":1,"key":{"type":"string","value":"x","pttl_ms":7},"belief":{"A":2}}`,
		},
		{trace.Work{State: "begin", Level: 1, For: 62.5}, trace.Absent(), `"kind":"work","state":"begin","level":1,"for_ms":62.5,"key":{"type":"none","pttl_ms":-2},"belief":{"A":2}}`},
		{trace.Wait{For: 50, Why: "retry"}, trace.Absent(), `"kind":"wait","for_ms":50,"why":"retry","key":{"type":"none","pttl_ms":-2},"belief":{"A":2}}`},
		{trace.Fault{Do: "pause", At: "work", Level: 1, Round: 1, For: "300ms", ForMS: 300}, trace.Absent(), `"kind":"fault","do":"pause","at":"work","level":1,"round":1,"for":"300ms","for_ms":300,"key":{"type":"none","pttl_ms":-2},"belief":{"A":2}}`},
		{trace.Expired{Was: hash}, trace.Absent(), `"kind":"expired","was":{"type":"hash","fields":{"a":"1","b":"2"},"pttl_ms":-1},"key":{"type":"none","pttl_ms":-2},"belief":{"A":2}}`},
		{trace.Violation{Rule: "orphan", Threads: []string{"A"}, Detail: "d", Events: []int{1, 2}}, trace.Absent(), `"kind":"violation","rule":"orphan","threads":["A"],"detail":"d","events":[1,2],"key":{"type":"none","pttl_ms":-2},"belief":{"A":2}}`},
		{trace.End{Result: trace.Done}, trace.Absent(), `"kind":"end","result":"done","key":{"type":"none","pttl_ms":-2},"belief":{"A":2}}`},
	} {
		e := trace.Event{Seq: 3, Step: 2, At: trace.MillisOf(66666666 * time.Nanosecond), Thread: "A", Body: c.body, Key: c.key, Belief: map[string]int{"A": 2}}
		got, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := c.body.(trace.Command); ok && n.Reply != nil {
			var again trace.Event
			if err := json.Unmarshal(got, &again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.body, again.Body); diff != "" {
				t.Error("read again:", diff)
			}
		}
		if want := `{"seq":3,"step":2,"at_ms":66.667,"thread":"A",` + c.want; string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		var again trace.Event
		if err := json.Unmarshal(got, &again); err != nil {
			t.Fatal(err)
		}
		twice, err := json.Marshal(again)
		if err != nil || !bytes.Equal(got, twice) {
			t.Errorf("read and written again: %s, %v", twice, err)
		}
	}
}

// The trace says who is leaving, if anybody is.
func TestWhoIsLeavingIsWritten(t *testing.T) {
	for _, leaving := range [][]string{nil, {"A", "B"}} {
		e := event(1)
		e.Leaving = leaving
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.HasSuffix(string(text), `,"leaving":["A","B"]}`), leaving != nil; got != want {
			t.Errorf("%v: %s", leaving, text)
		}
		if leaving == nil && strings.Contains(string(text), "leaving") {
			t.Errorf("nobody is leaving: %s", text)
		}
		var again trace.Event
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(e, again); diff != "" {
			t.Error(diff)
		}
	}
}

func event(step int) trace.Event {
	return trace.Event{Step: step, Body: trace.End{Result: trace.Done}, Key: trace.Absent(), Belief: map[string]int{}}
}

func TestWriteAndReadAgain(t *testing.T) {
	var log trace.Log
	for i := range 3 {
		log.Append(event(i + 1))
	}
	events, _ := log.Since(0)
	h := trace.Header{Relock: 1, Scenario: []byte(`{"a":1}`), Seed: 7, Store: "embedded", Clock: "virtual", Owners: map[string]string{"id": "A"}}
	var b bytes.Buffer
	if err := trace.Write(&b, h, events); err != nil {
		t.Fatal(err)
	}
	gotHeader, got, err := trace.Read(t.Context(), &b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h, gotHeader); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(events, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefuses(t *testing.T) {
	if _, _, err := trace.Read(t.Context(), strings.NewReader(`{"relock":2}`)); !errors.Is(err, trace.ErrVersion) {
		t.Errorf("another version: %v", err)
	}
	if _, _, err := trace.Read(t.Context(), strings.NewReader(`{"relock":1}`+"\n"+`{"kind":"rain"}`)); err == nil || !strings.Contains(err.Error(), `"rain"`) {
		t.Errorf("an unknown kind: %v", err)
	}
}

func TestLogIsFollowedToItsEnd(t *testing.T) {
	var log trace.Log
	got := make(chan int)
	go func() {
		defer close(got)
		seq := 0
		for {
			events, closed, err := log.Wait(t.Context(), seq)
			if err != nil || (closed && len(events) == 0) {
				return
			}
			for _, e := range events {
				got <- e.Seq
				seq = e.Seq
			}
		}
	}()
	for want := 1; want <= 3; want++ {
		log.Append(event(want))
		if seq := <-got; seq != want {
			t.Errorf("followed to %d, want %d", seq, want)
		}
	}
	log.Close()
	log.Close()
	if seq, more := <-got; more {
		t.Errorf("event %d after the end", seq)
	}
	for since, want := range map[int]int{-1: 3, 0: 3, 2: 1, 3: 0, 99: 0} {
		if events, closed := log.Since(since); len(events) != want || !closed {
			t.Errorf("since %d: %d events, closed %v", since, len(events), closed)
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	var log trace.Log
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := log.Wait(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
