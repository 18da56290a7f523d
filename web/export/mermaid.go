package export

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"relock/engine/bound"
	"relock/engine/fault"
	"relock/engine/trace"
	"relock/web/film"
)

// maxMermaid is in bytes. Mermaid by default refuses to draw more than 50,000
// characters; the difference is for closing the diagram.
const maxMermaid = 50_000 - 1_000

// diagram draws a run, event by event.
type diagram struct {
	b       *bound.Buffer
	run     Run
	threads map[string]string // name to participant
	first   string            // the first and last participants
	last    string
	owners  *strings.Replacer
	soFar   *film.Timeline // the events so far, which sentences need

	step   int
	script *trace.Event    // the first command of the running script, or nil
	lost   map[string]bool // threads that will not hear the next reply
}

// writeMermaid writes a sequence diagram: threads and Redis, with a bar on
// Redis for as long as a script runs and the script's commands within it.
func writeMermaid(b *bound.Buffer, r Run) error {
	d := &diagram{b: b, run: r, threads: map[string]string{}, lost: map[string]bool{}, soFar: r.timeline()}
	b.WriteString("sequenceDiagram\n")
	d.line("title " + mermaidText(r.title()))
	for i, t := range r.scenario().Threads {
		id := "t" + strconv.Itoa(i)
		d.threads[t.Name] = id
		d.participant(id, headOf(t.Name, t))
	}
	if r.Scenario.Lock.Nodes > 1 {
		for n := range r.Scenario.Lock.Nodes {
			d.participant(redisID(n+1), r.Language.Say("Redis, node %d", n+1))
		}
	} else {
		d.participant(redisID(1), "Redis")
	}
	var names []string
	for id, thread := range r.Header.Owners {
		names = append(names, id, thread)
	}
	d.owners = strings.NewReplacer(names...)
	if len(names) > 0 {
		d.note(d.all(), r.Language.Say("Owner ids are shown as the names of their threads."))
	}
	for i, e := range r.Events { // stops early once the diagram is full
		if b.Len() > maxMermaid {
			d.close(r.Language.Say("the script has ended"))
			d.note(d.all(), r.Language.Say("Cut here, %d events before the end: a diagram cannot hold more.", len(r.Events)-i))
			return nil
		}
		if err := b.Pause(); err != nil {
			return err
		}
		d.event(e)
	}
	d.close(r.Language.Say("the script has ended"))
	return nil
}

func redisID(node int) string { return "r" + strconv.Itoa(max(node, 1)) }

func (d *diagram) line(text string) { d.b.WriteString("    " + text + "\n") }

func (d *diagram) participant(id, name string) {
	d.line("participant " + id + " as " + mermaidText(name))
	if d.first == "" {
		d.first = id
	}
	d.last = id
}

func (d *diagram) all() string { return d.first + "," + d.last }

func (d *diagram) note(over, text string) { d.line("Note over " + over + ": " + mermaidText(text)) }

// when writes a step and its time above the first entry of the step.
func (d *diagram) when(e trace.Event) string {
	if e.Step == d.step {
		return ""
	}
	d.step = e.Step
	return fmt.Sprintf("T%d · %s · ", e.Step, d.run.Language.Duration(e.At.Duration()))
}

func (d *diagram) event(e trace.Event) {
	thread, known := d.threads[e.Thread]
	switch body := e.Body.(type) {
	case trace.Command:
		if known {
			d.command(thread, e, body)
		}
		return
	case trace.Outcome:
		if d.script != nil && d.script.Thread == e.Thread && !late(*d.script) {
			w := worded(d.soFar, e)
			d.close(strings.Join(append([]string{w.title}, w.notes...), ", "))
			return
		}
	case trace.Work:
		if body.State == trace.WorkEnd && !body.Cancelled {
			return // the beginning said how long
		}
	case trace.Fault:
		if body.Do == fault.LoseReply {
			d.lost[e.Thread] = true
		}
	}
	w := worded(d.soFar, e)
	if e.Thread != "" {
		d.close(d.run.Language.Say("the script has ended"))
	}
	if known {
		d.noteAll(thread, e, w)
		return
	}
	for _, text := range append(w.broken, w.event) {
		if text != "" {
			d.note(d.all(), d.when(e)+text)
		}
	}
}

