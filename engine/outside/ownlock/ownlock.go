// Package ownlock runs locks with scripts that a user has written: in a box, a
// process that can do no harm, and never in this one. It also says what is
// wrong with a script that cannot be a lock's.
package ownlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"relock/engine/journal"
	"relock/engine/lock/protocol"
	"relock/engine/outside/box"
	"relock/engine/outside/infer"
	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/recall"
	"relock/engine/scenario"
	"relock/engine/store"
)

// ErrNoBox says that an own lock cannot run because its context has no box.
var ErrNoBox = phrase.New("your own lock does not run here: its scripts need a separate process")

type boxKey struct{}

// WithBox returns a context whose own locks run in a box.
func WithBox(ctx context.Context, b *box.Pool) context.Context {
	return context.WithValue(ctx, boxKey{}, b)
}

// NewMemory returns an empty Memory for runs of sc: of a miniredis in this process
// or, for an own lock, of one in the context's box. Close it. It fails with
// ErrNoBox.
func NewMemory(ctx context.Context, sc *scenario.Scenario) (*recall.Memory, error) {
	if !sc.Lock.Own() {
		return recall.NewMemory().Checked(ctx), nil
	}
	b, ok := ctx.Value(boxKey{}).(*box.Pool)
	if !ok || b == nil {
		return nil, ErrNoBox
	}
	s := &server{box: b, made: ctx, scripts: map[string]string{}, own: map[string]protocol.Script{}}
	for _, script := range sc.Lock.Implementation().Scripts {
		if slices.Contains(sc.Lock.Scripts.Calls(), script.Call) {
			s.own[journal.Wrap(script.Source)] = script
		}
	}
	return recall.NewMemoryOf(s).Checked(ctx), nil
}

// Check compiles the scripts of an own lock in the context's box, and runs none. It
// returns what is wrong with them, in the order of their calls. It fails with
// ErrNoBox, or as box.Pool.Check does.
func Check(ctx context.Context, l scenario.Lock) ([]*Mistake, error) {
	if !l.Own() {
		return nil, nil
	}
	b, ok := ctx.Value(boxKey{}).(*box.Pool)
	if !ok || b == nil {
		return nil, ErrNoBox
	}
	s := &server{box: b}
	defer b.Leave(s)
	var list []*Mistake
	for _, script := range l.Implementation().Scripts {
		if !slices.Contains(l.Scripts.Calls(), script.Call) {
			continue
		}
		err := b.Check(ctx, s, script.Source)
		var wrong *Mistake
		switch {
		case err == nil:
		case errors.As(s.mistake(script, 0, err), &wrong):
			list = append(list, wrong)
		default:
			return nil, fmt.Errorf("ownlock: %w", err)
		}
	}
	return list, nil
}

// Refused returns what is wrong with an own script that a Redis did not compile, if
// that is why err, a journal's, came about; else nil.
func Refused(l scenario.Lock, err error) *Mistake {
	var load *journal.LoadError
	if !l.Own() || !errors.As(err, &load) {
		return nil
	}
	said := uncompiled.FindStringSubmatch(load.Err.Error())
	for _, script := range l.Implementation().Scripts {
		if said == nil || script.Name != load.Script {
			continue
		}
		m := &Mistake{Call: script.Call, What: phrase.Say("this is not Lua: %s", shortened(said[2]))}
		if line, err := strconv.Atoi(said[1]); err == nil {
			m.Line = min(line-journal.Above, 1+strings.Count(strings.TrimSuffix(script.Source, "\n"), "\n"))
		}
		return m
	}
	return nil
}

// uncompiled is what Redis says of a text that is not Lua.
var uncompiled = regexp.MustCompile(`(?s)Error compiling script.*?user_script:(\d+): (.*)`)

// Judged is a client of a Redis of somebody's own on which an own lock runs. It calls
// wrong with what is wrong with a script, if something is, and then answers that. It
// calls also with each key that a script asks for and that is not among its KEYS.
// It is safe for concurrent use if client, wrong and also are.
func Judged(client journal.Scripter, l scenario.Lock, wrong func(*Mistake), also func(key string)) journal.Scripter {
	j := judged{client, map[string]protocol.Script{}, wrong, also}
	for _, script := range l.Implementation().Scripts {
		if slices.Contains(l.Scripts.Calls(), script.Call) {
			text := journal.Wrap(script.Source)
			j.own[text], j.own[redis.NewScript(text).Hash()] = script, script
		}
	}
	return j
}

