package lab

import (
	"slices"
	"strings"
	"time"

	"relock/engine/outside/resp"
)

// subscribe changes what a connection listens to, and answers once for each channel.
func (g *Gate) subscribe(c *conn, args []string) []byte {
	kind := strings.ToLower(args[0])
	list := &c.channels
	if strings.HasPrefix(kind, "p") {
		list = &c.patterns
	}
	names := args[1:]
	leaves := strings.HasSuffix(kind, "unsubscribe")
	if leaves && len(names) == 0 {
		if names = slices.Clone(*list); len(names) == 0 {
			names = []string{""}
		}
	}
	var out []byte
	begin := byte('*')
	if c.resp3 {
		begin = '>'
	}
	for _, name := range names {
		at := slices.Index(*list, name)
		switch {
		case leaves && at >= 0:
			*list = slices.Delete(slices.Clone(*list), at, at+1)
		case !leaves && at < 0:
			*list = append(slices.Clone(*list), name)
		}
		which := resp.Bulk(name)
		if name == "" && leaves {
			which = resp.Null(c.resp3)
		}
		out = append(out, resp.Join(resp.Head(begin, 3), resp.Bulk(kind), which, resp.Number(len(c.channels)+len(c.patterns)))...)
	}
	some := len(c.channels)+len(c.patterns) > 0
	var err error
	if some && c.in == nil {
		c.in, err = g.nodes[c.node].inbox()
	}
	if err != nil { // it listens to nothing, and nobody tells it that it does
		c.in, c.channels, c.patterns = nil, nil, nil
		return resp.Failure("ERR " + err.Error())
	}
	if c.in != nil {
		if err := c.in.Set(c.channels, c.patterns); err != nil {
			c.in.Close()
			c.in, c.channels, c.patterns = nil, nil, nil
			return resp.Failure("ERR " + err.Error())
		}
		if !some {
			c.in.Close()
			c.in = nil
		}
	}
	return out
}

// push delivers what was published.
func (g *Gate) push() {
	for _, l := range g.lanes {
		for _, c := range l.conns {
			if c.in == nil {
				continue
			}
			for _, m := range c.in.Take() {
				if g.lost {
					continue
				}
				begin := byte('*')
				if c.resp3 {
					begin = '>'
				}
				l.moved = time.Now()
				if m.Pattern != "" {
					g.write(c, resp.Join(resp.Head(begin, 4), resp.Bulk("pmessage"), resp.Bulk(m.Pattern), resp.Bulk(m.Channel), resp.Bulk(m.Text)))
				} else {
					g.write(c, resp.Join(resp.Head(begin, 3), resp.Bulk("message"), resp.Bulk(m.Channel), resp.Bulk(m.Text)))
				}
			}
		}
	}
	g.lost = false
}
