package web

// Films is how many bytes of films a server keeps, and how often it has folded
// one that it keeps.
func (s *Server) Films() (bytes, folded int) {
	s.films.mu.Lock()
	defer s.films.mu.Unlock()
	return s.films.bytes, s.films.folded
}
