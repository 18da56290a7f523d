package web

import "time"

// Routes are the patterns that a server answers.
func Routes(s *Server) []string { return s.routes }

// SetPatience sets how long a server waits for who does not read its answers.
func SetPatience(s *Server, d time.Duration) { s.patience = d }
