package board

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"strings"

	"relock/engine/phrase"
)

// Tenant is who gives a command.
type Tenant int

// Tenants.
const (
	Play  Tenant = iota // a page that steps alone
	Class               // a member of a class
	Lab                 // a page that steers a lab
)

// Commands that others than the referee know of.
const (
	DoJoin   = "join"   // by which one becomes a member
	DoOpen   = "open"   // by which a host has the class go on to another scenario
	DoAdd    = "add"    // by which a host adds a branch of moves that are made elsewhere
	DoRename = "rename" // its answer has the nickname
	DoWrite  = "write"  // by which a member hands in a script, which is judged before

	// Those that are answered by the server that is asked, and leave no trace in
	// the log; of an example and a walk there come moves to add.
	DoLanes   = "lanes"
	DoCompare = "compare"
	DoLocks   = "locks"
	DoTrace   = "trace"
	DoExplore = "explore"
	DoMend    = "mend"
	DoCauses  = "causes"
	DoGoal    = "goal"
	DoHalt    = "halt"
	DoOutlook = "outlook"
	DoExample = "example"
	DoWalk    = "walk"
	DoPing    = "ping"
)

// Command is what a page or a member sends. Which keys count depends on Do.
type Command struct {
	ID int64  `json:"id"`
	Do string `json:"do"`

	Part   Part   `json:"part,omitempty"`
	Secret string `json:"secret,omitempty"`
	Member string `json:"member,omitempty"`
	Token  string `json:"token,omitempty"`
	Rows   bool   `json:"rows,omitempty"`  // the member wants the film, too
	Scene  *int   `json:"scene,omitempty"` // the member's page is of that scene, and wants what it lacks of another

	Branch     int                        `json:"branch,omitempty"`
	At         *int                       `json:"at,omitempty"` // after so many moves
	Row        int                        `json:"row,omitempty"`
	Moment     int                        `json:"moment,omitempty"`
	Focus      string                     `json:"focus,omitempty"`
	Thread     string                     `json:"thread,omitempty"` // of a step "": the one that the policy chooses
	Background bool                       `json:"background,omitempty"`
	Network    bool                       `json:"network,omitempty"`
	Node       int                        `json:"node,omitempty"` // from 1; 0: none in particular
	To         string                     `json:"to,omitempty"`
	By         string                     `json:"by,omitempty"`
	Fault      map[string]json.RawMessage `json:"fault,omitempty"`
	Kind       string                     `json:"kind,omitempty"`
	Text       string                     `json:"text,omitempty"`
	Options    []string                   `json:"options,omitempty"`
	Right      *int                       `json:"right,omitempty"`
	Option     *int                       `json:"option,omitempty"`
	Script     string                     `json:"script,omitempty"`
	Faults     []string                   `json:"faults,omitempty"`
	Locked     *bool                      `json:"locked,omitempty"`
	Over       bool                       `json:"over,omitempty"` // who has the thread loses it
	On         *bool                      `json:"on,omitempty"`
	Tables     *int                       `json:"tables,omitempty"`
	Seconds    int                        `json:"seconds,omitempty"`
	Wish       string                     `json:"wish,omitempty"`
	Example    string                     `json:"example,omitempty"`
	Link       string                     `json:"link,omitempty"`
	Item       string                     `json:"item,omitempty"` // of the course, "lease/outlast"
	Moves      []json.RawMessage          `json:"moves,omitempty"`
	Instead    *int                       `json:"instead,omitempty"`

	Asked `json:"-"`
}

// Asked are the keys of a command that no referee of a class decides. Some keys
// have another type there.
type Asked struct {
	Scenario   string         `key:"scenario"` // YAML or JSON
	Branches   []Branch       `key:"branches"` // that a returning page brings along
	With       int            `key:"with"`
	Sides      []string       `key:"names"` // what the page calls the two
	Names      map[int]string `key:"names"` // what the page calls the branches
	Protocols  []string       `key:"protocols"`
	Around     *int           `key:"row"`   // left out: where the moves have led
	Stood      int            `key:"moves"` // where the page is: after so many
	From       string         `key:"from"`  // "start", "here"
	Delays     int            `key:"delays"`
	MostFaults int            `key:"faults"`
	Kinds      []string       `key:"kinds"`
	Judge      bool           `key:"judge"` // tell at the end how often a rule is broken and which lines were reached, with links instead of commands
	Rule       string         `key:"rule"`
	State      int            `key:"state"`

	// Of a lab.
	Nth      int      `key:"nth"`
	Found    int      `key:"rule"` // its place among those that the search has found
	LabFault LabFault `key:"fault"`
}

