package store

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Conn is one client's connection to an [Embedded], without a wire: it has its own
// protocol, database and transaction, like a connection. It is not safe for concurrent
// use, and must not be used for commands that wait or subscribe.
type Conn struct {
	server *mended
	peer   *server.Peer
	out    bytes.Buffer
}

// NewConn returns a connection that speaks RESP2 until it says HELLO 3.
func (e *Embedded) NewConn() *Conn {
	s := &Conn{server: e.server}
	s.peer = server.NewPeer(bufio.NewWriter(&s.out))
	return s
}

// Do runs one command, which must not be empty, and returns Redis' answer as it
// would be on the wire. A command at which miniredis itself fails is answered with an
// error, and the Embedded goes on; nobody else may use it meanwhile.
func (s *Conn) Do(args []string) (raw []byte) {
	s.out.Reset()
	defer func() {
		if p := recover(); p != nil {
			s.server.TryLock() // the command may have held it
			s.server.Unlock()
			raw = failure(fmt.Sprintf("ERR the embedded Redis fails at %s: %v", strings.ToUpper(args[0]), p))
		}
	}()
	s.server.Server().Dispatch(s.peer, args)
	s.peer.Flush()
	return bytes.Clone(s.out.Bytes())
}

// Ran is a command that a script has run, with Redis' answer.
type Ran struct {
	Args []string
	Raw  []byte // as on the wire, in RESP2
}

// mostRan is how many commands of scripts are kept for who asks.
const mostRan = 1000

// Ran returns what scripts have run since it was called last, from its first call on.
func (e *Embedded) Ran() []Ran {
	e.server.Lock()
	defer e.server.Unlock()
	list := e.server.ran
	e.server.ran = []Ran{}
	return list
}

// Names returns the names of all keys, in order.
func (e *Embedded) Names() []string { return e.server.Keys() }

// ErrEndless is of a script that has not ended within its limit.
var ErrEndless = errors.New("a script does not end")

// DoWithin is Do for what may never end: a script. When the limit is over, or ctx is
// done, it ends the script wherever that is, and fails with [ErrEndless] or with ctx's
// cause. The script's effects stay. Nobody else may use the Embedded meanwhile.
func (s *Conn) DoWithin(ctx context.Context, limit time.Duration, args []string) ([]byte, error) {
	within, end := context.WithTimeout(ctx, limit)
	defer end()
	s.server.ctx, s.server.endless = within, false
	raw := s.Do(args)
	s.server.ctx = nil
	switch {
	case !s.server.endless:
		return raw, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	default:
		return nil, ErrEndless
	}
}

// Knows reports whether it has a command of this name, in any case.
func (e *Embedded) Knows(verb string) bool {
	return verb != inScript && e.server.Server().IsRegisteredCommand(verb)
}

// Reads reports whether a command of this name changes nothing.
func (e *Embedded) Reads(verb string) bool { return e.server.reads(verb) }

// NextExpiry returns how much time is left until a key expires, or a field of one, and
// whether any will.
func (e *Embedded) NextExpiry() (left time.Duration, any bool) {
	for _, name := range e.server.Keys() {
		if first, _ := e.server.ends(name); first > 0 && (!any || first < left) {
			left, any = first, true
		}
	}
	return left, any
}

// Message is one that a subscriber has received.
type Message struct{ Pattern, Channel, Text string }

// Inbox collects the messages of a subscriber. Its methods are not safe for
// concurrent use.
type Inbox struct {
	server *miniredis.Miniredis
	sub    *miniredis.Subscriber
	got    chan Message
}

// syncChannel is one on which nobody else publishes: what comes on it says that
// all before it has come.
const syncChannel = "\x00relock:sync"

// NewInbox returns a subscriber to nothing.
func (e *Embedded) NewInbox() *Inbox {
	i := &Inbox{server: e.server.Miniredis, sub: e.server.NewSubscriber(), got: make(chan Message)}
	go func() { // holds what came until somebody asks: publishing waits for who reads
		defer close(i.got)
		messages, patterns := i.sub.Messages(), i.sub.Pmessages()
		var held []Message
		for messages != nil || patterns != nil {
			select {
			case m, ok := <-messages:
				switch {
				case !ok:
					messages = nil
				case m.Channel != syncChannel:
					held = append(held, Message{"", m.Channel, m.Message})
				default:
					for _, h := range held {
						i.got <- h
					}
					held = nil
					i.got <- Message{Channel: syncChannel}
				}
			case m, ok := <-patterns:
				if !ok {
					patterns = nil
				} else if m.Channel != syncChannel {
					held = append(held, Message{m.Pattern, m.Channel, m.Message})
				}
			}
		}
	}()
	return i
}

// Set makes these the channels and patterns to which it listens.
func (i *Inbox) Set(channels, patterns []string) {
	for _, c := range i.sub.Channels() {
		i.sub.Unsubscribe(c)
	}
	for _, p := range i.sub.Patterns() {
		i.sub.Punsubscribe(p)
	}
	for _, c := range channels {
		i.sub.Subscribe(c)
	}
	for _, p := range patterns {
		i.sub.Psubscribe(p)
	}
}

// Take returns what has come since it was called last.
func (i *Inbox) Take() []Message {
	i.sub.Subscribe(syncChannel)
	i.server.Publish(syncChannel, "")
	i.sub.Unsubscribe(syncChannel)
	var list []Message
	for m := range i.got {
		if m.Channel == syncChannel {
			break
		}
		list = append(list, m)
	}
	return list
}

// Close ends the subscriptions.
func (i *Inbox) Close() {
	i.Set(nil, nil)
	i.sub.Close()
	for range i.got { // lets the goroutines end
	}
}
