package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"relock/engine"
	"relock/engine/run"
	"relock/web/hub"
	"relock/web/session"
	"relock/web/site"
	"relock/web/site/wire"
	"relock/web/words"
)

// maxSteering is the size limit of a viewer's message, in bytes.
const maxSteering = 4 << 10

// socket sends a run's frames: those after ?since, and all that follow; with
// ?pack=1 in a pack.Stream.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) error {
	found, err := s.session(r)
	if err != nil {
		return err
	}
	since := 0
	if text := r.URL.Query().Get("since"); text != "" {
		if since, err = strconv.Atoi(text); err != nil || since < 0 {
			return site.Refuse(http.StatusBadRequest, "That is no place in a run", "The since of a socket is the number of an event, 0 or more.")
		}
	}
	l := words.From(r.Context())
	seat := site.SeatOf(r)
	if seat.Take(r.Context()) != nil {
		return nil // the visitor has left
	}
	backlog, viewer := found.Join(since, session.Form{Language: l, Packed: r.URL.Query().Get("pack") == "1"})
	seat.Done()
	defer viewer.Leave()
	conn, err := s.Upgrader.Upgrade(w, r)
	if err != nil {
		return nil // Upgrade has answered
	}
	defer s.meter.socket(forRun)()
	gone := make(chan struct{})
	mine := found.Owned(s.visitorOf(r))
	go func() {
		defer close(gone)
		defer viewer.Leave() // its frames end
		s.Guarded(r.Context(), site.OfWatch, func() {
			err := conn.Read(r.Context(), maxSteering, func(text []byte) {
				if sentence := steer(l, found.Run, mine, text); sentence != "" {
					answer, _ := json.Marshal(wire.Notice{V: 1, Refused: sentence}) // of plain fields
					viewer.Tell(answer)
				}
			})
			s.ReadTo(r, err)
		})
	}()
	defer func() { <-gone }()
	defer conn.Close()
	told := false
	if !s.Guarded(r.Context(), site.OfWatch, func() { told = s.watched(conn, backlog, viewer) }) || told && viewer.Code() == wire.CloseBroken {
		told = conn.Goodbye(wire.CloseBroken, wire.Notice{
			V: 1, Broken: true, Refused: l.Say("A mistake in this program has ended the run. It has been written down. Start the run again to go on."),
		})
	}
	if told {
		conn.Part(gone)
	}
	return nil
}

// steer acts on a thread as the page asks. It returns a sentence in l if that
// was refused.
func steer(l words.Language, r *engine.Run, mine bool, text []byte) string {
	var asked struct {
		Thread string     `json:"thread"`
		Do     run.Action `json:"do"`
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	switch {
	case dec.Decode(&asked) != nil:
		return l.Say("That is no command: it must be one JSON object with thread and do.")
	case !mine:
		return l.Say("Only who started this run can steer its threads.")
	}
	if err := r.Steer(asked.Thread, asked.Do); err != nil {
		sentence, _ := l.Explain(err)
		return sentence
	}
	return ""
}

// watched sends frames until the viewer leaves or is closed. It reports whether
// the viewer knows, or must still be told that the run is broken.
func (s *Server) watched(conn *wire.Conn, backlog session.Backlog, viewer *hub.Subscriber) (told bool) {
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
