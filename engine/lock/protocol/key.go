package protocol

import (
	"slices"
	"strings"
)

// companions are the names of all keys beside locks': [beside] notes each.
var companions []string

// beside returns what makes the keys of a name beside locks'.
func beside(name string) func(key string) string {
	companions = append(companions, name)
	return func(key string) string { return Companion(key, name) }
}

// IsCompanion reports whether a key would be one beside another lock's.
func IsCompanion(key string) bool {
	return tagged(key) && slices.ContainsFunc(companions, func(name string) bool { return strings.HasSuffix(key, ":"+name) })
}

// Companion returns a key beside a lock's, in the same slot of a cluster. Redis
// hashes the text between the first { and the first } after it, or the whole
// key if there is none.
func Companion(key, name string) string {
	if tagged(key) {
		return key + ":" + name
	}
	return "{" + key + "}:" + name
}

// tagged reports whether a key has a hash tag.
func tagged(key string) bool {
	open := strings.IndexByte(key, '{')
	return open >= 0 && strings.IndexByte(key[open:], '}') > 1
}

// HasCompanions reports whether a key can have companions in its slot. A key
// without a hash tag becomes the tag itself, so it must not contain a }.
func HasCompanions(key string) bool { return tagged(key) || !strings.Contains(key, "}") }
