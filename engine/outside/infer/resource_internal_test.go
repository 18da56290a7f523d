package infer

import (
	"testing"

	"relock/engine/trace"
)

// What is pushed on the key of what the lock protects is a deed where somebody says that it must
// be done once, and else a list, such as a queue, like any other.
func TestAnEntryInTheBookIsADeed(t *testing.T) {
	t.Parallel()
	s := resource{key: "book", once: true, read: map[string]int{}}
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
	queue := resource{key: "book", read: map[string]int{}}
	queue.touch("A", []string{"RPUSH", "book", "job"}, int64(2), func(b trace.Body) { t.Errorf("a queue is told of: %+v", b) })
}
