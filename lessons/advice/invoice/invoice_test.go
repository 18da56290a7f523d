package invoice_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/store"
	"relock/lessons/advice/invoice"
)

func client(t *testing.T) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Each program lets one in at a time: what they add is not lost, and the race
// detector sees no two at once.
func TestOneAtATime(t *testing.T) {
	one := client(t)
	others := []*redis.Client{client(t), client(t)}
	for name, program := range map[string]func(context.Context, func(context.Context) error) error{
		"in turn": func(ctx context.Context, work func(context.Context) error) error {
			return invoice.InTurn(ctx, one, work)
		},
		"told": func(ctx context.Context, work func(context.Context) error) error { return invoice.Told(ctx, one, work) },
		"queued": func(ctx context.Context, work func(context.Context) error) error {
			return invoice.Queued(ctx, one, work)
		},
		"unless": func(ctx context.Context, work func(context.Context) error) error {
			return invoice.Unless(ctx, one, work)
		},
		"majority": func(ctx context.Context, work func(context.Context) error) error {
			return invoice.ByMajority(ctx, one, others, work)
		},
	} {
		t.Run(name, func(t *testing.T) {
			const callers = 8
			stock, done := 0, make(chan error, callers)
			for range callers {
				go func() {
					done <- program(t.Context(), func(context.Context) error {
						read := stock
						runtime.Gosched()
						stock = read + 1
						return nil
					})
				}()
			}
			for range callers {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			if stock != callers && name != "unless" {
				t.Errorf("%d callers have added %d", callers, stock)
			}
			boom := errors.New("boom")
			if err := program(t.Context(), func(context.Context) error { return boom }); !errors.Is(err, boom) {
				t.Errorf("the work's error is %v", err)
			}
		})
	}
}

// A caller that cannot get the lock hears of it in some seconds; one that has it works
// for longer, and both have the same context.
func TestTheWaitIsBoundedAndTheWorkIsNot(t *testing.T) {
	for name, program := range map[string]func(context.Context, *redis.Client, func(context.Context) error) error{
		"in turn": invoice.InTurn,
		"queued":  invoice.Queued,
		"told": func(ctx context.Context, c *redis.Client, work func(context.Context) error) error {
			return invoice.Told(ctx, c, work)
		},
		"majority": func(ctx context.Context, c *redis.Client, work func(context.Context) error) error {
			return invoice.ByMajority(ctx, c, nil, work)
		},
		"pays": func(ctx context.Context, c *redis.Client, _ func(context.Context) error) error {
			return invoice.Pay(ctx, c, nil) // without a database it would not come back
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := store.NewEmbedded(time.Time{})
				defer func() { _ = e.Close() }()
				c := e.Client().(*redis.Client)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				inside, done := make(chan struct{}), make(chan error)
				holds := program
				if name == "pays" {
					holds = invoice.InTurn // the lock of both is one
				}
				go func() {
					done <- holds(ctx, c, func(ctx context.Context) error {
						close(inside)
						time.Sleep(30 * time.Second)
						return ctx.Err()
					})
				}()
				<-inside
				began := time.Now()
				err := program(ctx, c, func(context.Context) error { return errors.New("two are inside") })
				if took := time.Since(began); !errors.Is(err, lock.ErrNotAcquired) || took < 4*time.Second || took > 6*time.Second {
					t.Errorf("after %v: %v", took, err)
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A caller that finds it taken gets no error.
func TestUnlessSomebodyElseIsAtIt(t *testing.T) {
	c := client(t)
	err := invoice.Unless(t.Context(), c, func(context.Context) error {
		return invoice.Unless(context.Background(), c, func(context.Context) error { t.Error("two are inside"); return nil })
	})
	if err != nil {
		t.Error(err)
	}
}

func TestChargeSendsTheSameKey(t *testing.T) {
	keys := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys[r.Header.Get("Idempotency-Key")]++
		w.WriteHeader(map[bool]int{true: http.StatusServiceUnavailable, false: http.StatusOK}[len(keys) == 1 && keys["invoice-7"] == 1])
	}))
	defer server.Close()
	if err := invoice.Charge(t.Context(), server.URL); err == nil {
		t.Error("a refusal is no error")
	}
	if err := invoice.Charge(t.Context(), server.URL); err != nil || keys["invoice-7"] != 2 {
		t.Error(err, keys)
	}
}
