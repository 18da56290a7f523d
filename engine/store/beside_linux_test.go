package store_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"relock/engine/store"
)

// A redis-server beside a program ends with it, also when the program is killed.
func TestAServerBesideEndsWithItsProgram(t *testing.T) {
	const asked = "RELOCK_BESIDE"
	if os.Getenv(asked) != "" {
		b, err := store.StartBeside(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("pid", b.Process())
		<-t.Context().Done() // it is killed before
	}
	c := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), asked+"=1")
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "pid %d", &pid)
	}
	if pid == 0 {
		t.Fatal("no server was started")
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	for range 1000 {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Errorf("the server, process %d, goes on", pid)
}
