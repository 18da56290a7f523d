package otel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"relock/engine/lock"
	"relock/engine/lock/telemetry"
)

// observer makes a span of each attempt, below the span of the call's context,
// and measures acquisitions, attempts and losses. Keys and owners are on spans
// alone: a metric with a series for each of them would grow without end.
func observer(tracer trace.Tracer, meter metric.Meter) (o lock.Observer, err error) {
	took, err := meter.Float64Histogram(telemetry.Acquisition, metric.WithUnit("s"))
	if err != nil {
		return o, err
	}
	attempts, err := meter.Int64Counter(telemetry.Attempts)
	if err != nil {
		return o, err
	}
	losses, err := meter.Int64Counter(telemetry.Losses)
	if err != nil {
		return o, err
	}
	o.Attempted = func(ctx context.Context, a lock.Attempt) {
		call := attribute.String(telemetry.Call, a.Name)
		result := attribute.String(telemetry.Result, string(a.Result))
		attempts.Add(ctx, 1, metric.WithAttributes(call, result))
		if a.Result == lock.Acquired {
			took.Record(ctx, a.Began.Add(a.Took).Sub(a.Since).Seconds())
		}
		_, span := tracer.Start(ctx, a.Name+" attempt", trace.WithTimestamp(a.Began), trace.WithSpanKind(trace.SpanKindClient))
		span.SetAttributes(call, result, attribute.String(telemetry.System, "redis"),
			attribute.String(telemetry.Key, a.Key), attribute.String(telemetry.Owner, string(a.Owner)),
			attribute.Int(telemetry.Level, a.Level), attribute.Int(telemetry.Attempt, a.Attempt), attribute.Bool(telemetry.GivesBack, a.GivesBack),
			attribute.Int(telemetry.Count, a.Count), attribute.Int64(telemetry.Token, a.Token), attribute.Int64(telemetry.Lease, a.Lease.Milliseconds()))
		if a.Err != nil {
			span.SetStatus(codes.Error, a.Err.Error())
		}
		span.End(trace.WithTimestamp(a.Began.Add(a.Took)))
	}
	o.Lost = func(ctx context.Context, l lock.Loss) {
		losses.Add(ctx, 1)
		trace.SpanFromContext(ctx).AddEvent("the lease was lost", trace.WithAttributes(attribute.String(telemetry.Key, l.Key)))
	}
	return o, nil
}

// Worker-2 gets the lock although worker-1 works on, because somebody has removed
// it. "playground import" reads the spans, and shows the two inside at once.
func Example() {
	var spans bytes.Buffer // a file
	traces := sdktrace.NewTracerProvider(sdktrace.WithBatcher(file{&spans}))
	reader := sdkmetric.NewManualReader()
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	observer, err := observer(traces.Tracer("invoices"), meters.Meter("invoices"))
	if err != nil {
		fmt.Println(err)
		return
	}
	server, err := miniredis.Run()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
	defer func() { _ = client.Close() }()
	locker, _ := lock.New(client, lock.Options{Lease: 10 * time.Second, Retries: lock.NoRetry, Observer: observer})

	ctx := context.Background()
	first, _ := locker.Lock(ctx, "invoice:7", "worker-1")
	_, refused := locker.Lock(ctx, "invoice:7", "worker-2")
	_ = locker.ForceUnlock(ctx, "invoice:7")
	second, _ := locker.Lock(ctx, "invoice:7", "worker-2")
	fmt.Println("refused:", errors.Is(refused, lock.ErrHeld))
	fmt.Println("lost:", errors.Is(first.Unlock(ctx), lock.ErrLost), second.Unlock(ctx))
	locker.Close()

	_ = traces.Shutdown(ctx) // writes what is left
	var m metricdata.ResourceMetrics
	_ = reader.Collect(ctx, &m)
	for _, one := range m.ScopeMetrics[0].Metrics {
		switch data := one.Data.(type) {
		case metricdata.Histogram[float64]:
			fmt.Println(one.Name, data.DataPoints[0].Count)
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints { // in any order
				result, _ := p.Attributes.Value(telemetry.Result)
				fmt.Println(one.Name, result.AsString(), p.Value)
			}
		}
	}
	fmt.Println("broken:", imported(context.Background(), &spans))
	// Unordered output:
	// refused: true
	// lost: true <nil>
	// relock.acquisition.duration 2
	// relock.attempts acquired 2
	// relock.attempts refused 1
	// relock.attempts exhausted 1
	// relock.attempts lost 1
	// relock.attempts released 1
	// relock.losses  1
	// broken: [mutual-exclusion]
}
