package scenario

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"relock/engine/strict"

	"go.yaml.in/yaml/v3"

	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
)

// Scripts are the Lua scripts of a user's own lock, by their calls; "" is a call that has
// none.
type Scripts struct {
	Lock   string `json:"lock,omitempty"`
	Unlock string `json:"unlock,omitempty"`
	Renew  string `json:"renew,omitempty"`
	Leave  string `json:"leave,omitempty"`
}

// of returns where the script of a call is kept.
func (s *Scripts) of(call string) *string {
	switch call {
	case protocol.CallLock:
		return &s.Lock
	case protocol.CallUnlock:
		return &s.Unlock
	case protocol.CallRenew:
		return &s.Renew
	default:
		return &s.Leave
	}
}

// bare is the lock whose calls an own lock has that is like no other. Its
// leases are not renewed unless a script does.
var bare = func() *protocol.Protocol {
	p := *protocol.Reentrant
	p.Renew, p.Scripts = nil, p.Scripts[:2]
	return &p
}()

// base returns the lock whose calls l has, where its own scripts are not.
func (l Lock) base() *protocol.Protocol {
	if l.Like == "" {
		return bare
	}
	return exhibit.Named(l.Like)
}

// Implementation returns how the lock is kept: the protocol with its name, or
// one with its own scripts; either may keep its key after the work, or wait for replicas. It is safe for concurrent
// use.
func (l Lock) Implementation() *protocol.Protocol {
	p := l.plain()
	if l.Wait.Count == 0 {
		return p
	}
	type waiting struct {
		of   *protocol.Protocol
		wait Sync
	}
	made, _ := synced.LoadOrStore(waiting{p, l.Wait}, p.Synced(l.Wait.Count, l.Wait.Within))
	return made.(*protocol.Protocol)
}

// synced are the protocols that wait for replicas.
var synced sync.Map

// plain returns how the lock is kept, without waiting for replicas.
func (l Lock) plain() *protocol.Protocol {
	if !l.Own() && l.Keep == 0 {
		return exhibit.Named(l.Protocol)
	}
	key := madeLock{l.Protocol, l.Keep, l.Like, l.Scripts, l.ReleaseOnce, l.Convention.ID()}
	madeLocks.Lock()
	defer madeLocks.Unlock()
	p, ok := madeLocks.made[key]
	if ok {
		return p
	}
	if p = exhibit.Named(l.Protocol).Kept(l.Keep); l.Own() {
		p = l.withScripts()
	}
	if p == nil { // refused by Parse
		return exhibit.Named("")
	}
	if len(madeLocks.made) >= mostMade {
		clear(madeLocks.made)
	}
	madeLocks.made[key] = p
	return p
}

// withScripts returns the lock with its own scripts, or nil where it cannot have any.
func (l Lock) withScripts() *protocol.Protocol {
	sources := map[string]string{}
	for _, call := range l.base().Calls() {
		if source := *l.Scripts.of(call); source != "" {
			sources[call] = source
		}
	}
	p := l.base().With(sources, l.Convention)
	if p != nil {
		p.Once = l.ReleaseOnce
	}
	return p
}

// Calls returns the names of the calls that can have a user's script, none if like names
// an unknown lock.
func (l Lock) Calls() []string {
	if base := l.base(); base.Name != "" {
		return base.Calls()
	}
	return nil
}

// Beginning returns the scripts that an own lock like another one begins with, by
// their calls: that one's, or one that does what it does by plain commands; and for
// "" the frames.
func Beginning(like string) map[string]string {
	sources := map[string]string{}
	if like != "" {
		if sources = exhibit.Named(like).Sources(); len(sources) == 0 {
			maps.Copy(sources, exhibit.Named(like).Begin)
		}
		return sources
	}
	for _, call := range bare.Calls()[:2] { // without another script leases are not renewed
		sources[call] = protocol.Frame(call)
	}
	return sources
}

// Own reports whether the lock has scripts that somebody has written: they must
// not run in this process.
func (l Lock) Own() bool { return l.Protocol == protocol.Own }

type madeLock struct {
	protocol string
	keep     time.Duration
	like     string
	scripts  Scripts
	once     bool

	convention string // its ID
}

// madeLocks are the last few that were made: a search asks for one thousands of
// times.
var madeLocks = struct {
	sync.Mutex

	made map[madeLock]*protocol.Protocol
}{made: map[madeLock]*protocol.Protocol{}}

