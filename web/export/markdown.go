package export

import (
	"slices"
	"strconv"
	"strings"

	"relock/engine/bound"
	"relock/engine/trace"
	"relock/web/film"
	"relock/web/page"
)

// mostRules is how many broken rules an opening paragraph lists, the first.
const mostRules = 3

// opening is the beginning of a post-mortem: what happened and when, why, and, if
// somebody asked, what mends it. Each sentence comes from a row, or from a search.
func (r Run) opening(rows []film.Row) string {
	say := r.Language.Say
	first := slices.IndexFunc(rows, func(row film.Row) bool { return len(row.Violations) > 0 })
	if first < 0 {
		if len(rows) == 0 || !rows[len(rows)-1].Final {
			return ""
		}
		return plain(rows[len(rows)-1].InFull(r.Language))
	}
	var what, why []string
	seen := map[string]bool{}
	for _, row := range rows[first:] {
		for _, v := range row.Violations {
			if !seen[v.Rule] && len(what) < mostRules {
				seen[v.Rule] = true
				what = append(what, plain(say("At %[1]s (%[2]s): %[3]s.", row.At, row.Time, v.Detail)))
			}
		}
	}
	for _, c := range film.Causes(r.Language, r.Scenario, r.Header, r.Events, first+1) {
		why = append(why, plain(c.Says))
	}
	why = append(why, plain(rows[first].Why))
	parts := []string{
		"**" + plain(say("What happened:")) + "** " + strings.Join(what, " "),
		"**" + plain(say("Why:")) + "** " + strings.Join(slices.Compact(why), " "),
	}
	if m := r.Mended; m != nil && m.Broken() {
		says, tried := page.MendEnding(r.Language, m), page.MendBefore(r.Language, m)
		if best := m.Best(); best != nil {
			counts := page.CureSays(r.Language, best)
			says = strings.TrimSuffix(says, " "+counts) // said once, below
			says += " " + page.CureNote(r.Language, best) + " " + page.NewCureWhy(r.Language, r.Cured[0], r.Cured[1], best).Says
			tried += " " + say("With the change: %s", counts)
		}
		parts = append(parts, "**"+plain(say("What to change:"))+"** "+plain(says), "**"+plain(say("How that was tried:"))+"** "+plain(tried))
	}
	if len(r.Cures) > 0 {
		saves := "**" + plain(say("What would have saved it?")) + "**\n"
		for i, c := range r.Cures {
			saves += "\n" + strconv.Itoa(i+1) + ". **" + plain(c.Title) + ".** " + plain(c.Says) + " (`" + c.Run + ".yaml`)"
		}
		parts = append(parts, saves)
	}
	if r.postMortem() {
		return strings.Join(parts, "\n\n")
	}
	return strings.Join(parts, " ")
}

// postMortem reports whether the run is told with what would have saved it.
func (r Run) postMortem() bool { return r.Mended != nil || len(r.Cures) > 0 }

// writeMarkdown writes what went wrong, and the T-table as a table of
// GitHub Flavored Markdown.
func writeMarkdown(b *bound.Buffer, r Run) error {
	say := r.Language.Say
	reel, err := r.reel(b)
	if err != nil {
		return err
	}
	b.WriteString("# " + plain(r.title()) + "\n\n")
	if text := r.opening(reel.Rows()); text != "" {
		b.WriteString(text + "\n\n")
	}
	if r.Link != "" {
		b.WriteString("[" + plain(say("Step through this run")) + "](" + target(r.Link) + ")\n\n")
	}
	b.WriteString(plain(r.place()) + "\n\n")
	head := []string{plain(say("Time"))}
	for _, thread := range r.scenario().Threads {
		head = append(head, plain(headOf(say("Thread %s", thread.Name), thread)))
	}
	head = append(head, plain(r.scenario().After(r.Language)), plain(say("Why")))
	markdownRow(b, head)
	markdownRow(b, slices.Repeat([]string{"---"}, len(head)))
	rows := reel.Rows()
	var folds []film.Fold
	if r.postMortem() { // which is read, and not looked up in
		folds = film.Folds(rows)
	}
	for i := 0; i < len(rows); i++ {
		if err := b.Pause(); err != nil {
			return err
		}
		folded := len(folds) > 0 && folds[0].First == rows[i].Step
		fold := film.Fold{}
		if folded {
			fold, folds = folds[0], folds[1:]
			i = fold.Last - 1
		}
		row := rows[i]
		cells := []string{"**" + plain(row.Time) + "**<br>" + plain(row.At)}
		if folded {
			cells[0] = "**" + plain(fold.Steps()) + "**"
		}
		for _, c := range row.Cells {
			if folded && c.Ordinal == fold.Thread {
				cells = append(cells, "**"+plain(fold.Says)+"**")
				continue
			}
			cells = append(cells, lines(r.threadCell(c)))
		}
		markdownRow(b, append(cells, lines(r.keyCell(row)), plain(row.Why)))
	}
	return nil
}

