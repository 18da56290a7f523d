package run

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"relock/engine/fault"
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
	ctx = p.ofThread(ctx, keys[0])
	return p.send(ctx, passage{inFull: true}, func(ctx context.Context) *redis.Cmd { return p.journal.Eval(ctx, script, keys, args...) })
}

// send has Redis run a script.
func (p *tap) send(ctx context.Context, by passage, send func(context.Context) *redis.Cmd) *redis.Cmd {
	if by.refused == nil {
		by.refused = p.t.r.rec.refuses(p.t, p.node)
	}
	var answer fault.ErrorReply
	if by.refused != nil {
		if !errors.As(by.refused, &answer) {
			p.t.told(toldReply, p.node)
			return broken(ctx, by.refused)
		}
		switch {
		case answer.Refused == fault.EveryCommand, answer.Refused == fault.ByDigest && !by.inFull:
			if !by.late {
				p.t.told(toldReply, p.node, nil, by.refused)
			}
			p.t.r.machine.hasAsked(p.t)
			return broken(ctx, by.refused)
		case answer.Refused == fault.Writing:
			ctx = journal.RefusingWrites(ctx, answer.Words)
		case answer.Refused == fault.Growing:
			ctx = journal.RefusingGrowth(ctx, answer.Words)
		}
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
	if by.refused == nil {
		p.t.r.rec.doubt(cmd.Err())
	}
	p.t.r.machine.hasAsked(p.t)
	return cmd
}

func broken(ctx context.Context, err error) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(err)
	return cmd
}
