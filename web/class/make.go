package class

import (
	"context"
	"errors"
	"net/http"

	"relock/web/board"
	"relock/web/lesson"
	"relock/web/shell"
	"relock/web/site"
)

// Make makes a room and leads its host there.
func (s *Pages) Make(w http.ResponseWriter, r *http.Request) error {
	if err := s.Starts.Allow(site.Address(r)); err != nil {
		return site.OfLimit(err)
	}
	form, err := shell.ReadForm(w, r)
	if err != nil {
		return err
	}
	var plan board.Plan
	if form.Has("lesson") {
		plan, err = s.plans.planOfLesson(r.Context(), form.Get("lesson"))
	} else {
		plan, err = s.plans.planOf(r.Context(), lesson.Place{Example: form.Get("example"), Link: form.Get("link"), Item: form.Get("item")})
	}
	if err != nil {
		return noPlan(err)
	}
	plan.By = board.Proof(site.Address(r))
	may, err := s.roomFor(r.Context(), plan.By)
	switch {
	case err != nil:
		return errUnreached
	case !may:
		return errRooms
	}
	code, secret, err := s.House.Open(r.Context(), plan)
	if err == nil {
		_, err = s.House.Room(r.Context(), code) // it is led from now on
	}
	switch {
	case errors.Is(err, board.ErrUnreached):
		return errUnreached
	case err != nil:
		return noPlan(err)
	}
	s.guesses.found(site.Address(r), code)
	if site.AsksForJSON(r) {
		site.AnswerJSON(w, http.StatusCreated, map[string]string{"code": code, "secret": secret})
		return nil
	}
	w.Header().Set("Cache-Control", "no-store")
	s.setHost(w, r, code, secret)
	http.Redirect(w, r, "/room/"+code+"/host", http.StatusSeeOther) //nolint:gosec // a code has letters and digits only
	return nil
}

// roomFor reports whether there may be one more room of a maker. If there are as many as
// allowed, an empty one ends to make room for it.
func (s *Pages) roomFor(ctx context.Context, by string) (bool, error) {
	own, err := s.House.Made(ctx, by)
	if err != nil {
		return false, err
	}
	all := s.House.Count().Rooms
	if all >= maxRooms && !s.House.Spare(ctx, "") {
		return false, nil
	}
	share := min(maxRoomsOfAddress, max(1, (maxRooms-all)/shareOfFree))
	return own < share || s.House.Spare(ctx, by), nil
}
