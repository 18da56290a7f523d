package infer

import (
	"testing"

	"relock/engine/trace"
)

// What is pushed into the book of what the lock protects is done, and must be done once.
func TestAnEntryInTheBookIsADeed(t *testing.T) {
	t.Parallel()
	s := resource{key: "book", read: map[string]int{}}
	var told []trace.Resource
	tell := func(b trace.Body) {
		if r, is := b.(trace.Resource); is {
			told = append(told, r)
		}
	}
	s.touch("A", []string{"RPUSH", "book", "done"}, int64(1), tell)
	s.touch("B", []string{"RPUSH", "other", "done"}, int64(7), tell)
	s.touch("B", []string{"RPUSH", "book", "done"}, int64(2), tell)
	if len(told) != 2 || told[1] != (trace.Resource{Op: trace.OpWrite, Effect: true, Value: 2, Version: 2, Based: 1}) {
		t.Errorf("told %+v", told)
	}
}
