package infer

import (
	"relock/engine/fault"
	"relock/engine/journal"
)

// tokens counts the tokens that a command takes out of the lock's list, or puts back. A
// thread that puts in a token it has not taken fills the list.
func (j *Reading) tokens(r Record) {
	j.taken, j.put = 0, 0
	if j.lock.Kind.Permits == 0 || fault.Withholds(r.Do) {
		return
	}
	for _, e := range r.ran(true) {
		if e.Err == "" || len(r.Inner) > 0 {
			taken, put := journal.Tokens(e.Args, e.Reply, j.key)
			j.taken, j.put = j.taken+taken, j.put+put
		}
	}
	j.put = min(j.put, j.checker.Put().Tokens(r.Thread)+j.taken)
}

// Filled returns with how many tokens the lock's list was filled while none was out; false
// where it is none of tokens.
func (j *Reading) Filled() (int, bool) { return j.checker.Put().Filled() }
