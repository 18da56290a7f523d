package web

import (
	"strings"
	"time"
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
