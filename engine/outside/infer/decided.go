package infer

import (
	"fmt"
	"slices"
	"strings"
)

// Said is a command that a thread sent, with its answer.
type Said struct {
	Command, Reply string   // the command as Shown
	Keys           []string // that it names
}

// SaidOf returns a command and its answer.
func SaidOf(r Record) Said {
	one := Said{Command: Shown(r.Args), Reply: fmt.Sprint(r.Reply, r.Err)}
	for _, args := range append([][]string{r.Args}, r.Tx...) {
		one.Keys = append(one.Keys, Touches(args).Keys...)
	}
	return one
}

// Decided returns the key whose state decided the answer that a thread got, and what it
// then did: the key of the first command whose answer, and the commands after it, differ
// from when the thread runs alone. Exclude are keys to skip; "" if there is none.
func Decided(alone, now []Said, exclude []string) string {
	for i := range min(len(alone), len(now)) {
		a, b := alone[i], now[i]
		if a.Command != b.Command {
			return ""
		}
		commands := func(list []Said) (names []string) {
			for _, one := range list[i+1:] {
				names = append(names, one.Command)
			}
			return names
		}
		if a.Reply == b.Reply || slices.Equal(commands(alone), commands(now)) {
			continue
		}
		for _, key := range a.Keys {
			if isKey(key) && !slices.Contains(exclude, key) {
				return key
			}
		}
	}
	return ""
}

// isKey reports whether the name in a Footprint is a key's, and not a channel's.
func isKey(name string) bool { return name != "" && !strings.HasPrefix(name, Channel("")) }
