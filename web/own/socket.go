package own

import (
	"encoding/json"
	"net/http"
	"strconv"

	"relock/web/runs"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/site/wire"
	"relock/web/words"
)

// Socket sends a run's frames: those after ?since, and all that follow; with
// ?pack=1 in a pack.Stream.
func (s *Runs) Socket(w http.ResponseWriter, r *http.Request) error {
	found, err := s.session(r)
	if err != nil {
		return err
	}
	since := 0
	if text := r.URL.Query().Get("since"); text != "" {
		if since, err = strconv.Atoi(text); err != nil || since < 0 {
			return site.Refuse(http.StatusBadRequest, "There is no such place in a run", "The since of a socket is the number of an event, 0 or more.")
		}
	}
	l := words.From(r.Context())
	seat := site.SeatOf(r)
	if seat.Take(r.Context()) != nil {
		return nil // the visitor has left
	}
	backlog, viewer := found.Join(since, runs.Form{Language: l, Packed: r.URL.Query().Get("pack") == "1"})
	seat.Done()
	defer viewer.Leave()
	conn := &wire.Conn{}
	if err := s.Upgrader.Upgrade(conn, w, r); err != nil {
		return nil // Upgrade has answered
	}
	defer s.Count.Socket(shell.RunSocket)()
	gone := make(chan struct{})
	mine := found.Owned(s.VisitorOf(r))
	go func() {
		defer close(gone)
		defer viewer.Leave() // its frames end
		s.Guarded(r.Context(), site.OfWatch, func() {
			err := conn.Read(r.Context(), runs.MaxSteering, func(text []byte) {
				if sentence := runs.Steer(l, found.Run, mine, text); sentence != "" {
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
	if !s.Guarded(r.Context(), site.OfWatch, func() { told = runs.Watch(conn, backlog, viewer) }) || told && viewer.Code() == wire.CloseBroken {
		told = conn.Goodbye(wire.CloseBroken, wire.Notice{
			V: 1, Broken: true, Refused: l.Say("A bug in this program has ended the run. It was logged. Start the run again to go on."),
		})
	}
	if told {
		conn.Part(gone)
	}
	return nil
}
