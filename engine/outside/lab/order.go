package lab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"relock/engine/fault"
	"relock/engine/phrase"
)

// What can happen to a command, a worker, or Redis. LeaseEnds moves Redis' clock to the
// next expiry; the others are the faults of scenarios.
const (
	LoseRequest = fault.LoseRequest
	LoseReply   = fault.LoseReply
	LoseMessage = fault.LoseMessage
	Delay       = fault.Delay
	LateCopy    = fault.LateCopy
	LeaseEnds   = "lease-ends"
	Evict       = fault.Evict
	Crash       = fault.Crash
	Pause       = fault.Pause
)

// delayed is how long Redis' clock goes on while a delayed command is on its way.
const delayed = 300 * time.Millisecond

// kind is a fault, with when it can strike.
type kind struct {
	name      string
	wall      bool // only on the wall's clock
	gate      bool // only on the gate's
	ofCommand bool // it strikes a command
}

// kinds are all faults.
var kinds = []kind{
	{LoseRequest, false, false, true},
	{LoseReply, false, false, true},
	{LoseMessage, false, false, true},
	{Delay, false, false, true},
	{LateCopy, false, false, true},
	{LeaseEnds, false, true, false},
	{Evict, false, false, false},
	{Crash, true, false, true},
	{Pause, true, false, true},
}

// fits reports whether it can strike within the options.
func (k kind) fits(o Options) bool {
	return (!k.wall || o.Clock == ClockWall) && (!k.gate || o.Clock == ClockGate && o.External == nil)
}

// kindNamed returns a fault by its name, the zero kind if there is none.
func kindNamed(name string) kind {
	for _, k := range kinds {
		if k.name == name {
			return k
		}
	}
	return kind{}
}

// Faults returns the names of all faults.
func Faults() []string {
	list := make([]string, len(kinds))
	for i, k := range kinds {
		list[i] = k.name
	}
	return list
}

// Decision is one decision of an order. -replay takes its JSON.
type Decision struct {
	Thread  string `json:"thread,omitempty"`  // whose next command is answered, or struck; "" if it strikes Redis
	Node    int    `json:"node,omitempty"`    // the node that it was sent to, or that it strikes, from 1; 0 if there is only one, or for all
	Nth     int    `json:"nth,omitempty"`     // of its commands that wait there, or of the locks that are evicted, where there are several: 0 is of the oldest connection, or the first lock
	Command string `json:"command,omitempty"` // what it is; empty: whatever comes
	Do      string `json:"do,omitempty"`      // the fault, or ""
}

// String returns the decision in words: "A: SET invoice:7 NX, lose-reply".
func (d Decision) String() string {
	where := ""
	if d.Node > 0 {
		where = fmt.Sprintf(" (node %d)", d.Node)
	}
	switch {
	case d.Thread == "":
		return d.Do + where
	case d.Do == "":
		return d.Thread + ": " + d.Command + where
	default:
		return d.Thread + ": " + d.Command + where + ", " + d.Do
	}
}

// same reports whether two are the same choice, whatever its command is.
func (d Decision) same(o Decision) bool {
	return d.Thread == o.Thread && d.Node == o.Node && d.Nth == o.Nth && d.Do == o.Do
}

// FaultsOf returns the faults that strike in an order.
func FaultsOf(order []Decision) []string {
	var list []string
	for _, d := range order {
		if d.Do != "" {
			list = append(list, d.Do)
		}
	}
	return list
}

// ErrOrder says that a text is not an order.
var ErrOrder = phrase.New("it is not an order; allowed: a line as the lab prints it, [{\"thread\":\"A\"}, …], or what -json printed")

// ReadOrder reads an order as the lab prints it: a line of JSON, a line of -json that
// has one, the first of several, or the header of a trace that -save has written. It
// fails with ErrOrder.
func ReadOrder(r io.Reader) ([]Decision, error) {
	lines := bufio.NewScanner(io.LimitReader(r, 16<<20))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		line = bytes.TrimPrefix(line, []byte("order: "))
		if len(line) == 0 {
			continue
		}
		var order []Decision
		if json.Unmarshal(line, &order) == nil {
			return checked(order)
		}
		var form struct {
			Order *[]Decision `json:"order"`
			Lab   any         `json:"lab"`
		}
		var head struct {
			Lab struct {
				Order *[]Decision `json:"order"`
			} `json:"lab"`
		}
		_ = json.Unmarshal(line, &head)
		if err := json.Unmarshal(line, &form); err != nil {
			return nil, ErrOrder
		}
		switch {
		case form.Order != nil:
			return checked(*form.Order)
		case head.Lab.Order != nil:
			return checked(*head.Lab.Order)
		case form.Lab == nil:
			return nil, ErrOrder
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("lab: read an order: %w", err)
	}
	return nil, ErrOrder
}

func checked(order []Decision) ([]Decision, error) {
	for _, d := range order {
		if d.Thread == "" && d.Do == "" || d.Nth < 0 || d.Node < 0 || d.Do != "" && !slices.Contains(Faults(), d.Do) {
			return nil, ErrOrder
		}
	}
	return order, nil
}

// Line returns the order as ReadOrder reads it.
func Line(order []Decision) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(order); err != nil {
		return "[]"
	}
	return strings.TrimSpace(b.String())
}
