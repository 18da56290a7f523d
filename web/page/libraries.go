package page

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"relock/engine/check"
	"relock/engine/explore/card"
	"relock/engine/fault"
	"relock/engine/phrase"
	"relock/engine/verdict"
	"relock/lessons/libraries"
	"relock/web/film"
	"relock/web/words"
)

// Libraries is what the lab has seen of the locks that people use.
type Libraries struct {
	Faults  []LibraryFault
	Rows    []Library
	Reasons []LibraryReason // for each rule that a fault has broken
	Retried []LibraryBeside // with one lost reply, and retries of the client's own
	Open    string          // what the sign of an open cell means; "" if there is none
	Tally   string          // of all of them: "Libraries: 9, faults: 7"
}

// LibraryFault is a column.
type LibraryFault struct {
	Name  string // as the lab's -faults has it
	Label string // what it is
}

// Library is a row.
type Library struct {
	Name, Home    string
	Version, With string // With is the Redis client's; both may be ""
	Date          string // of the search, YYYY-MM-DD
	Own           string // what its worker does that the others do not, or ""
	Cells         []LibraryCell
}

// LibraryCell is what came of a search.
type LibraryCell struct {
	Count string  // "22 of 160"; "" if it was not searched
	Share float64 // of the orders that break a rule
	Trace string  // the name of the smallest order's trace; "" if no rule broke
	Says  string  // in words
	Note  string  // what is not as it should be, or ""

	Verdict verdict.Verdict // "" if it was not searched
}

// Shape is the mark that says how it went, also without its colour.
func (c LibraryCell) Shape() string {
	switch c.Verdict {
	case verdict.Broken:
		return signs[card.Broken].shape
	case verdict.Unbroken:
		return signs[card.Survived].shape
	case verdict.Unjudged:
		return open.shape
	default:
		return never.shape
	}
}

// Unbroken reports whether the lab has judged that no order breaks a rule.
func (c LibraryCell) Unbroken() bool { return c.Verdict == verdict.Unbroken }

// LibraryReason says why a rule breaks.
type LibraryReason struct {
	Rule  string // as a person calls it
	Fault string
	Says  string
	Learn string // the course's chapter, its address
}

// reason is why a fault breaks a rule, and where the course has more about it.
type reason struct {
	fault, rule string
	says        phrase.Text
	learn       string
}

// reasons are the reasons of all rules that broke.
var reasons = []reason{
	{
		"lose-request", check.ShutOut,
		"The unlock never arrived and is not sent again: the others wait until the lease ends. That is what a lease is for.", "/learn/lease",
	},
	{
		"lose-reply", check.ShutOut,
		"Redis granted the lock, and the answer was lost: the client does not know that it holds the lock, and everybody waits until the lease ends.", "/learn/messages",
	},
	{
		"late-copy", check.ShutOut,
		"The lock command arrived after its client had given up: the key is locked, no client knows, and everybody waits until the lease ends.", "/learn/messages",
	},
	{
		"lease-ends", "mutual-exclusion",
		"The client was paused for longer than its lease, the next one got the lock, and both are inside. No lease prevents that: what they protect must refuse the late write.", "/learn/tokens",
	},
	{
		"evict", "mutual-exclusion",
		"Redis dropped the key and told nobody, and the next one got the lock. Keep locks in a Redis that evicts nothing, and let what they protect check what it is sent.", "/learn/redis",
	},
}

// NewLibraries lays out what was seen.
func NewLibraries(l words.Language) (Libraries, error) {
	p := Libraries{}
	for _, name := range libraries.Faults() {
		p.Faults = append(p.Faults, LibraryFault{name, faultLabel(l, name)})
	}
	broken := map[[2]string]bool{}
	for _, one := range libraries.All() {
		if !one.Seen {
			continue
		}
		row := Library{Name: one.Name, Home: one.Home}
		if one.Own != "" {
			row.Own = l.Say(one.Own)
		}
		for _, f := range libraries.Faults() {
			seen, err := libraries.Of(one.ID(), f)
			if err != nil {
				return p, fmt.Errorf("page: %w", err)
			}
			row.Cells = append(row.Cells, libraryCell(l, one, f, seen))
			if seen == nil {
				continue
			}
			row.Version, row.With, row.Date = seen.Version, seen.With, max(row.Date, seen.Date)
			for _, r := range seen.Rules {
				broken[[2]string{f, r.Rule}] = true
			}
		}
		p.Rows = append(p.Rows, row)
		if one.Retried {
			seen, err := libraries.Of(one.ID(), libraries.LoseReplyRetried)
			if err != nil {
				return p, fmt.Errorf("page: %w", err)
			}
			p.Retried = append(p.Retried, LibraryBeside{strings.TrimSpace(row.Name + " " + row.Version), libraryCell(l, one, libraries.LoseReplyRetried, seen)})
		}
	}
	for _, r := range reasons {
		if broken[[2]string{r.fault, r.rule}] {
			p.Reasons = append(p.Reasons, LibraryReason{film.RuleTitle(l, r.rule), r.fault, l.Say(r.says), r.learn})
		}
	}
	open := func(c LibraryCell) bool { return c.Verdict == verdict.Unjudged }
	if slices.ContainsFunc(p.Rows, func(r Library) bool { return slices.ContainsFunc(r.Cells, open) }) {
		p.Open = l.Say("no rule was broken, but nobody noted whether two were inside: not judged since")
	}
	p.Tally = l.Say("Libraries: %d, faults: %d", len(p.Rows), len(p.Faults)-1)
	return p, nil
}