type judged struct {
	journal.Scripter

	own   map[string]protocol.Script // by the journal's text, and by its digest
	wrong func(*Mistake)
	also  func(key string)
}

// Eval implements journal.Scripter.
func (j judged) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return j.judge(script, keys, j.Scripter.Eval(ctx, script, keys, args...))
}

// EvalSha implements journal.Scripter.
func (j judged) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return j.judge(sha1, keys, j.Scripter.EvalSha(ctx, sha1, keys, args...))
}

func (j judged) judge(name string, keys []string, cmd *redis.Cmd) *redis.Cmd {
	script, own := j.own[name]
	reply, err := cmd.Result()
	if !own || err != nil {
		return cmd
	}
	if rec, _, err := journal.Decode(reply); err == nil {
		for _, e := range rec.Entries {
			if key, ok := beside(e.Args, keys); ok {
				j.also(key)
			}
		}
	}
	if m := judge(script, keys, box.Answer{Reply: reply}); m != nil {
		j.wrong(m)
		cmd.SetErr(m)
	}
	return cmd
}

// How much a script may hold, a hundred times what a lock does: each of its rows is
// shown.
const (
	maxCommands = 100     // of one run
	maxHeld     = 8 << 10 // bytes in Redis
	maxSaid     = 8 << 10 // bytes of one run's arguments
)

// server runs the scripts of one scenario in a box.
type server struct {
	box     *box.Pool
	made    context.Context            // for whom: threads have contexts of their own
	scripts map[string]string          // digest to text
	own     map[string]protocol.Script // by the journal's text
}

// Load implements recall.Server. It fails with a *Mistake.
func (s *server) Load(ctx context.Context, text string) (string, error) {
	ctx = pause.Like(ctx, s.made)
	if script, ok := s.own[text]; ok {
		if err := s.box.Check(ctx, s, script.Source); err != nil {
			return "", s.mistake(script, 0, err)
		}
	}
	sha := redis.NewScript(text).Hash()
	s.scripts[sha] = text
	return sha, nil
}

// Run implements recall.Server. It fails with a *Mistake.
func (s *server) Run(ctx context.Context, c recall.Call) (recall.Outcome, error) {
	ctx = pause.Like(ctx, s.made)
	text := s.scripts[c.Script]
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		args[i] = fmt.Sprint(a)
	}
	question := box.Question{Script: text, Keys: c.Keys, Args: args, Now: c.Now, Items: c.Items, Channels: c.Channels}
	answer, err := s.box.Ask(ctx, s, question)
	if errors.Is(err, box.ErrBroken) { // which may have been the machine
		answer, err = s.box.Ask(ctx, s, question)
	}
	script, own := s.own[text]
	if err != nil {
		if own {
			err = s.mistake(script, journal.Last(script.Source), err)
		}
		return recall.Outcome{}, err
	}
	out := recall.Outcome{Reply: answer.Reply, Items: answer.Items}
	if answer.Err != "" {
		out.Err = journal.ScriptError(answer.Err)
	}
	if own {
		if wrong := judge(script, c.Keys, answer); wrong != nil {
			return recall.Outcome{}, wrong
		}
	}
	return out, nil
}

// Close implements recall.Server.
func (s *server) Close() error {
	s.box.Leave(s)
	return nil
}

// mistake is why the box did not run a script, in a person's words.
// The last line of the text that was run and that is not the script's own is given.
func (s *server) mistake(script protocol.Script, last int, err error) error {
	var stopped *box.Fault
	if errors.Is(err, box.ErrBroken) {
		return &Mistake{Call: script.Call, What: phrase.Say("the process that ran it broke: it takes too much memory, or does something forbidden")}
	}
	if !errors.As(err, &stopped) {
		return err
	}
	m := &Mistake{Call: script.Call, Line: stopped.Lines.Below(last), What: phrase.Plain(stopped.What)}
	if m.Line > 0 {
		m.Line -= min(last, journal.Above)
	}
	switch {
	case errors.Is(err, box.ErrSyntax):
		m.What = phrase.Say("this is not Lua: %s", stopped.What)
	case errors.Is(err, box.ErrEndless):
		m.What = phrase.Say("it does not end: no script of a lock takes longer than %s", phrase.Duration(box.Limit))
	case errors.Is(err, box.ErrSteps):
		m.What = phrase.Say("its patterns do not end: no script of a lock takes more than %d steps to match them", box.Steps)
	case errors.Is(err, box.ErrTooLarge):
		m.What = phrase.Say("it takes more memory than a script may have: %s", stopped.What)
	case errors.Is(err, box.ErrContents):
		m.What = phrase.Say("it leaves a type of key in Redis that no lock has: strings, hashes without expiring fields, lists and sorted sets are allowed")
	}
	return m
}

