package protocol

import "strings"

// Companion is a key beside a lock's, in the same slot of a cluster: Redis
// hashes what stands between the first { and the first } after it, or the
// whole key where nothing does.
func Companion(key, name string) string {
	if tagged(key) {
		return key + ":" + name
	}
	return "{" + key + "}:" + name
}

// tagged tells whether a key has a hash tag.
func tagged(key string) bool {
	open := strings.IndexByte(key, '{')
	return open >= 0 && strings.IndexByte(key[open:], '}') > 1
}

// HasCompanions tells whether a key can have companions in its slot: one
// without a hash tag becomes a tag itself, and so must not have a }.
func HasCompanions(key string) bool { return tagged(key) || !strings.Contains(key, "}") }
