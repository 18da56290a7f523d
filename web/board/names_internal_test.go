package board

import "testing"

// The last name that is free is found, and where none is, somebody's is given again.
func TestTheLastFreeNameIsFound(t *testing.T) {
	const free = 7
	people := map[string]*Member{}
	for first := range names.first {
		for second := range names.second {
			name := second*len(names.first) + first
			if name != free {
				people[Nickname(name, "en")] = &Member{Name: name}
			}
		}
	}
	if got := freeName(people); got != free {
		t.Errorf("%d is given, and %d is free", got, free)
	}
	people["the last"] = &Member{Name: free}
	if got := freeName(people); got < 0 || got >= len(people) {
		t.Errorf("%d is no name", got)
	}
}
