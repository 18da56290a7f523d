package infer

import (
	"maps"
	"slices"

	"relock/engine/lock"
	"relock/engine/trace"
)

// believes reads from a command what its thread believes after it. A thread that makes
// the key and hears anything but nil believes that it holds; it stops believing that when
// it deletes the key, or when a release or a renewal tells it that it does not hold.
func (j *Reading) believes(r Record, before trace.KeyState, told, ofLock bool, call string, own bool) {
	ids := j.ids
	counts := len(before.Fields) > 0 && len(ids) == 0 && j.did == lock.CallLock
	rewrites := own && before.Value != nil && len(ids) > 0 && j.belief[r.Thread] > 0
	switch {
	case !ofLock || r.Late:
	case rewrites && j.did == lock.CallLock:
		j.belief[r.Thread]++
	case rewrites && j.did == lock.CallUnlock && j.belief[r.Thread] > 1:
		j.belief[r.Thread]--
	case rewrites:
	case told && j.stands(r):
		delete(j.belief, r.Thread)
	case (len(ids) > 0 || counts || overAtOnce(r)) && told && r.Err == "": // also where the answer is nil: so Redisson's script says yes
		if j.takesOver() {
			delete(j.belief, j.checker.Put().Value)
		}
		j.belief[r.Thread] = max(j.holds(r), 1)
	case len(ids) > 0:
	case j.did == lock.CallUnlock && j.belief[r.Thread] > 0:
		if n := j.holds(r); n > 0 {
			j.belief[r.Thread] = n
		} else {
			delete(j.belief, r.Thread)
		}
	case told && r.Owner != "" && call == lock.CallLock && j.did == "" && before.Value != nil && *before.Value == r.Owner:
		delete(j.belief, r.Thread) // refused by its own value: it does not know that it holds
	case told && r.Err == "" && call != lock.CallLock && call != "" && no(answer(r)):
		delete(j.belief, r.Thread)
	case told && r.Err == "" && j.sees(r):
		delete(j.belief, r.Thread)
	}
}

// sees reports whether a thread sees, by looking at the key, that it does not hold it.
func (j *Reading) sees(r Record) bool {
	if !looks(r) || len(r.Args) < 2 || r.Args[1] != j.key {
		return false
	}
	mine := func(id string) bool { return j.owners[id] == r.Thread || j.shared[id] }
	switch Verb(r.Args) {
	case "EXISTS", "TTL", "PTTL", "TYPE", "HLEN", "STRLEN":
		return !r.After.Exists()
	case "HGET", "HEXISTS", "HSTRLEN":
		_, has := r.After.Fields[r.Args[min(2, len(r.Args)-1)]]
		return !has && mine(r.Args[min(2, len(r.Args)-1)])
	case "GET":
		return r.After.Value == nil || !mine(*r.After.Value)
	case "HGETALL", "HKEYS":
		return !slices.ContainsFunc(slices.Collect(maps.Keys(r.After.Fields)), mine)
	}
	return false
}

// answer is what a command was answered about the lock's key: of several keys that are
// deleted at once, whether this one was there.
func answer(r Record) any {
	if v := Verb(r.Args); (v == "DEL" || v == "UNLINK") && len(r.Args) > 2 && !r.Before.Exists() {
		return int64(0)
	}
	return r.Reply
}

// no reports whether an answer is a no.
func no(reply any) bool {
	switch v := reply.(type) {
	case nil:
		return true
	case int64:
		return v <= 0
	case []any:
		return len(v) == 0 || no(v[0])
	}
	return false
}
