package main

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"
)

// BenchmarkStart builds the program as one that is handed out, and starts it
// until /readyz answers. It reports the median, and what the file takes.
func BenchmarkStart(b *testing.B) {
	program := filepath.Join(b.TempDir(), "playground")
	build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	file, err := os.Stat(program)
	if err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for b.Loop() {
		took = append(took, untilReady(b, program))
	}
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(took[len(took)/2].Seconds()*1000, "ready-ms")
	b.ReportMetric(float64(file.Size())/1e6, "MB")
}

var startedAt = regexp.MustCompile(`http://[0-9.:]+/`)

// untilReady starts the program, asks it at once where it says that it is, and
// ends it.
func untilReady(b *testing.B, program string) time.Duration {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), program, "-addr", "127.0.0.1:0", "-log-level", "error")
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	res, err := http.Get(startedAt.FindString(line) + "readyz")
	if err != nil {
		b.Fatal(err)
	}
	took := time.Since(began)
	_ = res.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if res.StatusCode != http.StatusOK {
		b.Fatalf("/readyz answers %s", res.Status)
	}
	if err := cmd.Process.Kill(); err != nil {
		b.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	return took
}
