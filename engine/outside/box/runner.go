package box

import (
	"context"
	"fmt"
	"os"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"relock/engine/clock"
	"relock/engine/interpreter"
	"relock/engine/store"
)

// runner is the child's Redis, and its Lua. Nothing is left of one question in the
// next. It is not safe for concurrent use.
type runner struct {
	redis     *store.Embedded
	listeners *store.Listeners
	lua       *interpreter.Interpreter
}

func newRunner() *runner {
	redis := store.NewEmbedded(clock.Epoch)
	return &runner{redis: redis, listeners: redis.NewListeners(), lua: interpreter.New()}
}

// Close ends the Redis.
func (r *runner) Close() error {
	r.listeners.Close()
	return r.redis.Close()
}

// one is the only database of a Redis in the box.
type one struct {
	*store.Embedded

	session *store.Conn
}

// elsewhere are the commands that would leave the database.
var elsewhere = []string{"SELECT", "MOVE", "SWAPDB"}

// Do implements interpreter.Redis.
func (o one) Do(args []string) []byte {
	if slices.Contains(elsewhere, strings.ToUpper(args[0])) {
		return []byte("-" + interpreter.NotFromScripts + "\r\n")
	}
	return o.session.Do(args)
}

// run answers a question. It fails with a *Fault.
func (r *runner) run(q Question) (Answer, error) {
	if err := r.redis.Fill(q.Now, q.Items); err != nil {
		return Answer{}, fmt.Errorf("box: %w", err)
	}
	r.listeners.Set(q.Channels)
	ctx, end := context.WithCancel(context.Background())
	defer end()
	stop := r.watch(end)
	o, err := r.lua.Run(interpreter.Script{
		Text: q.Script, Keys: q.Keys, Args: q.Args, Redis: one{r.redis, r.redis.NewConn()}, Context: ctx, Framed: true,
	})
	stop()
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Reply: plain(o.Reply), Err: o.Err, Lines: o.Lines}
	if failed, ok := o.Reply.(interpreter.Failure); ok {
		a.Reply, a.Err = nil, string(failed)
	}
	if a.Items, err = r.redis.Contents(); err != nil {
		return Answer{}, &Fault{Kind: ErrContents, What: err.Error()}
	}
	for _, i := range a.Items {
		if len(i.Lives) > 0 { // a frame does not have them
			return Answer{}, &Fault{Kind: ErrContents, What: "box: " + i.Name + " is a hash whose fields expire"}
		}
	}
	return a, nil
}

// plain is a reply as an Answer has it, and who speaks RESP2: in a list, an error and a
// status are texts.
func plain(v any) any {
	switch v := v.(type) {
	case interpreter.Status:
		return string(v)
	case interpreter.Failure:
		return string(v)
	case interpreter.BigNumber:
		return string(v)
	case interpreter.Verbatim:
		return v.Text
	case interpreter.Double:
		return v.Text()
	case interpreter.Map:
		return plain([]any(v))
	case interpreter.Set:
		return plain([]any(v))
	case []any:
		list := make([]any, len(v))
		for n, one := range v {
			list[n] = plain(one)
		}
		return list
	default:
		return v
	}
}

// look is how often a script that runs on is looked at.
const look = 10 * time.Millisecond

// watch ends a script that has had its time. A busy machine takes none of it:
// what counts is what this process has run. It ends the process when its memory
// is used up, where the kernel does not. The returned function ends watching.
func (r *runner) watch(end func()) (stop func()) {
	began := processor()
	ready := make(chan struct{})
	var timer *time.Timer
	timer = time.AfterFunc(look, func() {
		<-ready
		if heap() > maxMemory {
			os.Exit(exitLarge)
		}
		if processor()-began > busy {
			end()
			return
		}
		timer.Reset(look)
	})
	close(ready)
	return func() { timer.Stop() }
}

// heap is how many bytes are in use.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func cut(text string, n int) string { return text[:min(n, len(text))] }
