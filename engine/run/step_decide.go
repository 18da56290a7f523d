package run

import "context"

// Decide lets time pass until somebody can move or the run is over, and returns
// how many can move. It fails like Apply.
func (s *Stepper) Decide(ctx context.Context) (ready int, err error) {
	for len(s.ready) == 0 && !s.over {
		if err := s.pass(ctx, forever); err != nil {
			return 0, err
		}
	}
	if s.over {
		return 0, nil
	}
	return len(s.ready), nil
}