// judge returns what is wrong with a run of an own script, or nil. What Redis
// refuses is no mistake as long as nothing was written before.
func judge(script protocol.Script, keys []string, a box.Answer) *Mistake {
	m := &Mistake{Call: script.Call}
	if a.Err != "" {
		m.What = phrase.Say("Redis cannot run it: %s", shortened(a.Err))
		return m
	}
	rec, reply, err := journal.Decode(a.Reply)
	if err != nil {
		m.What = phrase.Say("its report of what it did cannot be read")
		return m
	}
	said, wrote := 0, 0
	for _, e := range rec.Entries {
		verb := cmp.Or(shortened(strings.ToUpper(e.Args[0])), "redis.call")
		if strings.Contains(e.Err, "must be strings or integers") { // nil, which the journal writes as "nil"
			m.Line, m.What = e.Line, phrase.Say("%s is given something that is neither text nor number, such as nil", verb)
			if args := script.Args(); args != nil {
				m.What = phrase.Say("%[1]s; its ARGV are %[2]s, or what args: says", m.What, listed(args))
			}
			return m
		}
		if key, ok := unnamed(e.Args, keys); ok && !strings.Contains(e.Err, "not allowed from script") {
			m.Line, m.What = e.Line, phrase.Say("%[1]s asks for the key %[2]q, which is not among its KEYS, nor made of one; keys: can name more", verb, shortened(key))
			return m
		}
		if life, ok := lifeOf(e.Args); ok && strings.Contains(e.Err, "not an integer") {
			m.Line, m.What = e.Line, phrase.Say("%[1]s is given %[2]q as a time", verb, shortened(life.text))
			if args := script.Args(); args != nil {
				m.What = phrase.Say("%[1]s; its ARGV are %[2]s, or what args: says", m.What, listed(args))
			}
			return m
		}
		if e.Err != "" && noCommand(e.Err) {
			m.Line, m.What = e.Line, phrase.Say("Redis refuses %s: %s", verb, shortened(e.Err))
			return m
		}
		if e.Err == "" && journal.Wrote(e.Args, e.Reply) && wrote == 0 {
			wrote = max(e.Line, 1)
		}
		for _, arg := range e.Args {
			said += len(arg)
		}
	}
	switch {
	case len(rec.Entries) > maxCommands:
		m.Line, m.What = rec.Entries[maxCommands].Line, phrase.Say("it sends %d commands; a lock's script sends at most %d", len(rec.Entries), maxCommands)
	case said > maxSaid || held(a.Items) > maxHeld:
		m.What = phrase.Say("it keeps more in Redis than a lock does: %d bytes are allowed", maxHeld)
	case reply.Err != "" && reply.Line != 0:
		m.Line, m.What = reply.Line, phrase.Plain(shortened(reply.Err))
		if strings.Contains(reply.Err, "Attempt to modify a readonly table") {
			m.What = phrase.Say("it sets a global variable, and Redis has none: write local before its name")
		}
		if m.Line == journal.NoLine {
			m.Line = max(a.Lines.Below(journal.Last(script.Source))-journal.Above, 0)
		}
		if m.Line > 1+strings.Count(script.Source, "\n") { // error can name any
			m.Line = 0
		}
	case reply.Err != "" && wrote > 0:
		m.Line, m.What = wrote, phrase.Say("it writes here and then fails, and Redis does not undo the write: %s", shortened(reply.Err))
	case reply.Err == "":
		return wrongReply(m, script, reply.Value)
	default:
		return nil
	}
	return m
}

// wrongReply returns m if a value is no reply of a lock.
func wrongReply(m *Mistake, script protocol.Script, value any) *Mistake {
	if allowed, said := script.Allowed(); said {
		if script.Reads(value) {
			return nil
		}
		m.What = phrase.Say("it returns %[1]s, and its file says replies: %[2]s", shortened(written(value)), allowed)
		return m
	}
	switch v := value.(type) {
	case int64:
		if v >= int64(protocol.NotHeld) && v <= int64(protocol.Granted) {
			return nil
		}
	case []any:
		if len(v) >= 2 {
			code, isCode := v[0].(int64)
			count, isCount := v[1].(int64)
			if isCode && isCount && code >= int64(protocol.Stale) && code <= int64(protocol.Granted) && count >= 0 {
				return nil
			}
		}
	}
	if value == nil {
		m.What = phrase.Say("it returns nil, as false and no return do; allowed: {1, count}, {0, 0}, {-1, 0}, or 1, 0 and -1, or what replies: says")
		return m
	}
	m.What = phrase.Say("it returns %s; allowed: {1, count}, {0, 0}, {-1, 0}, or 1, 0 and -1, or what replies: says", shortened(written(value)))
	return m
}