func markdownRow(b *bound.Buffer, cells []string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func lines(parts []string) string { return strings.Join(parts, "<br>") }

func (r Run) threadCell(c film.Cell) []string {
	var parts []string
	for _, n := range c.Earlier {
		parts = append(parts, plain(n.Text))
	}
	switch {
	case c.Title == "":
	case c.Acting:
		parts = append(parts, "**"+plain(c.Title)+"**")
	default:
		parts = append(parts, plain(c.Title))
	}
	if c.Parted {
		parts = append(parts, plain(r.Language.Say("believes it holds the lock")))
	}
	if c.Acting && c.Leaving {
		parts = append(parts, plain(r.Language.Say("leaving: it only has to unlock")))
	}
	for _, l := range c.Lines {
		text := strings.TrimSpace(l.Verb+" "+l.Args) + " → " + l.Reply
		if l.Node > 0 {
			text = strconv.Itoa(l.Node) + ": " + text
		}
		parts = append(parts, code(text))
	}
	for _, n := range c.Notes {
		parts = append(parts, plain(n.Text))
	}
	return parts
}

// keyCell returns the key after a row, preceded by what happened to Redis or
// the rules.
func (r Run) keyCell(row film.Row) []string {
	say := r.Language.Say
	var parts []string
	for _, v := range row.Violations {
		parts = append(parts, "**"+plain("✗ "+say("%s: %s", v.Named, v.Detail))+"**")
	}
	if row.Event != "" {
		parts = append(parts, "**"+plain(row.Event)+"**")
	}
	for _, one := range row.Key.Locks {
		parts = append(append(parts, "**"+plain(one.Name)+"**"), r.ofKey(one.Key)...)
	}
	if len(row.Key.Locks) > 0 {
		return parts
	}
	return append(parts, r.ofKey(row.Key)...)
}

// ofKey returns what is in a key.
func (r Run) ofKey(k film.Key) []string {
	say := r.Language.Say
	var parts []string
	for _, n := range k.Nodes {
		switch {
		case n.Down && n.Thread == "":
			parts = append(parts, plain(say("✕ node %d: down", n.Number)))
		case n.Down:
			parts = append(parts, plain(say("✕ node %d: down, with the key of %s", n.Number, n.Thread)))
		case n.Thread == "":
			parts = append(parts, plain(say("node %d: free", n.Number)))
		default:
			parts = append(parts, plain(say("node %d: %s", n.Number, n.Thread)))
		}
	}
	switch {
	case k.Type == trace.TypeNone && len(k.Nodes) > 0:
		return append(parts, plain(say("no majority")))
	case k.Type == trace.TypeNone:
		return append(parts, plain(say("no key")))
	}
	entries := k.Entries()
	for i, h := range entries {
		text := h.Text()
		switch {
		case k.Quoted():
		case i < len(entries)-1:
			text += ","
		default: // the numbers of last calls are in the same hash
			parts := []string{text}
			for _, c := range k.Calls {
				parts = append(parts, c.String())
			}
			text = strings.Join(parts, ", ") + "}"
		}
		if i == 0 && !k.Quoted() {
			text = "{" + text
		}
		parts = append(parts, strings.TrimSpace(plain(h.Thread)+" "+code(text)))
	}
	if k.Taken != "" {
		parts = append(parts, plain(k.Taken))
	}
	return append(parts, plain(k.Lease))
}

// markdownMarks are escaped with a backslash. A character that could end a cell or open a
// tag becomes an entity, which every table parser accepts.
const markdownMarks = "`*_{}[]#+~$!" // a link needs its brackets: parentheses are plain without them

// plain returns text that Markdown shows unchanged.
func plain(text string) string {
	var b strings.Builder
	for _, c := range oneLine(text) {
		switch {
		case strings.ContainsRune(`|\<>&`, c):
			b.WriteString("&#" + strconv.Itoa(int(c)) + ";")
		case strings.ContainsRune(markdownMarks, c):
			b.WriteString(`\` + string(c))
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// code returns text as code, as far as backticks in a table allow.
func code(text string) string {
	text = oneLine(text)
	if text == "" || strings.ContainsAny(text, "`|\\") {
		return plain(text)
	}
	return "`" + text + "`"
}

// target returns a URL for the parentheses of a link.
func target(url string) string {
	const unreserved = "-._~:/?#@!$&'*+,;=%"
	var b strings.Builder
	for _, c := range []byte(url) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(unreserved, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c)|0x100, 16)[1:]))
		}
	}
	return b.String()
}
