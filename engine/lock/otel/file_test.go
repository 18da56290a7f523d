package otel_test

import (
	"context"
	"encoding/json"
	"io"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// file writes spans as a collector's file exporter does: an object of OTLP/JSON a
// line. A program would export to a collector instead (otlptracegrpc).
type file struct{ w io.Writer }

func (f file) ExportSpans(_ context.Context, list []sdktrace.ReadOnlySpan) error {
	spans := make([]any, len(list))
	for i, s := range list {
		attributes, parent := []any{}, ""
		if s.Parent().IsValid() {
			parent = s.Parent().SpanID().String()
		}
		for _, a := range s.Attributes() {
			kind, value := "stringValue", a.Value.String() // 64 bits are text in OTLP/JSON
			switch a.Value.Type() {
			case attribute.INT64:
				kind = "intValue"
			case attribute.BOOL:
				attributes = append(attributes, map[string]any{"key": a.Key, "value": map[string]bool{"boolValue": a.Value.AsBool()}})
				continue
			}
			attributes = append(attributes, map[string]any{"key": a.Key, "value": map[string]string{kind: value}})
		}
		spans[i] = map[string]any{
			"traceId": s.SpanContext().TraceID().String(), "spanId": s.SpanContext().SpanID().String(),
			"name": s.Name(), "kind": s.SpanKind(), "attributes": attributes,
			"parentSpanId": parent, "startTimeUnixNano": strconv.FormatInt(s.StartTime().UnixNano(), 10), "endTimeUnixNano": strconv.FormatInt(s.EndTime().UnixNano(), 10),
		}
	}
	scope := map[string]any{"scope": map[string]any{"name": list[0].InstrumentationScope().Name}, "spans": spans}
	return json.NewEncoder(f.w).Encode(map[string]any{"resourceSpans": []any{map[string]any{"resource": map[string]any{}, "scopeSpans": []any{scope}}}})
}

func (file) Shutdown(context.Context) error { return nil }
