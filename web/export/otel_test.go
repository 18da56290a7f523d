package export_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"relock/engine/scenario"
	"relock/web/export"
)

// soundOTel wants one line, ids of the right length that are each their own, parents
// that are there, and spans that lie within the run and do not end before they begin.
func soundOTel(r export.Run) error {
	got, err := export.Render(context.Background(), export.OTel, r)
	if err != nil {
		return err
	}
	var file struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct {
					TraceID, SpanID, ParentSpanID, Name string
					Kind                                int
					Start                               string `json:"startTimeUnixNano"`
					End                                 string `json:"endTimeUnixNano"`
				}
			}
		}
	}
	if err := json.Unmarshal(got, &file); err != nil || strings.Count(string(got), "\n") != 1 {
		return fmt.Errorf("otel: %w", errors.Join(err, errors.New("or it is not a line")))
	}
	spans := file.ResourceSpans[0].ScopeSpans[0].Spans
	ids := map[string]bool{"": true}
	for i, s := range spans {
		start, err1 := strconv.ParseInt(s.Start, 10, 64)
		end, err2 := strconv.ParseInt(s.End, 10, 64)
		if err1 != nil || err2 != nil || start > end || len(s.TraceID) != 32 || len(s.SpanID) != 16 || s.TraceID != spans[0].TraceID || s.Name == "" || s.Kind == 0 {
			return fmt.Errorf("otel: span %d: %+v", i, s)
		}
		if ids[s.SpanID] || !ids[s.ParentSpanID] || (s.ParentSpanID == "") != (i == 0) {
			return fmt.Errorf("otel: span %d has the id %s and the parent %q", i, s.SpanID, s.ParentSpanID)
		}
		ids[s.SpanID] = true
	}
	return nil
}

// A reply that never comes is an error of its span.
func TestALostReplyInSpans(t *testing.T) {
	sc, err := scenario.Parse([]byte("lock: {protocol: mutex, lease: 1s, retry: {times: 0, interval: 10ms}}\nthreads: [{name: A, work: 10ms}, {name: B, start: 5ms, work: 10ms}]\nfaults: [{thread: A, at: lock, do: lose-reply}]"))
	if err != nil {
		t.Fatal(err)
	}
	got := render(t, export.OTel, run(t, sc))
	for _, want := range []string{`"name":"fault: lose-reply"`, `"status":{"code":2,`} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
}

// The events may end in the middle of a call.
func TestAPartOfARunInSpans(t *testing.T) {
	r := played(t, "lost-replies")
	whole := r.Events
	for n := range whole {
		r.Events = whole[:n]
		if err := soundOTel(r); err != nil {
			t.Fatalf("%d events: %v", n, err)
		}
	}
}