func (d *diagram) noteAll(over string, e trace.Event, w wording) {
	for _, text := range append([]string{w.title}, w.notes...) {
		if text != "" {
			d.note(over, d.when(e)+text)
		}
	}
}

func (d *diagram) command(thread string, e trace.Event, c trace.Command) {
	redis := redisID(c.Node)
	if d.run.Scenario.Lock.Nodes <= 1 || c.Node > d.run.Scenario.Lock.Nodes {
		redis = redisID(1)
	}
	text, reply := d.owners.Replace(typed(c.Args)), d.owners.Replace(cmp.Or(c.Error, film.Reply(d.run.Language, c.Reply)))
	when := d.when(e)
	if c.Late {
		d.lost[e.Thread] = true
		if when != "" {
			when += worded(d.soFar, e).title + " · "
		}
	}
	if d.script != nil && !sameScript(*d.script, e) {
		d.close(d.run.Language.Say("the script has ended"))
	}
	if c.Script == "" {
		d.line(thread + "->>" + redis + ": " + mermaidText(when+text))
		d.line(redis + d.arrow(e.Thread) + thread + ": " + mermaidText(reply))
		return
	}
	if d.script == nil {
		d.script = &e
		d.line(thread + "->>+" + redis + ": " + mermaidText(when+c.Script))
	}
	d.line(redis + "->>" + redis + ": " + mermaidText(text+" → "+reply))
}

// arrow returns the arrow for a reply: one that never arrives ends in a cross.
func (d *diagram) arrow(thread string) string {
	if d.lost[thread] {
		delete(d.lost, thread)
		return "--x"
	}
	return "-->>"
}

// close ends the running script, with its outcome.
func (d *diagram) close(text string) {
	if d.script == nil {
		return
	}
	e := *d.script
	d.script = nil
	c, _ := e.Body.(trace.Command)
	redis := redisID(1)
	if d.run.Scenario.Lock.Nodes > 1 && c.Node <= d.run.Scenario.Lock.Nodes {
		redis = redisID(c.Node)
	}
	d.line(redis + d.arrow(e.Thread) + "-" + d.threads[e.Thread] + ": " + mermaidText(text))
}

// late reports whether nobody waits for a command's answer.
func late(e trace.Event) bool {
	c, _ := e.Body.(trace.Command)
	return c.Late
}

// sameScript reports whether two consecutive commands belong to one run of a
// script.
func sameScript(a, b trace.Event) bool {
	x, _ := a.Body.(trace.Command)
	y, _ := b.Body.(trace.Command)
	return x.Script != "" && x.Script == y.Script && a.Thread == b.Thread && a.Step == b.Step &&
		x.Call == y.Call && x.Attempt == y.Attempt && x.Level == y.Level && x.Node == y.Node
}

// mermaidText escapes text for any place in a diagram: characters with a
// meaning in Mermaid become numeric entities.
func mermaidText(text string) string {
	const safe = " .,_-+/()=→·…×−:✗?'"
	text = oneLine(text)
	if text == "" {
		return "–"
	}
	var b strings.Builder
	lower := strings.ToLower(text)
	for i, c := range text {
		word := unicode.IsLetter(c) || unicode.IsNumber(c) || unicode.IsMark(c) || c > unicode.MaxASCII && unicode.IsPunct(c)
		directive := i == 0 && (strings.HasPrefix(lower, "wrap") || strings.HasPrefix(lower, "nowrap"))
		internal := strings.ContainsRune("ﬂ°¶ß", c) // Mermaid's own encoding of entities
		if (word || strings.ContainsRune(safe, c)) && !directive && !internal {
			b.WriteRune(c)
		} else {
			b.WriteString("#" + strconv.Itoa(int(c)) + ";")
		}
	}
	return b.String()
}
