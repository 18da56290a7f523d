package otel_test

import (
	"io"

	"relock/engine/logs"
)

// imported reads spans as "playground import" does, and names the rules that were
// broken.
func imported(r io.Reader) []string {
	log, err := logs.Read(r)
	if err != nil {
		return []string{err.Error()}
	}
	found, err := log.Trace(logs.Options{})
	if err != nil {
		return []string{err.Error()}
	}
	var rules []string
	for _, v := range found.Broken {
		rules = append(rules, v.Rule)
	}
	return rules
}
