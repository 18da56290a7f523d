package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"relock/engine/bound"
	"relock/engine/trace"
)

// columns of the CSV form. They have the trace's own names and values,
// untranslated: the file is for programs.
func columns() []string {
	return []string{
		"seq", "step", "sub_step", "at_ms", "thread", "kind", "call", "attempt", "level", "node", "script", "line",
		"command", "reply", "error", "result", "count", "detail", "key_type", "key", "pttl_ms", "belief", "leaving",
	}
}

// writeCSV writes a line per event, as in RFC 4180. sub_step counts the Redis
// commands within a step.
func writeCSV(b *bound.Buffer, r Run) error {
	w := csv.NewWriter(b)
	w.UseCRLF = true
	if err := w.Write(columns()); err != nil {
		return fmt.Errorf("csv: %w", err)
	}
	step, sub := 0, 0
	err := r.each(b, func(_ int, e trace.Event) error {
		if e.Step != step {
			step, sub = e.Step, 0
		}
		if e.Kind() == trace.KindCommand {
			sub++
		}
		line, err := csvLine(e, sub)
		if err != nil {
			return fmt.Errorf("csv: event %d: %w", e.Seq, err)
		}
		if err := w.Write(line); err != nil {
			return fmt.Errorf("csv: event %d: %w", e.Seq, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("csv: %w", err)
	}
	return nil
}

func csvLine(e trace.Event, sub int) ([]string, error) {
	cells := map[string]string{
		"seq": strconv.Itoa(e.Seq), "step": strconv.Itoa(e.Step), "at_ms": strconv.FormatFloat(float64(e.At), 'f', -1, 64),
		"thread": e.Thread, "kind": string(e.Kind()),
		"key_type": e.Key.Type, "pttl_ms": strconv.FormatInt(e.Key.PTTL, 10),
	}
	var err error
	set := func(column string, v any) {
		text, failed := jsonText(v)
		if failed != nil {
			err = failed
		}
		cells[column] = text
	}
	switch body := e.Body.(type) {
	case trace.Command:
		cells["sub_step"] = strconv.Itoa(sub)
		cells["call"], cells["attempt"], cells["level"] = body.Call, strconv.Itoa(body.Attempt), strconv.Itoa(body.Level)
		cells["script"], cells["line"], cells["node"] = body.Script, number(body.Line), number(body.Node)
		cells["command"], cells["error"] = typed(body.Args), body.Error
		set("reply", body.Reply)
		if body.Late {
			set("detail", map[string]bool{"late": true})
		}
	case trace.Outcome:
		cells["call"], cells["attempt"], cells["level"] = body.Call, strconv.Itoa(body.Attempt), strconv.Itoa(body.Level)
		cells["result"], cells["count"], cells["error"] = string(body.Result), strconv.Itoa(body.Count), body.Error
	case trace.End:
		cells["result"], cells["error"] = string(body.Result), body.Error
	default:
		set("detail", body)
	}
	switch {
	case len(e.Nodes) > 0:
		set("key", e.Nodes)
	case e.Key.Value != nil:
		set("key", *e.Key.Value)
	case e.Key.Exists():
		set("key", e.Key.Fields)
	}
	belief := e.Belief
	if belief == nil {
		belief = map[string]int{}
	}
	set("belief", belief)
	if len(e.Leaving) > 0 {
		set("leaving", e.Leaving)
	}
	var line []string
	for _, c := range columns() {
		line = append(line, Inert(cells[c]))
	}
	return line, err
}

// number returns n, or "" if there is none.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func jsonText(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("export: %w", err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

var (
	plainNumber = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	formula     = regexp.MustCompile(`^[\s\x00]*[=+\-@＝＋－＠\t\r\n]`)
)

// Inert returns a cell that spreadsheets do not take for a formula: an
// apostrophe precedes what looks like one and is not a number.
func Inert(cell string) string {
	if formula.MatchString(cell) && !plainNumber.MatchString(cell) {
		return "'" + cell
	}
	return cell
}
