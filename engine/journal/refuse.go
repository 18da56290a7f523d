package journal

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// refusal is what Redis answers to some of a script's commands.
type refusal struct {
	words  string
	spared []string // commands that run all the same
}

type refusalKey struct{}

// RefusingWrites returns a context in which a Client has Redis answer words, an error,
// to each command of a script that would change data, as a replica does. As in Redis,
// what the script did before, and what it does if it catches the error, runs.
func RefusingWrites(ctx context.Context, words string) context.Context {
	return context.WithValue(ctx, refusalKey{}, &refusal{words, reads})
}

// RefusingGrowth is RefusingWrites, but spares what needs no memory, a DEL for one,
// and all that comes after a write of the same script, as a full Redis does.
func RefusingGrowth(ctx context.Context, words string) context.Context {
	return context.WithValue(ctx, refusalKey{}, &refusal{words, slices.Concat(reads, frees)})
}

// usual is how the prelude asks Redis. In a script of which Redis refuses some
// commands, another way takes its place.
const usual = "local ask = real.pcall"

// in returns the script with the refusal of ctx in it, and whether there is one.
func (w wrapped) in(ctx context.Context) (wrapped, bool) {
	r, ok := ctx.Value(refusalKey{}).(*refusal)
	if !ok {
		return w, false
	}
	w.text = strings.Replace(w.text, usual, r.lua(), 1)
	w.sha = digest(w.text)
	return w, true
}

// lua is how a script asks of which Redis refuses some commands.
func (r *refusal) lua() string {
	return "local began, spared, reads = false, " + table(r.spared) + ", " + table(reads) + " " +
		"local function ask(...) " +
		"local verb = string.upper(tostring((...))) " +
		"if not began and not spared[verb] then return {err = " + strconv.Quote(r.words) + "} end " +
		"local result = real.pcall(...) " +
		"if not reads[verb] and not (type(result) == 'table' and result.err) then began = true end " +
		"return result end"
}

// table is a table of Lua that is true for each of verbs.
func table(verbs []string) string {
	var b strings.Builder
	b.WriteString("{")
	for _, v := range verbs {
		b.WriteString(v + "=true,")
	}
	b.WriteString("}")
	return b.String()
}