// LabFault is a fault in a lab, and the thread whose command it strikes, or, with several
// nodes, the node that it strikes.
type LabFault struct {
	Do     string `json:"do"`
	Thread string `json:"thread"`
	Node   int    `json:"node"`
	Nth    int    `json:"nth"` // of an eviction: which of several locks, from 0
}

// keys are those that a command takes, as names of Command's fields.
type keys string

const (
	none  keys = ""  // there is no such command
	bare  keys = "-" // no keys
	loose keys = "*" // none counts, and none is refused
	all   keys = "+" // the commands that a class decides
)

// takes are the keys of a command, by tenant.
type takes [Lab + 1]keys

func decided(k keys) takes    { return takes{k, all, k} }
func asked(k keys) takes      { return takes{Play: k, Class: k} }
func everywhere(k keys) takes { return takes{k, k, k} }

var inClass = takes{Class: all}

// switches is a command that turns one of the rules on or, with "on": false, off.
func switches(of func(*Rules) *bool) func(*referee, context.Context, *Member, Command) (Entry, error) {
	return func(f *referee, _ context.Context, _ *Member, c Command) (Entry, error) {
		rules := f.state.Rules
		*of(&rules) = c.On == nil || *c.On
		return Entry{Rules: &rules}, nil
	}
}

const stepKeys keys = "Branch At Thread Background Network Node"

// command is one that there is: which keys it takes, and in a class who may give it
// and what decides it. Of those that nothing decides there, join is decided before one
// is a member; the others are reads, answered by the server that is asked. The result of
// do belongs in the log, even with an error.
type command struct {
	name  string
	takes takes
	may   func(s *State, m *Member) error
	do    func(f *referee, ctx context.Context, m *Member, c Command) (Entry, error)
}

// commands are all that there are, in the order in which they are listed.
var commands = []command{
	{DoJoin, inClass, nil, nil},
	{"go", inClass, hosts, (*referee).goTo},
	{DoOpen, takes{"Link Scenario Branches", all, bare}, hosts, (*referee).goOnTo},
	{"lesson", inClass, hosts, (*referee).goThrough},
	{"step", takes{stepKeys, all, stepKeys + " Nth"}, hands, (*referee).step},
	{"run", decided("Branch To Thread"), hosts, (*referee).goOn},
	{"time", decided("Branch At To By"), hosts, (*referee).time},
	{"strike", takes{"Branch At Fault", all, "Branch At LabFault"}, hands, (*referee).strike},
	{"cut", decided("Branch At"), hosts, (*referee).cut},
	{DoAdd, inClass, hosts, (*referee).add},
	{"drop", decided("Branch"), hosts, (*referee).drop},
	{"claim", inClass, hands, (*referee).claim},
	{"release", inClass, players, (*referee).release},
	{"give", inClass, hosts, (*referee).give},
	{"deal", inClass, hosts, (*referee).deal},
	{"decide", inClass, hosts, (*referee).decideTie},
	{"ask", inClass, hosts, (*referee).question},
	{"vote", inClass, voters, (*referee).vote},
	{DoWrite, inClass, voters, (*referee).write},
	{"show", inClass, hosts, (*referee).show},
	{"clock", inClass, hosts, (*referee).clock},
	{"reveal", inClass, hosts, (*referee).reveal},
	{"again", takes{Class: all, Lab: bare}, hosts, (*referee).again},
	{"tell", inClass, hosts, (*referee).tell},
	{"close", inClass, hosts, (*referee).shelve},
	{"veil", inClass, hosts, switches(func(r *Rules) *bool { return &r.Veiled })},
	{"reserve", inClass, hosts, switches(func(r *Rules) *bool { return &r.Reserved })},
	{"lost", inClass, voters, (*referee).lost},
	{"doubt", inClass, voters, (*referee).doubt},
	{DoRename, inClass, anybody, (*referee).rename},
	{"allow", inClass, hosts, (*referee).allow},
	{"hold", inClass, hosts, (*referee).hold},
	{"lobby", inClass, hosts, switches(func(r *Rules) *bool { return &r.Lobby })},
	{"lock", inClass, hosts, (*referee).lock},
	{"remove", inClass, hosts, (*referee).remove},
	{"restore", inClass, hosts, (*referee).restore},
	{"end", takes{Class: all, Lab: loose}, hosts, (*referee).end},
	{DoCompare, everywhere("Branch With Sides"), nil, nil},
	{DoLocks, asked("Branch Protocols"), nil, nil},
	{DoLanes, everywhere("Branch At Around"), nil, nil},
	{DoTrace, everywhere("Branch"), nil, nil},
	{DoExplore, asked("Branch Stood From Delays MostFaults Kinds Judge"), nil, nil},
	{DoMend, asked("Branch"), nil, nil},
	{DoCauses, asked("Branch Around"), nil, nil},
	{DoGoal, asked("Branch Stood Item"), nil, nil},
	{DoHalt, takes{bare, bare, loose}, nil, nil},
	{DoExample, asked("Rule"), nil, nil},
	{DoWalk, asked("State"), nil, nil},
	{DoOutlook, asked("Branch Stood Names"), nil, nil},
	{DoPing, takes{Class: loose}, nil, nil},
	{"search", takes{Lab: "Kinds MostFaults"}, nil, nil},
	{"order", takes{Lab: "Found"}, nil, nil},
}

