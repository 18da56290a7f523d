package lab

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"relock/engine/outside/infer"
	"relock/engine/outside/resp"
	"relock/engine/trace"
)

// without answers a command that needs no decision.
func (g *Gate) without(c *conn, it *item) (raw []byte, done bool) {
	args := it.args
	v := infer.Verb(args)
	if c.multi && v != "EXEC" && v != "DISCARD" && v != "RESET" && v != "QUIT" && v != "WATCH" && v != "MULTI" {
		if why := g.refused(args); why != "" {
			c.dirty = true
			return resp.Failure(why), true
		}
		if len(c.tx) >= maxQueue || c.txHeld > maxHeld {
			c.dirty = true
			return resp.Failure(fmt.Sprintf("ERR a transaction has more than %d commands or %d bytes", maxQueue, maxHeld)), true
		}
		raw = g.ask(c, args)
		if _, failed := resp.Value(raw); failed == "" {
			c.tx, c.txHeld = append(c.tx, args), c.txHeld+it.weight
		}
		return raw, true
	}
	if c.in != nil && !c.resp3 && !slices.Contains(whileListening, v) {
		return resp.Failure(fmt.Sprintf("ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context", strings.ToLower(v))), true
	}
	if v == "EXEC" {
		if !c.multi || c.dirty {
			if c.multi {
				g.ask(c, []string{"DISCARD"})
				c.multi, c.dirty, c.tx = false, false, nil
				return resp.Failure("EXECABORT Transaction discarded because of previous errors."), true
			}
			return resp.Failure("ERR EXEC without MULTI"), true
		}
		it.tx = c.tx
		return nil, false
	}
	if why := g.refused(args); why != "" {
		return resp.Failure(why), true
	}
	if v == "EVALSHA" || v == "EVALSHA_RO" {
		if _, known := g.text(args); !known && len(args) >= 3 {
			return resp.Failure("NOSCRIPT No matching script. Please use EVAL."), true
		}
	}
	if !passes(args) {
		why := misdated(args)
		return resp.Failure(why), why != ""
	}
	return g.polite(c, args), true
}