// maxQuoted is how many bytes of a script's output a sentence quotes.
const maxQuoted = 100

func shortened(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return strings.ToValidUTF8(text[:maxQuoted], "") + "…"
}

// written is a reply as Lua writes it.
func written(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case string:
		return strconv.Quote(v)
	case []any:
		parts := make([]string, len(v))
		for i, one := range v {
			parts[i] = written(one)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	default:
		return fmt.Sprint(v)
	}
}

// noCommand reports whether Redis refused a command because there is none like
// it, whatever it holds.
func noCommand(err string) bool {
	err = strings.ToLower(err)
	for _, one := range []string{"unknown command", "unknown redis command", "wrong number of arg", "at least one argument", "syntax error", "not allowed from script"} {
		if strings.Contains(err, one) {
			return true
		}
	}
	return false
}

// unnamed returns the first key of a command that is neither one of keys nor made of
// one.
func unnamed(args, keys []string) (string, bool) {
	for _, key := range keysOf(args) {
		if !slices.ContainsFunc(keys, func(k string) bool { return strings.Contains(key, k) }) {
			return key, true
		}
	}
	return "", false
}

// beside returns the first key of a command that is made of one of keys, and is none
// of them.
func beside(args, keys []string) (string, bool) {
	for _, key := range keysOf(args) {
		if !slices.Contains(keys, key) && slices.ContainsFunc(keys, func(k string) bool { return strings.Contains(key, k) }) {
			return key, true
		}
	}
	return "", false
}

// keysOf returns the keys that a command asks for, * for all of them. For an unknown
// command it takes the first argument for one.
func keysOf(args []string) []string {
	switch infer.Verb(args) {
	case "TIME", "PUBLISH", "SPUBLISH", "PING", "ECHO", "RANDOMKEY", "DBSIZE", "KEYS", "SCAN", "WAIT":
		return nil
	case "FLUSHALL", "FLUSHDB":
		return []string{"*"}
	}
	if asked := infer.Touches(args).Keys; len(asked) > 0 {
		return asked
	}
	return args[1:min(2, len(args))]
}

// held is how much Redis holds, in bytes.
func held(items []store.Item) int {
	n := 0
	for _, i := range items {
		n += len(i.Name) + len(i.Text)
		for field, value := range i.Hash {
			n += len(field) + len(value)
		}
		for _, one := range i.List {
			n += len(one)
		}
		for _, one := range i.Set {
			n += len(one.Member) + 8
		}
	}
	return n
}

// Mistake says what is wrong with an own script.
type Mistake struct {
	Call string // whose script it is: "lock"
	Line int    // of the script, from 1; 0 if it is not known
	What phrase.Wording
}

// Says implements [phrase.Speaker].
func (m *Mistake) Says() phrase.Wording {
	if m.Line == 0 {
		return phrase.Say("the script %s: %s", m.Call, m.What)
	}
	return phrase.Say("the script %s, line %d: %s", m.Call, m.Line, m.What)
}

// Error says it in English.
func (m *Mistake) Error() string { return m.Says().String() }

// Note says how a script may behave differently in the box and on a Redis, or what it
// did otherwise than its file says.
type Note struct {
	Call string         // whose script it is: "lock"
	What phrase.Wording // a sentence
}

// Notes returns how a lock's own scripts may behave differently in the box and on a
// Redis, in the order of the calls.
func Notes(l scenario.Lock) []Note {
	if !l.Own() {
		return nil
	}
	var list []Note
	for _, script := range l.Implementation().Scripts {
		if !slices.Contains(l.Scripts.Calls(), script.Call) {
			continue
		}
		for _, d := range box.Differences {
			if d.In.MatchString(comment.ReplaceAllString(script.Source, "")) {
				list = append(list, Note{script.Call, phrase.Say(d.Note)})
			}
		}
	}
	return list
}

// comment matches a comment to the end of its line.
var comment = regexp.MustCompile(`--[^\n]*`)