func libraryCell(l words.Language, one libraries.Library, f string, seen *libraries.Seen) LibraryCell {
	if seen == nil {
		return LibraryCell{Says: l.Say("not searched: a real Redis ends a lease when it ends")}
	}
	orders, found := Grouped(big.NewInt(int64(seen.Orders))), Grouped(big.NewInt(int64(seen.Broken)))
	c := LibraryCell{Count: l.Say("%[1]s of %[2]s", found, orders), Share: float64(seen.Broken) / float64(max(seen.Orders, 1))}
	c.Verdict = seen.Verdict()
	switch {
	case seen.Judged == "":
		c.Says = l.Say("%s, %s: no rule broken in %s orders; not judged since", one.Name, f, orders)
	case c.Verdict == verdict.Unjudged:
		reasons := make([]string, len(seen.Unjudged))
		for i, r := range seen.Unjudged {
			reasons[i] = string(r)
		}
		c.Says = l.Say("%s, %s: no rule broken in %s orders; this cannot be judged: %s", one.Name, f, orders, l.List(reasons))
	default:
		c.Says = l.Say("%s, %s: no rule broken in %s orders", one.Name, f, orders)
	}
	if seen.Broken > 0 {
		var titles phrase.Names
		for _, r := range seen.Rules {
			titles = append(titles, film.RuleTitle(l, r.Rule))
		}
		c.Trace = libraries.TraceID(one.ID(), f)
		c.Says = l.Say("%s, %s: %s in %s of %s orders; the smallest has %d steps", one.Name, f, l.List(titles), found, orders, seen.Rules[0].Steps)
	}
	if seen.Ending != "exhausted" {
		c.Note = l.Say("not all orders were tried")
	} else if seen.Diverged > 0 {
		c.Note = l.Say("%d replays diverged", seen.Diverged)
	}
	return c
}

// faultLabel says what a fault of the lab is.
func faultLabel(l words.Language, name string) string {
	switch name {
	case libraries.None:
		return l.Say("none: only the order is chosen")
	case "lease-ends":
		return l.Say("lease-ends: the client is paused until its lease is over")
	}
	kind, _ := fault.Named(name)
	return l.Say(kind.Label)
}

// LibrariesBeside are the libraries with one lost reply.
type LibrariesBeside struct {
	Rows []LibraryBeside
	All  string // how many there are
	Open string // as in Libraries
}

// LibraryBeside is a library with a lost reply.
type LibraryBeside struct {
	Name string // with its version
	Cell LibraryCell
}

// Beside returns the libraries with one lost reply.
func (p Libraries) Beside() LibrariesBeside {
	out := LibrariesBeside{All: p.Tally, Open: p.Open}
	column := slices.IndexFunc(p.Faults, func(f LibraryFault) bool { return f.Name == "lose-reply" })
	for _, r := range p.Rows {
		out.Rows = append(out.Rows, LibraryBeside{strings.TrimSpace(r.Name + " " + r.Version), r.Cells[column]})
	}
	return out
}

// LibraryTitle is what a library's trace is called on its page; "" if there is no such trace.
func LibraryTitle(l words.Language, trace string) string {
	for _, one := range libraries.All() {
		for _, f := range one.Faults() {
			if seen, err := libraries.Of(one.ID(), f); err == nil && seen != nil && trace == libraries.TraceID(one.ID(), f) {
				version := one.Name
				if seen.Version != "" {
					version += " " + seen.Version
				}
				if f == libraries.None {
					return l.Say("%s without a fault", version)
				}
				return l.Say("%s with one %s", version, f)
			}
		}
	}
	return ""
}
