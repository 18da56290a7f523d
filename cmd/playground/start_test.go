package main

import (
	"bufio"
	"errors"
	"io"
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
// until it answers: /readyz, or the first page. It reports the medians since the start,
// how long /scenarios takes at its first request, and what the file takes.
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
	took := map[string][]float64{} // by path: milliseconds
	for b.Loop() {
		for _, path := range []string{"readyz", "", "scenarios"} {
			listening, answered := untilAnswered(b, program, path)
			if path == "scenarios" {
				answered -= listening
			}
			took[path] = append(took[path], answered.Seconds()*1000)
		}
	}
	median := func(path string) float64 {
		slices.Sort(took[path])
		return took[path][len(took[path])/2]
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median("readyz"), "ready-ms")
	b.ReportMetric(median(""), "page-ms")
	b.ReportMetric(median("scenarios"), "scenarios-ms")
	b.ReportMetric(float64(file.Size())/1e6, "MB")
}

var startedAt = regexp.MustCompile(`http://[0-9.:]+/`)

// untilAnswered starts the program, asks it for a page as soon as it says where it
// is, and ends it. It returns how long after the start it said so, and how long
// after the start it had answered.
func untilAnswered(b *testing.B, program, path string) (listening, answered time.Duration) {
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
	listening = time.Since(began)
	res, err := http.Get(startedAt.FindString(line) + path)
	if err != nil {
		b.Fatal(err)
	}
	_, err = io.Copy(io.Discard, res.Body)
	answered = time.Since(began)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		b.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	if res.StatusCode != http.StatusOK {
		b.Fatalf("/%s answers %s", path, res.Status)
	}
	if err := cmd.Process.Kill(); err != nil {
		b.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	return listening, answered
}
