package interpreter

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// Chunk is how Redis calls a script in its errors.
const Chunk = "user_script"

// known are the texts that were compiled. Code is shared by all interpreters: it does
// not change when it runs.
var known = struct {
	sync.Mutex

	compiled map[source]compiled
	size     int // bytes of the texts
}{compiled: map[source]compiled{}}

// source is a text, and how it is compiled.
type source struct {
	text   string
	chunk  string // what it is called, or "" for Chunk
	framed bool
}

// compiled is a text's code, or what is wrong with it.
type compiled struct {
	code  *code
	begun []int // lines on which statements begin, sorted
	reads bool  // it says that it does not write
	fault *Fault
}

// maxCompiled is how many bytes of texts are kept compiled. A scenario has a few
// scripts.
const maxCompiled = 4 << 20

// Check compiles a text. It fails with a [*Fault] of ErrSyntax. It is safe for
// concurrent use.
func Check(text string) error {
	_, err := compile(source{text: text})
	return err
}

// compile returns a text's code. It fails with a *Fault.
func compile(s source) (compiled, error) {
	known.Lock()
	defer known.Unlock()
	c, ok := known.compiled[s]
	if !ok {
		if known.size+len(s.text) > maxCompiled {
			clear(known.compiled)
			known.size = 0
		}
		c = s.compile()
		known.compiled[s] = c
		known.size += len(s.text)
	}
	if c.fault != nil {
		f := *c.fault
		return compiled{}, &f
	}
	return c, nil
}

func (s source) compile() (c compiled) {
	defer func() {
		if p := recover(); p != nil {
			m, ok := p.(mistake)
			if !ok {
				panic(p)
			}
			if len(m.what) > 200 {
				m.what = strings.ToValidUTF8(m.what[:200], "") + "…"
			}
			c = compiled{fault: &Fault{Kind: ErrSyntax, What: m.what}}
			if m.line > 0 {
				c.fault.Lines = Lines{m.line}
			}
		}
	}()
	text := s.text
	if s.chunk == "" {
		text, c.reads = s.body()
	}
	c.code, c.begun = read(text, cmp.Or(s.chunk, Chunk), s.framed)
	return c
}

// flags are those that a script's first line may have.
var flags = []string{"no-writes", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys"}

// body is the text without its first line, if that says for which engine it is.
func (s source) body() (text string, reads bool) {
	if !strings.HasPrefix(s.text, "#!") {
		return s.text, false
	}
	wrong := func(what string) { panic(mistake{what: what}) }
	head, _, found := strings.Cut(s.text, "\n")
	if !found {
		wrong("Invalid script shebang")
	}
	words := strings.Fields(head)
	if words[0] != "#!lua" {
		wrong("Unexpected engine in script shebang: " + words[0])
	}
	for _, w := range words[1:] {
		list, ok := strings.CutPrefix(w, "flags=")
		if !ok {
			wrong("Unknown lua shebang option: " + w)
		}
		for _, f := range strings.Split(list, ",") {
			if list != "" && !slices.Contains(flags, f) {
				wrong("Unexpected flag in script shebang: " + f)
			}
			reads = reads || f == "no-writes"
		}
	}
	return s.text[len(head):], reads
}
