// Package rounds runs the client code of the course's reviews as a worker of the lab.
package rounds

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Lines is the environment variable that names a file: in NAME.THREAD are then the
// commands of the last round, each with the lines of package main that sent it.
const Lines = "RELOCK_LINES"

// Dies is the environment variable that names a thread: it dies right after a deed. What it
// would have sent then, it never sends; in the next round it lives again.
const Dies = "RELOCK_DIES"

// errDead is what a thread that has died gets for an answer.
var errDead = errors.New("rounds: this thread has died")

// Book is the key in which somebody without a lock, a bank or a carrier, writes down deeds.
const Book = "book"

// now is the round that is played.
var now *lines

// Do calls round in each round of the lab, with a client of this thread and the thread's
// name, until the lab has gone. The client retries nothing by itself.
func Do(round func(ctx context.Context, rdb *redis.Client, thread string)) {
	ctx, thread := context.Background(), os.Getenv("RELOCK_THREAD")
	var rdb *redis.Client
	now = nil
	for {
		if now == nil || now.ended() { // whatever still runs of it has a client that is dead
			now = &lines{dead: make(chan struct{})}
			if file := os.Getenv(Lines); file != "" {
				now.file = file + "." + thread
			}
			rdb = redis.NewClient(&redis.Options{Addr: net.JoinHostPort(os.Getenv("REDIS_HOST"), os.Getenv("REDIS_PORT")), MaxRetries: -1, ContextTimeoutEnabled: true})
			rdb.AddHook(now)
		}
		if rdb.Echo(ctx, "relock:round").Err() != nil {
			return
		}
		now.begin()
		if thread != os.Getenv(Dies) {
			round(ctx, rdb, thread)
			continue
		}
		over := make(chan struct{})
		go func() {
			defer close(over)
			round(ctx, rdb, thread)
		}()
		select {
		case <-over:
		case <-now.dead:
		}
	}
}

// Done says that a deed is done: a thread that dies, dies here.
func Done() {
	if os.Getenv(Dies) == os.Getenv("RELOCK_THREAD") {
		close(now.dead)
	}
}

// refuses writes into a book in which nothing stands yet, in one step.
var refuses = redis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
return redis.call('RPUSH', KEYS[1], 'done')`)

// DeedOnce does what must be done once, at a bank or a carrier that knows it by its key, and
// refuses it a second time.
func DeedOnce(rdb *redis.Client) error {
	defer Done()
	return refuses.Run(context.Background(), rdb, []string{Book}).Err()
}

// Inside marks what is done while the lock is held.
func Inside(rdb *redis.Client, work func()) {
	ctx := context.Background() // whatever has become of the caller's
	rdb.Echo(ctx, "relock:enter")
	work()
	rdb.Echo(ctx, "relock:leave")
}

// line is a command, and the lines of package main that sent it, the innermost first.
type line struct {
	Verb  string `json:"verb"`
	Lines []int  `json:"lines"`
}

// lines keeps the commands of a round.
type lines struct {
	file string        // "" for nowhere
	dead chan struct{} // closed once its thread has died

	mu   sync.Mutex
	list []line
}

func (l *lines) ended() bool {
	select {
	case <-l.dead:
		return true
	default:
		return false
	}
}

func (l *lines) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = nil
}

// DialHook changes nothing.
func (l *lines) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook changes nothing.
func (l *lines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook notes the line that sends a command.
func (l *lines) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if l.ended() {
			return errDead
		}
		args := cmd.Args()
		verb := strings.ToUpper(cmd.Name())
		// It is not sent, or of no line: a connection that replaces another begins with HELLO.
		if l.file == "" || ctx.Err() != nil || verb == "HELLO" || len(args) > 1 && args[1] == "relock:round" {
			return next(ctx, cmd)
		}
		l.note(line{verb, sentFrom()})
		err := next(ctx, cmd)
		if redis.HasErrorPrefix(err, "NOSCRIPT") { // it comes again, with its text
			l.drop(verb)
		}
		return err
	}
}

// sentFrom returns the lines of package main that are called here. A library may have
// sent it from its own goroutine: then the caller waits in another one.
func sentFrom() []int {
	stack := make([]byte, 1<<20)
	if from := linesOf(string(stack[:runtime.Stack(stack, false)])); len(from) > 0 {
		return from
	}
	for one := range strings.SplitSeq(string(stack[:runtime.Stack(stack, true)]), "\n\n") {
		if from := linesOf(one); len(from) > 0 {
			return from
		}
	}
	return []int{}
}

// called is a function of package main in a goroutine's stack, and its line.
var called = regexp.MustCompile(`(?m)^main\..*\n\t.*\.go:(\d+)`)

func linesOf(stack string) []int {
	var from []int
	for _, m := range called.FindAllStringSubmatch(stack, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil {
			from = append(from, n)
		}
	}
	return from
}

func (l *lines) note(one line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, one)
	l.write()
}

// drop takes back the last command of that name.
func (l *lines) drop(verb string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, one := range slices.Backward(l.list) {
		if one.Verb == verb {
			l.list = slices.Delete(l.list, n, n+1)
			break
		}
	}
	l.write()
}

func (l *lines) write() {
	text, err := json.Marshal(l.list)
	if err == nil {
		err = os.WriteFile(l.file, text, 0o600)
	}
	if err != nil {
		panic(err) // the lab tells a worker's last words
	}
}
