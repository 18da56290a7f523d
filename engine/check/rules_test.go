package check_test

import (
	"os"
	"strings"
	"testing"

	"relock/engine/check"
)

func TestReadmeNamesEveryRule(t *testing.T) {
	readme, err := os.ReadFile("../../lessons/docs/SCENARIOS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range check.Names() {
		if !strings.Contains(string(readme), "`"+name+"`") {
			t.Errorf("SCENARIOS does not name %s", name)
		}
	}
}
