package infer

import (
	"slices"
	"strconv"

	"relock/engine/trace"
)

// besideACount reports whether one of the fields that were put into a hash at once only
// accompanies an owner's: its number is larger than that one's count, as the number of a
// call or a time is.
func besideACount(k trace.KeyState, put []string, field string) bool {
	n, err := strconv.Atoi(k.Fields[field])
	return err == nil && slices.ContainsFunc(put, func(other string) bool {
		count, err := strconv.Atoi(k.Fields[other])
		return err == nil && count < n
	})
}

// holds returns the count that the thread of r has in the key; 0 where it has none there, as in
// a string. Of several numbers the smallest is the count, as besideACount has it.
func (j *Reading) holds(r Record) int {
	if r.After.Type != trace.TypeHash {
		return 0
	}
	count := 0
	for id, v := range r.After.Fields {
		if n, err := strconv.Atoi(v); err == nil && n > 0 && (slices.Contains(j.ids, id) || j.checker.Put().Fields[id] == r.Thread) && (count == 0 || n < count) {
			count = n
		}
	}
	return count
}
