package infer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"relock/engine/journal"
	"relock/engine/outside/resp"
)

// ScriptName names the script with a text.
func ScriptName(text string) string { return ScriptOf(Digest(text)) }

// ScriptOf names the script with a digest.
func ScriptOf(sha string) string { return "eval-" + sha[:min(8, len(sha))] + ".lua" }

// Run runs a command; if watched, a script with a given text reports its own commands, with
// the state of its first key right after each. It fails with do's error, or if a script's
// report cannot be read.
func Run(do func(args []string) ([]byte, error), args []string, text string, watched bool) (raw []byte, inner []journal.Entry, err error) {
	if text != "" { // a script whose text is known need not be cached
		args = append([]string{"EVAL"}, append([]string{text}, args[2:]...)...)
	}
	if !watched || text == "" {
		raw, err = do(args)
		return raw, nil, err
	}
	asked := slices.Clone(args)
	asked[1] = journal.Wrap(text)
	if raw, err = do(asked); err != nil {
		return nil, nil, err
	}
	v, failed := resp.Value(raw)
	if failed != "" { // it is no Lua, say
		return raw, nil, nil
	}
	record, reply, err := journal.Decode(v)
	if err != nil {
		return nil, nil, fmt.Errorf("infer: a script's journal: %w", err)
	}
	for i, e := range record.Entries {
		if e.Line == 0 {
			record.Entries[i].Line = returned(text, e.Args[0])
		}
	}
	if reply.Err != "" {
		return resp.Failure(reply.Err), record.Entries, nil
	}
	parts, err := resp.Elements(raw)
	if err != nil || len(parts) < 3 {
		return nil, nil, resp.ErrNotList
	}
	boxed, err := resp.Elements(parts[2])
	if err != nil {
		return nil, nil, err
	}
	if len(boxed) == 0 {
		return []byte("$-1\r\n"), record.Entries, nil
	}
	return boxed[0], record.Entries, nil
}

// returned returns the line at which a script returns what a command answers, where
// there is one such line; else 0. To Lua that is a tail call, which leaves no line.
func returned(text, verb string) int {
	of, err := regexp.Compile(`(?i)return\s+redis\s*\.\s*p?call\s*\(\s*["']` + regexp.QuoteMeta(verb) + `["']`)
	if err != nil {
		return 0
	}
	at := of.FindAllStringIndex(text, 2)
	if len(at) != 1 {
		return 0
	}
	return 1 + strings.Count(text[:at[0][0]], "\n")
}
