package course

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"relock/engine/check"
	"relock/engine/explore"
	"relock/engine/phrase"
	"relock/engine/scenario"

	"go.yaml.in/yaml/v3"
)

// Steps are how many lengths of a fault are tried for each lease, up to three leases, in
// items and claims of any length.
const Steps = 5

// lengthsOf are how long a fault may last, from a part of the lease to three leases.
func lengthsOf(sc *scenario.Scenario, steps int) []time.Duration {
	list := make([]time.Duration, 3*steps)
	for n := range list {
		list[n] = sc.Lock.Lease * time.Duration(n+1) / time.Duration(steps)
	}
	return list
}

type claimYAML struct {
	ID       placed     `yaml:"id"`
	Option   placed     `yaml:"option"`
	Scenario placed     `yaml:"scenario"`
	Change   yaml.Node  `yaml:"change"`
	Holds    []placed   `yaml:"holds"`
	Within   withinYAML `yaml:"within"`
}

// claim is what a sentence says of every order: none breaks these rules.
type claim struct {
	id     string
	sc     *scenario.Scenario
	rules  []string
	within explore.Bounds
	line   int
}

// aClaim is where a sentence says which claim it makes.
var aClaim = regexp.MustCompile(`\{\{claim "([^"]*)"\}\}`)

// claim reads a claim of the item, whose options were read.
func (r *itemReader) claim(y *claimYAML) {
	c := claim{id: y.ID.Text, line: y.ID.Line}
	twice := slices.ContainsFunc(r.i.claims, func(other claim) bool { return other.id == c.id })
	if !name.MatchString(c.id) || twice || len(y.Holds) == 0 {
		r.at(c.line, "claim %q: allowed: an id of its own in small letters, and the rules that it holds", c.id)
		return
	}
	base := r.base
	var err error
	switch o := r.i.Option(y.Option.Text); {
	case y.Scenario.Text != "":
		base, err = r.bundled(y.Scenario.Text)
	case o != nil:
		base, err = raw(o.Scenario)
	case y.Option.Text != "":
		err = phrase.New("the item has no option %q", y.Option.Text)
	case r.i.lab != nil:
		err = phrase.New("a claim is searched, and nobody can search what a lab recorded; allowed: scenario")
	}
	if err == nil {
		c.sc, err = changed(base, &y.Change)
	}
	if err == nil {
		c.within = y.Within.bounds()
		_, err = c.within.Check(c.sc)
	}
	for _, rule := range y.Holds {
		if _, known := check.Named(rule.Text); !known && err == nil {
			err = phrase.New("there is no rule %q; allowed: %s", rule.Text, strings.Join(check.Names(), ", "))
		}
		c.rules = append(c.rules, rule.Text)
	}
	if err != nil {
		r.at(c.line, "claim %s: %s", c.id, err)
		return
	}
	r.i.claims = append(r.i.claims, c)
}

// claimed holds the claims of an item to a text of it: each is made there, and no other.
func (r *reader) claimed(t *text, i *Item) {
	made := map[string]bool{}
	for _, p := range t.items[i.ID].parts {
		for _, m := range aClaim.FindAllStringSubmatch(p.source, -1) {
			made[m[1]] = true
			if !slices.ContainsFunc(i.claims, func(c claim) bool { return c.id == m[1] }) {
				r.mistake(t.file, p.line, "%s has no claim %q", i.ID, m[1])
			}
		}
	}
	for _, c := range i.claims {
		if !made[c.id] {
			r.mistake(t.file, t.items[i.ID].line, "no sentence of %s makes the claim %q", i.ID, c.id)
		}
	}
}

// TryClaims searches every order of what the items claim, with faults of so many lengths for
// each lease, and fails with a Mistake for each claim that some order breaks. Claims of the
// same orders are searched together.
func (c *Course) TryClaims(ctx context.Context, steps int) error {
	var all Mistakes
	spaces := map[string]*explore.Space{}
	for _, i := range c.All() {
		for _, one := range i.claims {
			if why, err := one.try(ctx, steps, spaces); err != nil {
				return err
			} else if !why.IsZero() {
				all = append(all, wrongIn(i.Chapter.dir+"/chapter.yaml", one.line, about(i.ID, "claim %s: %s", one.id, why)))
			}
		}
	}
	if len(all) > 0 {
		return all
	}
	return nil
}

// try says what breaks a claim, or nothing.
func (c *claim) try(ctx context.Context, steps int, spaces map[string]*explore.Space) (phrase.Wording, error) {
	within := c.within
	within.Lengths = lengthsOf(c.sc, steps)
	key, err := searchKey(c.sc, "", within)
	if err != nil {
		return phrase.Wording{}, err
	}
	if spaces[key] == nil {
		if spaces[key], err = explore.Search(ctx, c.sc, within, explore.Options{Workers: 1}); err != nil {
			return phrase.Wording{}, fmt.Errorf("course: %w", err)
		}
	}
	space := spaces[key]
	if space.Ending() != explore.Exhausted {
		return phrase.Say("not every schedule could be seen (%s): choose smaller bounds", space.Why()), nil
	}
	for _, r := range space.Rules() {
		if slices.Contains(c.rules, r.Name) {
			moves, err := json.Marshal(r.Schedule)
			if err != nil {
				return phrase.Wording{}, fmt.Errorf("course: %w", err)
			}
			return phrase.Say("%s of %s orders break %s, such as %s", r.Schedules.String(), space.Schedules().String(), r.Name, string(moves)), nil
		}
	}
	return phrase.Wording{}, nil
}
