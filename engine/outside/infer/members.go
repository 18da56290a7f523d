package infer

import (
	"maps"
	"slices"
	"strconv"

	"relock/engine/lock"
	"relock/engine/trace"
)

// asks is the role of no command: clients of this lock put their member into it, and then
// ask for its rank.
const asks = "asks for its rank"

// questions takes a question about its member from a thread that has put it, and the
// answer.
func (j *Reading) questions(r Record, ofLock bool) {
	asked, in := j.ranked(r)
	if asked && j.fresh[r.Thread] && len(r.Tx) == 0 && j.roles[asks] == "" {
		j.roles[asks] = lock.CallLock
		j.misread++
	}
	back := ofLock && !slices.ContainsFunc(slices.Collect(maps.Keys(r.After.Fields)), func(id string) bool { return j.mine(r, id) })
	switch {
	case len(j.ids) > 0 && len(r.Tx) == 0:
		j.fresh[r.Thread] = true
	case asked || back || !ofLock:
		delete(j.fresh, r.Thread)
	}
	switch {
	case !j.unranked[r.Thread] || len(j.ids) > 0:
	case asked:
		j.rank(r.Thread, in)
	case back: // before it asked
		j.rank(r.Thread, false)
	case !ofLock: // it works
		j.rank(r.Thread, true)
	}
}

// rank takes whether a thread is in whose member made one more than there are permits.
func (j *Reading) rank(thread string, in bool) {
	delete(j.unranked, thread)
	o := trace.Outcome{Call: lock.CallLock, Result: trace.Refused, Level: 1, Attempt: max(j.attempts[thread], 1)}
	if in {
		j.belief[thread], o.Result, o.Count = 1, trace.Acquired, 1
		j.attempts[thread] = 0
	} else {
		j.refused = true
	}
	j.add(thread, o)
}

// oneMore reports whether a separate command added a member to as many holders as there are
// permits, if clients ask for its rank after that.
func (j *Reading) oneMore(r Record) bool {
	return r.Script == "" && len(r.Tx) == 0 && (r.After.Type == trace.TypeZSet || r.After.Type == trace.TypeSet) && j.roles[asks] != "" &&
		j.belief[r.Thread] == 0 && len(j.belief) >= j.lock.Kind.Most()
}

// mine reports whether a member belongs to the thread of r.
func (j *Reading) mine(r Record, id string) bool {
	return j.owners[id] == r.Thread || slices.Contains(j.ids, id)
}

// ranked reports whether a thread asks how many are in beside its own member, and hears that
// there is room for it: that is how a semaphore says yes.
func (j *Reading) ranked(r Record) (asked, in bool) {
	most := int64(j.lock.Kind.Most())
	put := len(r.Tx) == 0 // before it asks
	for _, e := range r.ran(false) {
		if len(e.Args) < 2 || e.Args[1] != j.key {
			continue
		}
		n, is := e.Reply.(int64)
		switch Verb(e.Args) {
		case "ZADD", "SADD":
			put = true
			continue
		case "ZRANK", "ZREVRANK":
			if is = is && len(e.Args) > 2 && j.mine(r, e.Args[2]); !is {
				continue
			}
			n++
		case "ZCARD", "SCARD":
			if is = is && (put || len(j.ids) > 0); !is {
				continue
			}
			if !put {
				n++
			}
		default:
			continue
		}
		asked, in = true, (in || !asked) && n <= most
	}
	return asked, in
}

// outranked reports whether a thread hears that there is no room for its member.
func (j *Reading) outranked(r Record) bool {
	asked, in := j.ranked(r)
	return asked && !in
}

// scored reports whether a member of a sorted set has got a higher score.
func scored(before, after trace.KeyState) bool {
	for member, now := range after.Fields {
		old, had := before.Fields[member]
		a, err := strconv.ParseFloat(old, 64)
		b, err2 := strconv.ParseFloat(now, 64)
		if had && err == nil && err2 == nil && b > a {
			return true
		}
	}
	return false
}
