package board

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"strings"

	"relock/engine/phrase"
)

// Request is a command on its way to its referee, or a report of a server itself.
type Request struct {
	Conn    string  `json:"conn,omitempty"`   // the connection it came by
	Member  string  `json:"member,omitempty"` // who makes it, "" before joining
	Lang    string  `json:"lang,omitempty"`   // in which a refusal is worded
	Command Command `json:"command"`

	// Of a join: proofs of the secret and the token that came with it, and of
	// the token that a new member will have.
	Secret string `json:"secret,omitempty"`
	Token  string `json:"token,omitempty"`
	Fresh  string `json:"fresh,omitempty"`
	From   string `json:"from,omitempty"` // where it comes from, a digest

	Left bool     `json:"left,omitempty"` // the connection is gone
	Gone []string `json:"gone,omitempty"` // servers whose connections are all gone

	Spare bool `json:"spare,omitempty"` // the room ends if nobody is there: others need its place
}

// Command is what a member sends. Which keys count depends on Do.
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
	At         *int                       `json:"at,omitempty"`
	Row        int                        `json:"row,omitempty"`
	Moment     int                        `json:"moment,omitempty"`
	Focus      string                     `json:"focus,omitempty"`
	Thread     string                     `json:"thread,omitempty"`
	Background bool                       `json:"background,omitempty"`
	Network    bool                       `json:"network,omitempty"`
	Node       int                        `json:"node,omitempty"`
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
	On         *bool                      `json:"on,omitempty"`
	Tables     *int                       `json:"tables,omitempty"`
	Seconds    int                        `json:"seconds,omitempty"`
	Wish       string                     `json:"wish,omitempty"`
	Example    string                     `json:"example,omitempty"`
	Link       string                     `json:"link,omitempty"`
	Item       string                     `json:"item,omitempty"`
	Moves      []json.RawMessage          `json:"moves,omitempty"`
	Instead    *int                       `json:"instead,omitempty"`
}

// How many bytes a command may have: MaxCommand is for those of hosts that bring
// a link, or moves.
const (
	MaxCommand  = 80 << 10
	shortEnough = 16 << 10
)

// ErrNotCommand says that a frame is not a command.
var ErrNotCommand = phrase.New("that is not a command: it must be one JSON object with the keys of a command, and an id from 1 on")

// ParseCommand reads a frame; of a command that this server answers itself, only
// the ID and the name. It fails with ErrNotCommand or for an unknown command.
func ParseCommand(frame []byte) (Command, error) {
	var c Command
	var head struct {
		ID int64  `json:"id"`
		Do string `json:"do"`
	}
	if json.Unmarshal(frame, &head) == nil && head.ID > 0 && len(frame) <= shortEnough && reads(head.Do) {
		return Command{ID: head.ID, Do: head.Do}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(frame))
	dec.DisallowUnknownFields()
	if dec.Decode(&c) != nil || dec.More() || c.ID < 1 {
		_ = json.Unmarshal(frame, &struct {
			ID *int64 `json:"id"`
		}{&c.ID}) // to say which command it was
		return Command{ID: c.ID}, ErrNotCommand
	}
	if len(frame) > shortEnough && !c.long() {
		return Command{ID: c.ID}, ErrNotCommand
	}
	if commandNamed(c.Do) == nil {
		return c, phrase.New("there is no command %q; there are %s", c.Do, Commands())
	}
	return c, nil
}

// reads reports whether a command is answered by the server that is asked.
func reads(name string) bool {
	c := commandNamed(name)
	return c != nil && c.do == nil && c.name != DoJoin
}

// long reports whether the command may be longer than others.
func (c Command) long() bool { return c.Do == DoOpen || c.Do == DoAdd }

// Proof returns a digest of a secret for a room to keep.
func Proof(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:16])
}

// NewSecret returns 160 random bits.
func NewSecret() string { return rand.Text() + rand.Text()[:6] }

// CoHost returns the secret that makes a co-host, for the link that a host hands
// on. Nobody can derive the host's secret from it.
func CoHost(secret string) string { return Proof("co-host " + secret) }

// A room's code: short enough to call out, and without letters and digits that
// are taken for each other.
const (
	CodeLength = 6
	symbols    = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
)

// NewCode returns a random code.
func NewCode() string {
	code := make([]byte, CodeLength)
	for i := range code {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(symbols))))
		if err != nil {
			panic("board: no randomness: " + err.Error())
		}
		code[i] = symbols[n.Int64()]
	}
	return string(code)
}

// ParseCode returns the code that a person has typed: in any case, with spaces or
// hyphens. It fails with ErrNoRoom for a text that cannot be a code.
func ParseCode(typed string) (string, error) {
	code := strings.Map(func(c rune) rune {
		if c == ' ' || c == '-' {
			return -1
		}
		return c
	}, strings.ToUpper(typed))
	if len(code) != CodeLength || strings.Trim(code, symbols) != "" {
		return "", ErrNoRoom
	}
	return code, nil
}
