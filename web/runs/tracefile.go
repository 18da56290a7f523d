package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// IsTrace recognizes a trace by its first line.
func IsTrace(data []byte) bool {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	var head struct {
		Relock *json.Number `json:"relock"`
	}
	return json.Unmarshal(first, &head) == nil && head.Relock != nil
}

// firstMistake returns the first mistake in the scenario of a trace.
func firstMistake(err error) error {
	var mistakes scenario.Mistakes
	if !errors.As(err, &mistakes) || len(mistakes) == 0 {
		return err
	}
	return phrase.New("the scenario in line 1 has a mistake: %s", mistakes[0].Says())
}

// ReadTrace reads a trace that anybody may have written.
func ReadTrace(ctx context.Context, data []byte) (trace.Header, []trace.Event, *scenario.Scenario, error) {
	h, events, err := trace.Read(ctx, bytes.NewReader(data))
	if err != nil {
		return h, nil, nil, err
	}
	sc, err := scenario.Parse(h.Scenario)
	if err != nil {
		return h, nil, nil, firstMistake(err)
	}
	names := make([]string, len(sc.Threads))
	for i, t := range sc.Threads {
		names[i] = t.Name
	}
	if err := trace.Check(h, events, names); err != nil {
		return h, nil, nil, err
	}
	return h, events, sc, nil
}

// How much of one line of a trace a page shows.
const (
	longLine  = 16 << 10 // bytes: what is shorter is shown whole
	longText  = 1 << 10  // bytes of one text in a longer one
	manyItems = 64       // of one list or object in a longer one
)

// Brief returns a trace as a page shows it: in a line far longer than any of
// ours, each text is cut. Exported files are not.
func Brief(ctx context.Context, data []byte) ([]byte, error) {
	var out []byte
	done := 0 // bytes of data that are in out
	at := 0
	for line := range bytes.Lines(data) {
		if err := pause.Here(ctx); err != nil {
			return nil, err
		}
		first := at == 0
		at += len(line)
		if first || len(line) <= longLine {
			continue
		}
		var event any
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.UseNumber()
		if dec.Decode(&event) != nil {
			continue
		}
		if cut, err := json.Marshal(shortened(event)); err == nil {
			out = append(append(append(out, data[done:at-len(line)]...), cut...), '\n')
			done = at
		}
	}
	if done == 0 {
		return data, nil
	}
	return append(out, data[done:]...), nil
}

// shortened returns a JSON value without what makes it long.
func shortened(v any) any {
	switch v := v.(type) {
	case string:
		if len(v) > longText {
			return strings.ToValidUTF8(v[:longText], "") + "…"
		}
		return v
	case []any:
		short := make([]any, 0, min(len(v), manyItems))
		for _, item := range v[:min(len(v), manyItems)] {
			short = append(short, shortened(item))
		}
		return short
	case map[string]any:
		short := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if len(short) == manyItems {
				break
			}
			name, _ := shortened(key).(string)
			short[name] = shortened(v[key])
		}
		return short
	default:
		return v
	}
}
