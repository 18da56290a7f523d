package run

import (
	"context"
	"net"
	"syscall"

	"github.com/redis/go-redis/v9"

	"relock/engine/journal"
	"relock/engine/lock/protocol"
)

type recordsKey struct{}

func (p *tap) note(ctx context.Context, rec journal.Record) {
	records, ok := ctx.Value(recordsKey{}).(*[]sent)
	if !ok {
		panic("run: a script that no thread sent")
	}
	call, _ := protocol.CallOf(ctx)
	*records = append(*records, sent{call: call, rec: rec, node: p.node})
}

// Eval sends a script in full.
func (p *tap) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return p.send(ctx, passage{}, func(ctx context.Context) *redis.Cmd { return p.journal.Eval(ctx, script, keys, args...) })
}

// send has Redis run a script.
func (p *tap) send(ctx context.Context, by passage, send func(context.Context) *redis.Cmd) *redis.Cmd {
	if p.t.r.rec.down(p.t, p.node) {
		p.t.told(toldReply, p.node)
		return broken(ctx, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})
	}
	var records []sent
	answered := p.t.r.rec.sending()
	cmd := send(context.WithValue(ctx, recordsKey{}, &records))
	for i := range records {
		records[i].passage = by
	}
	answered(p.t, records)
	if !by.late {
		p.t.told(toldReply, p.node, cmd.Val(), cmd.Err())
	}
	p.t.r.rec.doubt(cmd.Err())
	p.t.r.machine.hasAsked(p.t)
	return cmd
}

func broken(ctx context.Context, err error) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(err)
	return cmd
}
