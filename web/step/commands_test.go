package step

import (
	"testing"

	"relock/web/page"
	"relock/web/words"
)

func TestEveryCommandIsOnTheAPIPage(t *testing.T) {
	t.Parallel()
	for _, section := range page.Reference(words.English, "") {
		if section.ID != "socket" {
			continue
		}
		for i, name := range commandNames() {
			if got := section.Entries[i].Name; got != name {
				t.Errorf("entry %d is %s, the command %s", i, got, name)
			}
		}
		return
	}
	t.Error("there is no section about the socket")
}