// whileListening is what a subscriber may send in RESP2.
var whileListening = []string{"SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "PING", "QUIT", "RESET"}

// ask passes a command to Redis.
func (g *Gate) ask(c *conn, args []string) []byte {
	raw, err := c.s.do(args)
	if err != nil {
		return resp.Failure("ERR " + err.Error())
	}
	return g.stays(raw)
}

// stays is an answer that sends nobody to another node of a cluster: there is no gate.
func (g *Gate) stays(raw []byte) []byte {
	if g.nodes.cluster() && (bytes.HasPrefix(raw, []byte("-MOVED ")) || bytes.HasPrefix(raw, []byte("-ASK "))) {
		return resp.Failure(fmt.Sprintf("ERR the lab stands before the node that has the key %q; this key is on another one", infer.Short(g.key, 60)))
	}
	return raw
}

// refused says why a command is not run, by name, or "".
func (g *Gate) refused(args []string) string {
	v := infer.Verb(args)
	switch {
	case v == "CLIENT" && sub(args) == "TRACKING" && !(len(args) == 3 && strings.EqualFold(args[2], "OFF")):
		v += " " + sub(args)
		fallthrough
	case slices.Contains([]string{"MONITOR", "SSUBSCRIBE", "SUNSUBSCRIBE", "SYNC", "PSYNC", "REPLCONF"}, v):
		return fmt.Sprintf("ERR the lab has no '%s': what Redis sends of itself, it can neither hold nor tell from an answer", v)
	}
	if kind, _ := g.nodes.kind(); kind != trace.StoreEmbedded {
		return ""
	}
	instead := "; a real Redis behind the gate has it" + fromVersion(v)
	switch {
	case v == "SCRIPT" && sub(args) == "DEBUG", v == "CONFIG" && sub(args) != "GET":
		return fmt.Sprintf("ERR the lab's Redis has no '%s %s'%s", v, sub(args), instead)
	case v == "SET" && slices.ContainsFunc(args[1:], func(a string) bool {
		return slices.Contains([]string{"IFDEQ", "IFDNE"}, strings.ToUpper(a))
	}) && len(args) > 4:
		return "ERR the lab's Redis has no 'SET … IFDEQ'; a real Redis behind the gate has it" + fromVersion("IFDEQ")
	case slices.Contains([]string{"HELLO", "CLIENT", "CONFIG", "ROLE", "RESET", "READONLY", "READWRITE", "QUIT", "COMMAND", "INFO"}, v):
		return ""
	case !g.nodes.knows(v):
		return fmt.Sprintf("ERR the lab's Redis has no '%s'%s", v, instead)
	}
	return ""
}

// versions are those in which Redis got the commands that people lock with and that the
// embedded one lacks.
var versions = map[string]string{
	"FUNCTION": "7.0", "FCALL": "7.0", "FCALL_RO": "7.0", "WAITAOF": "7.2", "HGETEX": "8.0", "HGETDEL": "8.0", "MSETEX": "8.4", "DIGEST": "8.4", "IFDEQ": "8.4",
}

// fromVersion says from which version on Redis has a command, or "".
func fromVersion(verb string) string {
	if v := versions[verb]; v != "" {
		return ", from " + v + " on"
	}
	return ""
}

// version is the version of the Redis whose answers the gate gives.
const version = "7.0.15"

// polite answers what a client sends to get ready.
func (g *Gate) polite(c *conn, args []string) []byte {
	v := infer.Verb(args)
	kind, _ := g.nodes.kind()
	own := kind == trace.StoreEmbedded
	switch v {
	case "HELLO":
		return g.hello(c, args, own)
	case "MULTI":
		raw := g.ask(c, args)
		if _, failed := resp.Value(raw); failed == "" {
			c.multi, c.dirty, c.tx, c.txHeld = true, false, nil, 0
		}
		return raw
	case "DISCARD":
		c.multi, c.dirty, c.tx, c.watched = false, false, nil, nil
		return g.ask(c, args)
	case "UNWATCH":
		c.watched = nil
		return g.ask(c, args)
	case "SUBSCRIBE", "PSUBSCRIBE":
		if len(args) < 2 {
			return resp.Failure("ERR wrong number of arguments for '" + strings.ToLower(v) + "' command")
		}
		return g.subscribe(c, args)
	case "UNSUBSCRIBE", "PUNSUBSCRIBE":
		return g.subscribe(c, args)
	case "SCRIPT":
		raw := g.ask(c, args)
		if _, failed := resp.Value(raw); failed == "" {
			switch {
			case sub(args) == "LOAD" && len(args) == 3:
				g.keepScript(args[2])
			case sub(args) == "FLUSH":
				clear(g.scripts)
			}
		}
		return raw
	case "PING":
		if c.in != nil && !c.resp3 {
			text := ""
			if len(args) > 1 {
				text = args[1]
			}
			return resp.Join(resp.Head('*', 2), resp.Bulk("pong"), resp.Bulk(text))
		}
	case "QUIT":
		return resp.Simple("OK")
	case "CLIENT":
		if sub(args) == "REPLY" {
			return c.answers(args)
		}
	case "RESET":
		c.mute, c.skip = false, false
		c.multi, c.dirty, c.tx, c.watched, c.resp3 = false, false, nil, nil, false
		if s, err := g.nodes[c.node].session(); err == nil {
			c.s.close()
			c.s = s
		}
		return resp.Simple("RESET")
	}
	if v == "CLUSTER" && g.nodes.cluster() {
		return g.clustered(c, args)
	}
	if !own {
		return g.ask(c, args)
	}
	return g.stand(c, args)
}

// stand answers as a Redis of its own would what the embedded one does not know.
func (g *Gate) stand(c *conn, args []string) []byte {
	switch infer.Verb(args) {
	case "SELECT":
		if len(args) == 2 && args[1] != "0" {
			return resp.Failure("ERR the lab's Redis has one database, 0; a real Redis behind the gate has more")
		}
	case "AUTH":
		return resp.Simple("OK") // who starts a lab lets everybody in
	case "CLIENT":
		return g.client(c, args)
	case "INFO":
		return resp.Bulk("# Server\r\nredis_version:" + version + "\r\nredis_mode:standalone\r\nloading:0\r\n" + more(args))
	case "COMMAND":
		if sub(args) == "COUNT" {
			return resp.Number(0)
		}
		return resp.Head('*', 0)
	case "CONFIG":
		if c.resp3 {
			return resp.Head('%', 0)
		}
		return resp.Head('*', 0)
	case "ROLE":
		return resp.Join(resp.Head('*', 3), resp.Bulk("master"), resp.Number(0), resp.Head('*', 0))
	case "READONLY", "READWRITE", "CLUSTER":
		return resp.Failure("ERR This instance has cluster support disabled")
	}
	return g.ask(c, args)
}

// more is what INFO says of a section that was asked for by name.
func more(args []string) string {
	switch strings.ToLower(strings.Join(args[1:], " ")) {
	case "replication":
		return "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"
	default:
		return ""
	}
}

func (g *Gate) hello(c *conn, args []string, own bool) []byte {
	resp3 := c.resp3
	if len(args) > 1 {
		switch args[1] {
		case "2":
			resp3 = false
		case "3":
			resp3 = true
		default:
			return resp.Failure("NOPROTO unsupported protocol version")
		}
	}
	proto := "2"
	if resp3 {
		proto = "3"
	}
	raw := g.ask(c, []string{"HELLO", proto})
	c.resp3 = resp3
	for i, a := range args {
		if strings.EqualFold(a, "SETNAME") && i+1 < len(args) {
			c.name = args[i+1]
		}
	}
	if !own {
		return raw
	}
	n, _ := strconv.Atoi(proto)
	kind, size := byte('*'), 14
	if resp3 {
		kind, size = '%', 7
	}
	return resp.Join(resp.Head(kind, size), resp.Bulk("server"), resp.Bulk("redis"), resp.Bulk("version"), resp.Bulk(version), resp.Bulk("proto"), resp.Number(n), resp.Bulk("id"), resp.Number(c.id),
		resp.Bulk("mode"), resp.Bulk("standalone"), resp.Bulk("role"), resp.Bulk("master"), resp.Bulk("modules"), resp.Head('*', 0))
}

// clustered answers CLUSTER: of the whole cluster there is one node, at the thread's port.
// So a cluster's client comes to no other.
func (g *Gate) clustered(c *conn, args []string) []byte {
	address := c.lane.ports[c.node].Addr().String()
	host, text, _ := net.SplitHostPort(address)
	port, _ := strconv.Atoi(text)
	id := infer.Digest(address)
	switch what := sub(args); what {
	case "SLOTS":
		node := resp.Join(resp.Head('*', 4), resp.Bulk(host), resp.Number(port), resp.Bulk(id), resp.Head('*', 0))
		return resp.Join(resp.Head('*', 1), resp.Head('*', 3), resp.Number(0), resp.Number(lastSlot), node)
	case "SHARDS":
		kind := func(n int) []byte {
			if c.resp3 {
				return resp.Head('%', n)
			}
			return resp.Head('*', 2*n)
		}
		node := resp.Join(kind(7), resp.Bulk("id"), resp.Bulk(id), resp.Bulk("port"), resp.Number(port), resp.Bulk("ip"), resp.Bulk(host), resp.Bulk("endpoint"), resp.Bulk(host),
			resp.Bulk("role"), resp.Bulk("master"), resp.Bulk("replication-offset"), resp.Number(0), resp.Bulk("health"), resp.Bulk("online"))
		return resp.Join(resp.Head('*', 1), kind(2), resp.Bulk("slots"), resp.Head('*', 2), resp.Number(0), resp.Number(lastSlot), resp.Bulk("nodes"), resp.Head('*', 1), node)
	case "NODES":
		return resp.Bulk(fmt.Sprintf("%s %s@%d myself,master - 0 0 1 connected 0-%d\n", id, address, port, lastSlot))
	case "MYID":
		return resp.Bulk(id)
	case "INFO", "KEYSLOT", "COUNTKEYSINSLOT", "GETKEYSINSLOT", "HELP":
		return g.ask(c, args)
	default:
		return resp.Failure(fmt.Sprintf("ERR the lab has no 'CLUSTER %s': who changes the cluster does it beside the lab", what))
	}
}

// lastSlot is the last hash slot of a cluster.
const lastSlot = 16383

// client answers CLIENT as the Redis of version does.
func (g *Gate) client(c *conn, args []string) []byte {
	switch sub(args) {
	case "SETNAME":
		if len(args) == 3 {
			c.name = args[2]
			return resp.Simple("OK")
		}
	case "GETNAME":
		if c.name == "" {
			return resp.Null(c.resp3)
		}
		return resp.Bulk(c.name)
	case "ID":
		return resp.Number(c.id)
	case "INFO", "LIST":
		return resp.Bulk(fmt.Sprintf("id=%d addr=%s name=%s db=0\n", c.id, c.c.RemoteAddr(), c.name))
	case "NO-EVICT", "NO-TOUCH", "UNPAUSE", "CACHING":
		return resp.Simple("OK")
	case "SETINFO": // of Redis 7.2: this one refuses it, and yet knows now who is there
		if len(args) == 4 {
			c.library[strings.ToUpper(args[2])] = args[3]
		}
	case "":
		return resp.Failure("ERR wrong number of arguments for 'client' command")
	}
	return resp.Failure("ERR unknown subcommand '" + args[1] + "'. Try CLIENT HELP.")
}

// answers is CLIENT REPLY: whether the client wants answers at all.
func (c *conn) answers(args []string) []byte {
	if len(args) != 3 {
		return resp.Failure("ERR wrong number of arguments for 'client|reply' command")
	}
	switch strings.ToUpper(args[2]) {
	case "ON":
		c.mute, c.skip = false, false
		return resp.Simple("OK")
	case "OFF":
		c.mute = true
	case "SKIP":
		c.skip = true
	default:
		return resp.Failure("ERR syntax error")
	}
	return nil
}