// Commands returns the names of all commands that a tenant can give.
func Commands(of Tenant) phrase.Names {
	var names phrase.Names
	for _, c := range commands {
		if c.takes[of] != none {
			names = append(names, c.name)
		}
	}
	return names
}

// commandNamed returns a command of a tenant, nil where there is none.
func commandNamed(of Tenant, name string) *command {
	for i, c := range commands {
		if c.name == name && c.takes[of] != none {
			return &commands[i]
		}
	}
	return nil
}

// How many bytes a command of a class may have: MaxCommand is for those of hosts
// that bring a link, or moves.
const (
	MaxCommand  = 80 << 10
	shortEnough = 16 << 10
)

// Errors of frames that are no commands: in a class, where each has an ID, and of
// the keys of others.
var (
	ErrNotCommand = phrase.New("that is not a command: it must be one JSON object with the keys of a command, and an id from 1 on")
	ErrKeys       = phrase.New("that is not a command: it must be one JSON object with the keys of a command")
)

// ParseCommand reads a tenant's frame. It fails with ErrNotCommand, with ErrKeys, or
// for an unknown command. With the error comes what is known: the ID, and of a known
// command the name.
func ParseCommand(of Tenant, frame []byte) (Command, error) {
	var head struct {
		ID int64  `json:"id"`
		Do string `json:"do"`
	}
	dec := json.NewDecoder(bytes.NewReader(frame))
	err := dec.Decode(&head)
	c := Command{ID: head.ID}
	tooLong := len(frame) > shortEnough && !Command{Do: head.Do}.long()
	switch {
	case of == Class && (err != nil || dec.More() || c.ID < 1 || tooLong):
		return c, ErrNotCommand
	case err != nil:
		return c, ErrKeys
	}
	is := commandNamed(of, head.Do)
	if is == nil {
		return c, unknown(of, head.Do, frame)
	}
	c.Do = head.Do
	read := c
	if err := read.take(is.takes[of], frame); err != nil {
		return c, err
	}
	return read, nil
}

// long reports whether the command may be longer than others.
func (c Command) long() bool { return c.Do == DoOpen || c.Do == DoAdd }

// unknown says that there is no such command; in a class the keys come first.
func unknown(of Tenant, name string, frame []byte) error {
	switch {
	case of == Lab:
		return phrase.New("a lab has no command %.40q", name)
	case of == Class && new(Command).take(all, frame) != nil:
		return ErrNotCommand
	default:
		return phrase.New("there is no command %q; there are %s", name, Commands(of))
	}
}

// take reads a frame's keys, and refuses others.
func (c *Command) take(takes keys, frame []byte) error {
	if takes == loose {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(frame))
	dec.DisallowUnknownFields()
	if takes == all {
		if dec.Decode(c) != nil {
			return ErrNotCommand
		}
		return nil
	}
	got := reflect.New(shapes[takes]).Elem()
	if dec.Decode(got.Addr().Interface()) != nil {
		return ErrKeys
	}
	for i := range got.NumField() {
		reflect.ValueOf(c).Elem().FieldByName(got.Type().Field(i).Name).Set(got.Field(i))
	}
	return nil
}

// shapes are structs with those fields of Command that keys name, and no others:
// reading a frame into one is strict.
var shapes = func() map[keys]reflect.Type {
	out := map[keys]reflect.Type{}
	for _, c := range commands {
		for _, k := range c.takes {
			if k != none && k != loose && k != all {
				out[k] = k.shape()
			}
		}
	}
	return out
}()

func (k keys) shape() reflect.Type {
	var fields []reflect.StructField
	for _, name := range strings.Fields("ID Do " + strings.TrimPrefix(string(k), string(bare))) {
		f, ok := reflect.TypeFor[Command]().FieldByName(name)
		if !ok {
			panic("board: a command has no field " + name)
		}
		key := cmp.Or(f.Tag.Get("json"), f.Tag.Get("key"))
		fields = append(fields, reflect.StructField{Name: f.Name, Type: f.Type, Tag: reflect.StructTag(`json:"` + key + `"`)})
	}
	return reflect.StructOf(fields)
}
