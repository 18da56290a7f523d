package stepper

import (
	"slices"
	"strings"
	"testing"

	"relock/web/board"
	"relock/web/page"
	"relock/web/words"
)

func TestEveryCommandIsOnTheAPIPage(t *testing.T) {
	t.Parallel()
	sections := map[string]board.Tenant{"socket": board.Play, "room": board.Class, "lab": board.Lab}
	for _, section := range page.Reference(words.English, "") {
		of, is := sections[section.ID]
		if !is {
			continue
		}
		delete(sections, section.ID)
		var told []string
		for _, entry := range section.Entries {
			told = append(told, strings.Split(entry.Name, ", ")...)
		}
		for i, name := range board.Commands(of) {
			if !slices.Contains(told, name) {
				t.Errorf("%s does not tell of %s", section.ID, name)
			}
			if of == board.Play && told[i] != name {
				t.Errorf("entry %d is %s, the command %s", i, told[i], name)
			}
		}
	}
	if len(sections) > 0 {
		t.Errorf("there is no section about %v", sections)
	}
}
