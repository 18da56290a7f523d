package web

// Routes are the patterns that a server answers.
func Routes(s *Server) []string { return s.routes }
