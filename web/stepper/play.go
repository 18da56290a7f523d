package stepper

import (
	"net/http"

	"relock/web/board"
	"relock/web/shell"
)

// PlaySocket serves a page that steps through a scenario. The session lives
// as long as the connection: a page that comes back brings its moves along.
func (s *Sockets) PlaySocket(w http.ResponseWriter, r *http.Request) error {
	return s.speak(w, r, shell.PlaySocket, board.Play, func(of *speaker) func() {
		p := &player{speaker: of}
		p.reader = p.newReader(p.look)
		p.do, p.opened = p.decide, func() bool { return p.board != nil }
		return p.close
	})
}
