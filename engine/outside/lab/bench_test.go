package lab_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"relock/engine/outside/lab"
	"relock/engine/store/storetest"
)

// How fast a search is beside what its worker can do alone, against a Redis without a gate:
// "of-alone" is its commands in a second over those of one worker. An order of two workers
// is as many round trips, one after the other, as each of them makes alone.
func BenchmarkOrders(b *testing.B) {
	me, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	const rounds, commands = 400, 5 // of one round: the mark, SET, two marks, EVAL
	alone := func() float64 {
		host, port, err := net.SplitHostPort(storetest.Start(b).Addr)
		if err != nil {
			b.Fatal(err)
		}
		cmd := exec.CommandContext(b.Context(), me)
		cmd.Env = append(os.Environ(), "LAB_TEST_WORKER=alone", fmt.Sprint("LAB_TEST_ROUNDS=", rounds), "RELOCK_THREAD=A", "REDIS_HOST="+host, "REDIS_PORT="+port)
		out, err := cmd.Output()
		if err != nil {
			b.Fatal(err)
		}
		took, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		return rounds * commands / time.Duration(took).Seconds()
	}
	for b.Loop() {
		before := alone()
		o := lab.Options{
			Command: []string{me}, Env: []string{"LAB_TEST_WORKER=lock"}, Threads: 2, MaxOrders: 20_000, Clock: lab.ClockGate, Seed: 1, Timeout: time.Minute,
			Faults: []string{lab.LeaseEnds, lab.LateCopy}, MaxFaults: 2,
		}
		found, err := lab.Search(b.Context(), o)
		if err != nil || found.Failed != nil {
			b.Fatal(err, found.Failed)
		}
		bare := (before + alone()) / 2
		sent := float64(found.Sent) / found.Took.Seconds()
		b.ReportMetric(float64(found.Orders)/found.Took.Seconds(), "orders/s")
		b.ReportMetric(bare, "alone-commands/s")
		b.ReportMetric(sent/bare, "of-alone")
	}
}
