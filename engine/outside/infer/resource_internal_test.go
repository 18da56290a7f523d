package infer

import (
	"strings"
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

// A number is told as one, and of anything else the beginning, in quotes; nothing is 0.
func TestWhatIsWrittenIsToldAsItIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args  []string
		reply any
		want  trace.Resource
	}{
		{[]string{"GET", "k"}, "7", trace.Resource{Op: trace.OpRead, Value: 7}},
		{[]string{"GET", "k"}, `{"n":7}`, trace.Resource{Op: trace.OpRead, Text: `"{\"n\":7}"`}},
		{[]string{"GET", "k"}, "", trace.Resource{Op: trace.OpRead, Text: `""`}},
		{[]string{"GET", "k"}, nil, trace.Resource{Op: trace.OpRead}},
		{[]string{"SET", "k", "ten"}, "OK", trace.Resource{Op: trace.OpWrite, Text: `"ten"`, Version: 1}},
		{[]string{"SETEX", "k", "9", "-3"}, "OK", trace.Resource{Op: trace.OpWrite, Value: -3, Version: 1}},
		{[]string{"SET", "k", strings.Repeat("é", 40)}, "OK", trace.Resource{Op: trace.OpWrite, Text: `"` + strings.Repeat("é", 32) + `"`, Version: 1}},
	} {
		s := resource{key: "k", read: map[string]int{}}
		s.touch("A", c.args, c.reply, func(b trace.Body) {
			if b != c.want {
				t.Errorf("%q → %v: told %+v, want %+v", c.args, c.reply, b, c.want)
			}
		})
	}
}
