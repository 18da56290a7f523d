package web

import (
	"context"
	"strings"
	"time"

	"relock/web/room"
)

// Routes are the patterns that a server answers.
func Routes(s *Server) []string { return s.routes }

// SetPatience sets how long a server waits for who does not read its answers.
func SetPatience(s *Server, d time.Duration) { s.patience = d }

// Viewers is how many now get the frames of the run at path.
func Viewers(s *Server, path string) int {
	found, ok := s.sessions.Get(strings.TrimPrefix(path, "/runs/"))
	if !ok {
		return 0
	}
	return found.Viewers()
}

// NewRoom makes a room of which no visitor knows.
func NewRoom(ctx context.Context, s *Server) (code string, err error) {
	code, _, err = s.rooms.Open(ctx, room.Plan{Scenario: s.examples[0].sc})
	return code, err
}
