package page

import (
	"slices"

	"relock/engine/course"
	"relock/web/film"
	"relock/web/words"
)

// Scene is a small picture of what there is at one place of a run.
type Scene struct {
	Caption  string
	Inside   []SceneThread // in what the lock protects
	Outside  []SceneThread
	Holders  []SceneThread // of the key
	Key      string        // what there is to say of the key beside them
	Resource string        // or "" without one
	Broken   []string      // what people call the rules that were broken
}

// SceneThread is a thread on it.
type SceneThread struct {
	Name    string
	Ordinal int
}

// NewScene draws a scene.
func NewScene(l words.Language, caption string, s course.Scene) Scene {
	out := Scene{Caption: caption}
	for n, name := range s.Threads {
		t := SceneThread{name, n}
		if slices.Contains(s.Inside, name) {
			out.Inside = append(out.Inside, t)
		} else {
			out.Outside = append(out.Outside, t)
		}
		if slices.Contains(s.Holders, name) {
			out.Holders = append(out.Holders, t)
		}
	}
	switch {
	case !s.Key:
		out.Key = l.Say("no key")
	case s.Forever:
		out.Key = l.Say("no expiry")
	}
	if s.Guarded {
		out.Resource = words.Capital(l.Clause(s.Resource))
	}
	for _, rule := range s.Broken {
		out.Broken = append(out.Broken, film.RuleTitle(l, rule))
	}
	return out
}