const mostMade = 64

// Writable returns the names of the locks that a user's own can be like.
func Writable() []string {
	var names []string
	for _, p := range exhibit.All() {
		if p.Writable() {
			names = append(names, p.Name)
		}
	}
	return names
}

// OwnForm is the part of a lock that only a user's own has, as a scenario has it in JSON.
type OwnForm struct {
	Like    string   `json:"like,omitzero"`
	Scripts *Scripts `json:"scripts,omitzero"`
	Args    object   `json:"args,omitzero"`
	Keys    []string `json:"keys,omitzero"`
	Replies object   `json:"replies,omitzero"`
	Release string   `json:"release,omitzero"`
}

// OwnForm returns the part of the lock that only a user's own has.
func (l Lock) OwnForm() OwnForm {
	if !l.Own() {
		return OwnForm{}
	}
	f := OwnForm{Like: l.Like, Scripts: &l.Scripts, Keys: l.Convention.Keys}
	f.Args, f.Replies = l.conventionForm()
	if l.ReleaseOnce {
		f.Release = releaseOnce
	}
	return f
}

// releaseOnce is the word for Lock.ReleaseOnce.
const releaseOnce = "once"

// ownKeys are the keys that only a user's own lock has.
var ownKeys = []string{"like", "scripts", "args", "keys", "replies", "release"}

// WithoutScripts returns the lock without the parts that only a user's own has.
func (l Lock) WithoutScripts() Lock {
	l.Like, l.Scripts, l.Convention, l.ReleaseOnce = "", Scripts{}, protocol.Convention{}, false
	return l
}

// own reads the parts of a user's own lock.
func (p *parser) own(v strict.Value, f strict.Map, s *Scenario) {
	l := &s.Lock
	if !l.Own() {
		for _, name := range ownKeys {
			p.only(f, name, !p.judges(), strict.Say("only with protocol: %s", protocol.Own))
		}
		return
	}
	if like, ok := f["like"]; ok && !p.OneOf(like, &l.Like, Writable()...) {
		return
	}
	if release, ok := f["release"]; ok {
		word := ""
		l.ReleaseOnce = p.OneOf(release, &word, releaseOnce)
	}
	scripts, ok := f["scripts"]
	if !ok {
		p.Wrong(v, strict.Say("no scripts"), strict.Say("scripts: with a Lua script for lock, unlock and, if leases are to be renewed, renew"))
		return
	}
	calls := l.Calls()
	if len(calls) == 0 { // an unknown lock is refused already
		return
	}
	sources := p.Fields(scripts, calls...)
	s.scriptLines = map[string]int{}
	for call, source := range sources {
		read := p.Text(source, l.Scripts.of(call), strict.Say("a Lua script of 1 to %s bytes, without control characters", MaxScript), isScript)
		if read && source.Style == yaml.LiteralStyle {
			s.scriptLines[call] = source.Line
		}
	}
	for _, call := range calls[:2] {
		if sources != nil && !sources.Has(call) && l.Like == "" {
			p.Wrong(scripts, strict.Say("no script %s", call), strict.Say("both lock and unlock, or like: with the lock that has the others"))
		}
	}
	if sources != nil && len(sources) == 0 && l.Like != "" {
		p.Wrong(scripts, strict.Say("no script"), strict.Say("at least one of %s", strings.Join(calls, ", ")))
	}
	p.convention(f, l)
}

func isScript(s string) bool {
	return strings.TrimSpace(s) != "" && len(s) <= MaxScript && strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsPrint(r) && r != '\n' && r != '\t'
	}) < 0
}

// ScriptLine returns the line of the scenario's text that is the nth of the
// script of a call, 0 where it is not known: of a script that is not a block
// with its lines as they are.
func (s *Scenario) ScriptLine(call string, n int) int {
	at, ok := s.scriptLines[call]
	if !ok || n < 1 {
		return 0
	}
	return at + n
}

// ownCalls are the calls that can have a user's script.
var ownCalls = []string{protocol.CallLock, protocol.CallUnlock, protocol.CallRenew, protocol.CallLeave}

// Calls returns the names of the calls that have a script.
func (s Scripts) Calls() []string {
	return slices.DeleteFunc(slices.Clone(ownCalls), func(call string) bool { return *s.of(call) == "" })
}
