package verdict

import (
	"os"
	"strings"
	"testing"
)

// The document's table is the list of kinds, in its order.
func TestTheDocumentListsTheKindsOfLocks(t *testing.T) {
	data, err := os.ReadFile("../../lessons/docs/LAB.md")
	if err != nil {
		t.Fatal(err)
	}
	want := "| the key holds | judged |\n| --- | --- |\n"
	for _, k := range Kinds() {
		want += "| " + string(k.Holds) + " | " + string(k.Judgeable()) + " |\n"
	}
	if !strings.Contains(string(data), want) {
		t.Errorf("LAB.md lacks this table:\n%s", want)
	}
	for _, flag := range strings.Split(AsFlag, ", ") {
		if !strings.Contains(string(data), "`"+flag+"`") {
			t.Errorf("LAB.md does not name %s", flag)
		}
	}
}

// A trace's kind of lock is read back as it was written, and nothing else.
func TestAKindIsKnownByWhatIsSaidOfIt(t *testing.T) {
	unknown := 0
	for _, says := range []string{
		"The key holds a sorted set.", "The key holds a set.", "The key holds a list.", "The key holds a number that is counted up and down.",
		"The key holds a hash with other fields than owners with their counts.", "More than one may be inside at once, and the key does not say who is.",
		"The key names several threads at once, and none of them was refused.", "The key is a hash on several servers.",
		"Several threads write one value on the same server, and it does not say whose it is.",
	} {
		if again, helps := kindSaid(says); again.String() != says || helps.IsZero() {
			t.Errorf("%q is read as %q, which %q helps", says, again, helps)
		}
		unknown++
	}
	for _, k := range Kinds() {
		if !k.Judged {
			unknown--
		}
	}
	if unknown != -1 { // the last one is anything else
		t.Errorf("%d kinds are not tried here", -1-unknown)
	}
	if again, _ := kindSaid("Buy now"); again.String() != "The key holds no string and no hash." {
		t.Errorf("a stranger's words are taken: %q", again)
	}
}
