package runs

import (
	"bytes"
	"encoding/json"

	"relock/engine"
	"relock/engine/run"
	"relock/web/runs/hub"
	"relock/web/site/wire"
	"relock/web/words"
)

// MaxSteering is the size limit of a viewer's message, in bytes.
const MaxSteering = 4 << 10

// Steer acts on a thread as the page asks. It returns a sentence in l if that
// was refused.
func Steer(l words.Language, r *engine.Run, mine bool, text []byte) string {
	var asked struct {
		Thread string     `json:"thread"`
		Do     run.Action `json:"do"`
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	switch {
	case dec.Decode(&asked) != nil:
		return l.Say("That is not a command: it must be one JSON object with thread and do.")
	case !mine:
		return l.Say("Only who started this run can steer its threads.")
	}
	if err := r.Steer(asked.Thread, asked.Do); err != nil {
		sentence, _ := l.Explain(err)
		return sentence
	}
	return ""
}

// Watch sends frames until the viewer leaves or is closed. It reports whether the viewer
// knows, or must still hear that the run is broken.
func Watch(conn *wire.Conn, backlog Backlog, viewer *hub.Subscriber) (told bool) {
	for _, frame := range backlog.Frames {
		if conn.Text(frame) != nil {
			return false
		}
	}
	if backlog.Start != nil && conn.Packed(backlog.Start) != nil {
		return false
	}
	for frame := range viewer.Frames() {
		if conn.Batch(frame, viewer.Frames()) != nil {
			return false
		}
	}
	return viewer.Code() == wire.CloseBroken || conn.End(viewer.Code())
}
