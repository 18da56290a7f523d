package story

import (
	"encoding/json"
	"time"

	"github.com/a-h/templ"

	"relock/web/film"
	"relock/web/templates"
)

// seat is a thread as a room's frame has it.
type seat struct {
	By      []string       `json:"by"`
	Members []string       `json:"members"`
	Wishes  map[string]int `json:"wishes"`
	Left    int            `json:"left"` // seconds, of the story alone
	Next    string         `json:"next"`
	Why     string         `json:"why"`
	Knows   string         `json:"knows"`
	Dog     bool           `json:"watchdog"`
}

// rooms are the parts of a room's pages, each filled by the storybook's script
// as its page's script would.
func (m *maker) rooms() []Story {
	l := m.l
	scenario := film.Scenario{Threads: []film.Thread{{Name: "A"}, {Name: "B", Ordinal: 1}, {Name: "C", Ordinal: 2}}}
	seats := map[string]seat{
		"A": {By: []string{"Quiet Otter"}, Members: []string{"m1"}, Next: l.Say("%s, level %d", "unlock", 1), Why: l.Say("works until %s", l.Duration(300*time.Millisecond))},
		"B": {
			By: []string{"Red Panda", "Brave Seal", "Calm Owl"}, Members: []string{"m2", "m3", "m4"}, Wishes: map[string]int{"step": 2, "pause": 1}, Left: 7,
			Next: l.Say("%s, level %d", "lock", 1), Knows: l.Say("%s is refused", "B"), Dog: true,
		},
		"C": {By: []string{}, Members: []string{}, Next: l.Say("%s: %s", l.Say("starts"), l.Say("%s, level %d", "lock", 1))},
	}
	question := map[string]any{
		"id": 1, "kind": "predict", "text": l.Say("The next thing that counts is at %s. What do we see then?", l.Duration(210*time.Millisecond)),
		"options": []string{l.Say("%s is refused", "B"), l.Say("%s gets in", "B"), l.Say("%s gives the lock back", "B")},
		"votes":   21, "of": 23, "round": 2, "closed": true, "counts": []int{5, 14, 2}, "right": 1, "before": []int{9, 6, 5}, "advice": "",
	}
	return []Story{
		{Name: "RoomCast: one, a table that wishes, nobody", Component: sample("cast", seats, templates.RoomCast(scenario))},
		{Name: "RoomMine: of a table", Component: sample("mine", seats["B"], templates.RoomMine(scenario.Threads[1]))},
		{Name: "RoomQuestion: revealed after the second vote", Component: sample("question", question, templates.RoomQuestion(false))},
	}
}

// sample is a component with what the storybook's script is to fill it with.
func sample(kind string, data any, c templ.Component) templ.Component {
	text, err := json.Marshal(data)
	if err != nil {
		panic("story: a sample that cannot be written: " + err.Error())
	}
	return sampled(kind, string(text), c)
}
