package infer

import (
	"regexp"
	"slices"
	"strconv"

	"relock/engine/journal"
	"relock/engine/lock"
	"relock/engine/trace"
)

// Roles remembers what each command does to a lock, by the name that Shown gives
// it: only a script's earlier effects tell its refusal from its release.
type Roles map[string]string

// scripted is what we took a script for before it did anything, and whether it has.
type scripted struct {
	as          string
	asked, acts bool
}

// call says what a command is for: what it does, or what it did at another time, or
// what it looks like.
func (j *Reading) call(r Record, ofLock bool) string {
	if !ofLock {
		return ""
	}
	if looks(r) || journal.Sweeps(Verb(r.Args)) || firstExpiry(r) || unlike(r.After) || unlike(r.Before) {
		return ""
	}
	name := Shown(r.Args)
	if role := j.did; role != "" {
		if r.Script != "" {
			j.acts(name, role)
		}
		return role
	}
	role := j.roles[name]
	if s := j.scripts[name]; r.Script != "" && !s.acts {
		j.scripts[name] = scripted{as: role, asked: true}
	}
	if role != "" {
		return role
	}
	switch Verb(r.Args) {
	case "SETNX", "HSETNX", "SET", "GETSET", "HINCRBY":
		return lock.CallLock
	case "DEL", "UNLINK", "GETDEL", "DELEX", "HDEL", "DECR", "DECRBY":
		return lock.CallUnlock
	case "PEXPIRE", "EXPIRE", "PEXPIREAT", "EXPIREAT", "GETEX":
		return lock.CallRenew
	}
	if r.Script != "" && !makes.MatchString(r.Script) && deletes.MatchString(r.Script) || j.belief[r.Thread] > 0 {
		return lock.CallUnlock
	}
	return lock.CallLock
}

// acts notes what a script does to the lock.
func (j *Reading) acts(name, role string) {
	s := j.scripts[name]
	if s.asked && s.acts && s.as != j.roles[name] {
		j.misread--
	}
	if s.asked && s.as != role {
		j.misread++
	}
	s.acts = true
	j.roles[name], j.scripts[name] = role, s
}

// Misread reports whether it took a script for something else before that did what it
// does: read the records again with the same Roles.
func (j *Reading) Misread() bool { return j.misread > 0 }

// Of a script that was never seen to do anything: a command in it that could make a key, and one that could delete one.
var (
	makes   = regexp.MustCompile(`(?i)["'](p?setn?x|psetex|getset|set|h(m?set|setnx|incrby)|incr(by)?|[lr]push|[sz]add)["']`)
	deletes = regexp.MustCompile(`(?i)["'](del|unlink|hdel|getdel|delex)["']`)
)

// looks reports whether a command only reads. A script's reads belong to its call.
func looks(r Record) bool { return r.Script == "" && len(r.Tx) == 0 && !Touches(r.Args).Writes }

// firstExpiry reports whether a separate command gives the key an expiry that it did not have: it
// belongs to the call that created the key, and renews nothing.
func firstExpiry(r Record) bool {
	return r.Script == "" && len(r.Tx) == 0 && r.Before.Exists() && r.Before.PTTL < 0 && r.After.PTTL >= 0 && Equal(content(r.Before), content(r.After))
}

// does says what a command did to the lock: it created the key or a field, removed one,
// or changed its expiry.
func (j *Reading) does(r Record) string {
	if old, now, is := j.rewrites(r); is {
		switch {
		case now > old:
			return lock.CallLock
		case now < old:
			return lock.CallUnlock
		}
		return lock.CallRenew
	}
	switch {
	case unlike(r.Before), unlike(r.After), r.counts(j.key):
		return ""
	case j.stands(r), journal.Sweeps(Verb(r.Args)) && len(j.ids) == 0:
		return ""
	case len(j.ids) > 0, overAtOnce(r):
		return lock.CallLock
	case r.Before.Exists() && !r.After.Exists() || len(r.Before.Fields) > len(r.After.Fields):
		return lock.CallUnlock
	case r.Before.Exists() && r.After.Exists() && Equal(content(r.Before), content(r.After)) && r.After.PTTL > r.Before.PTTL: // less is left by itself, on the wall's clock
		return lock.CallRenew
	}
	for f, v := range r.After.Fields {
		old, err := strconv.Atoi(r.Before.Fields[f])
		now, err2 := strconv.Atoi(v)
		switch {
		case err != nil || err2 != nil || now == old:
		case now > old:
			return lock.CallLock
		default:
			return lock.CallUnlock
		}
	}
	return ""
}

// puts returns what a command has put into the key: a value, whether it is another one
// or not, and fields that are new or have another value. A count that goes on is nobody's.
func (j *Reading) puts(r Record) []string {
	var ids []string
	before, after := r.Before, r.After
	switch {
	case after.Value == nil:
	case r.counts(j.key): // it is nobody's
	case before.Value == nil || *before.Value != *after.Value || sets(r, j.key):
		ids = append(ids, *after.Value)
	}
	for f, now := range after.Fields {
		old, had := before.Fields[f]
		_, err := strconv.Atoi(old)
		_, err2 := strconv.Atoi(now)
		count := err == nil && err2 == nil
		plain := (Verb(r.Args) == "HSET" || Verb(r.Args) == "HMSET") && j.checker.Put().Fields[f] != r.Thread
		if f == trace.Mode || after.Type != trace.TypeHash {
			continue
		}
		if !had || old != now && (!count || plain) {
			ids = append(ids, f)
		}
	}
	slices.Sort(ids)
	return slices.DeleteFunc(ids, func(id string) bool { return besideACount(after, ids, id) })
}

// owns notes whose ids are in the key.
func (j *Reading) owns(r Record, before trace.KeyState) {
	for _, id := range j.ids {
		switch owner, known := j.owners[id]; {
		case id == "" || len(id) > 200 || j.shared[id] || len(j.owners) >= trace.MaxOwners:
		case known && owner != r.Thread: // a value that everybody writes is nobody's
			j.shared[id] = true
			if owner != id {
				delete(j.owners, id)
				j.named = append(j.named, id)
			}
		case !known:
			j.owners[id] = r.Thread
			j.named = append(j.named, id)
		}
	}
}
