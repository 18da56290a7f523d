package course

import (
	"slices"

	"relock/engine/check"
	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// Scene is what there is at one place of a run: of all that a break can be about,
// as much as fits into a small picture.
type Scene struct {
	Threads  []string // of the scenario
	Inside   []string // the threads that work in what the lock protects
	Holders  []string // the threads to whom the key belongs
	Key      bool     // Redis has one
	Forever  bool     // and it has no expiry
	Resource phrase.Wording
	Guarded  bool     // there is a Resource
	Broken   []string // the rules that were broken until then, by name
}

// SceneOf is the scene after a run's first events.
func SceneOf(r *Run, count int) Scene {
	s := Scene{Guarded: r.Scenario.Resource != nil}
	for _, t := range r.Scenario.Threads {
		s.Threads = append(s.Threads, t.Name)
	}
	f := facts.New(r.Header.Owners)
	key := trace.Absent()
	for _, e := range r.Events[:count] {
		f.Add(e)
		key = e.Key
		v, ok := e.Body.(trace.Violation)
		if name, _ := check.Named(v.Rule); ok && !slices.Contains(s.Broken, name) {
			s.Broken = append(s.Broken, name)
		}
	}
	s.Inside, s.Holders = f.Inside(), f.Holders(key)
	s.Key, s.Forever = key.Exists(), key.Exists() && key.PTTL == trace.NoExpiry
	if s.Guarded {
		s.Resource = seeValue(r, count, 0)
	}
	return s
}

// Asked is the scene that a break or a mend asks for: where the solution has reached
// the goal, or how the run ends under a right change. Of other kinds there is none.
func (i *Item) Asked() (Scene, bool) {
	m, err := i.Made()
	if err != nil {
		return Scene{}, false
	}
	if t, ok := i.task.(aiming); ok {
		return t.scene(i, m)
	}
	return Scene{}, false
}
