//go:build linux && (amd64 || arm64)

package box

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A child of these tests is what a script would be that had got out of Lua: Go
// code in the process. It must run before the init that serves.
var _ = escaped()

func escaped() bool {
	way := os.Getenv(variable)
	if act, ok := acts[way]; ok {
		act()
		os.Exit(0)
	}
	if way != "escaped" {
		return false
	}
	if err := limit(); err != nil {
		fmt.Println("limit:", err)
		os.Exit(1)
	}
	if err := wallIn(); err != nil {
		fmt.Println("walls:", err)
		os.Exit(1)
	}
	for _, name := range slices.Sorted(maps.Keys(tries)) {
		fmt.Println(name, "=", refusedBy(tries[name]))
	}
	os.Exit(0)
	return true
}

// refusedBy is what a call came to, in this thread and in another one.
func refusedBy(try func() error) string {
	other := make(chan error)
	go func() {
		runtime.LockOSThread()
		other <- try()
	}()
	return fmt.Sprint(try(), ", ", <-other)
}

func call(number uintptr, a ...uintptr) error {
	a = append(a, 0, 0, 0, 0, 0, 0)
	if _, _, errno := syscall.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func pathOf(name string) uintptr { return uintptr(unsafe.Pointer(unsafe.StringData(name + "\x00"))) }

// tries are what an escaped script would do.
var tries = map[string]func() error{
	"read a file":      func() error { _, err := os.ReadFile("/etc/passwd"); return err },
	"read /proc/self":  func() error { _, err := os.ReadFile("/proc/self/environ"); return err },
	"list files":       func() error { _, err := os.ReadDir("/"); return err },
	"write a file":     func() error { return os.WriteFile("/tmp/relock-box-escaped", []byte("x"), 0o600) },
	"remove a file":    func() error { return unix.Unlinkat(unix.AT_FDCWD, "/tmp/relock-box", 0) },
	"stat":             func() error { _, err := os.Stat("/"); return err },
	"TCP":              func() error { _, err := net.Dial("tcp", "127.0.0.1:1"); return err },
	"UDP":              func() error { _, err := net.Dial("udp", "127.0.0.1:1"); return err },
	"a Unix socket":    func() error { return call(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM) },
	"listen":           func() error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err },
	"run a program":    func() error { return exec.Command("/bin/true").Run() },
	"execve":           func() error { return call(unix.SYS_EXECVE, pathOf("/bin/true")) },
	"execveat":         func() error { return call(unix.SYS_EXECVEAT, 0, pathOf("/bin/true")) },
	"fork":             func() error { return call(unix.SYS_CLONE, uintptr(unix.SIGCHLD)) },
	"clone3":           func() error { return call(unix.SYS_CLONE3) },
	"kill the parent":  func() error { return unix.Kill(os.Getppid(), unix.SIGKILL) },
	"tgkill a parent":  func() error { return unix.Tgkill(os.Getppid(), os.Getppid(), 9) },
	"ptrace":           func() error { return call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, uintptr(os.Getppid())) },
	"read its memory":  func() error { return call(unix.SYS_PROCESS_VM_READV, uintptr(os.Getppid())) },
	"raise limits":     func() error { return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1, Max: 1}) },
	"prlimit a parent": func() error { return call(unix.SYS_PRLIMIT64, uintptr(os.Getppid()), unix.RLIMIT_CPU) },
	"mount":            func() error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") },
	"unshare":          func() error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"io_uring":         func() error { return call(unix.SYS_IO_URING_SETUP, 1) },
	"bpf":              func() error { return call(unix.SYS_BPF) },
	"keys":             func() error { return call(unix.SYS_ADD_KEY) },
	"shared memory":    func() error { return call(unix.SYS_SHMGET, 0, 4096, 0o600) },
	"memory as a file": func() error { _, err := unix.MemfdCreate("x", 0); return err },
	"a new seccomp":    func() error { return call(unix.SYS_SECCOMP, 0) },
	"become another":   func() error { return call(unix.SYS_SETUID, 1) },
	"code in memory": func() error {
		_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
		return err
	},
}

// acts are children that answer wrongly.
var acts = map[string]func(){
	"act-garbage": func() { fmt.Print("HTTP/1.1 200 OK, and much more than a frame") },
	"act-nothing": func() { time.Sleep(time.Hour) },
	"act-endless": func() {
		frame(nil)
		for {
			frame(make([]byte, 1000))
		}
	},
	"act-huge": func() {
		frame([]byte{0})
		wait()
		_, _ = os.Stdout.Write([]byte{0x7f, 0xff, 0xff, 0xff})
		time.Sleep(time.Hour)
	},
	"act-short": func() { frame([]byte{0}); wait(); _, _ = os.Stdout.Write([]byte{0, 0, 0, 9, 1}) },
	"act-lists": func() {
		frame([]byte{0})
		wait()
		frame(append([]byte{0}, []byte(strings.Repeat("\x06\x02", 1<<19-8))...))
	},
	"act-counts": func() { frame([]byte{0}); wait(); frame(append([]byte{0, 6}, binary.AppendVarint(nil, 1<<40)...)) },
	"act-kinds":  func() { frame([]byte{0}); wait(); frame([]byte{18, 0, 0}) },
	"act-exit":   func() { frame([]byte{0}); wait(); os.Exit(7) },
	"act-silent": func() { frame([]byte{0}); time.Sleep(time.Hour) },
	"act-noise": func() {
		frame([]byte{0})
		wait()
		for {
			_, _ = os.Stderr.Write(make([]byte, 1<<16))
		}
	},
}

func frame(body []byte) { _ = writeFrame(os.Stdout, body) }
func wait()             { _, _ = readFrame(os.Stdin, nil) }

// Code that gets out of Lua, on any thread, gets no farther than the process.
func TestWalls(t *testing.T) {
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = []string{variable + "=escaped"}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name := range tries {
		_, line, found := strings.Cut("\n"+string(out), "\n"+name+" = ")
		line, _, _ = strings.Cut(line, "\n")
		if here, there, ok := strings.Cut(line, ", "); !found || !ok || !refusal(here) || !refusal(there) {
			t.Errorf("%s: %s", name, line)
		}
	}
}

func refusal(text string) bool {
	return strings.Contains(text, "not permitted") || strings.Contains(text, "permission denied") || strings.Contains(text, "not implemented")
}

// A child may say and do what it likes: the parent gets an error, in time.
func TestAHostileChild(t *testing.T) {
	for way := range acts {
		t.Run(way, func(t *testing.T) {
			c, err := startLimited(t.Context(), way)
			if err != nil {
				if !errors.Is(err, ErrUnavailable) {
					t.Error(err)
				}
				return
			}
			a, err := c.ask(t.Context(), 200*time.Millisecond, (&Question{}).encode(askRun))
			if err == nil || a.Reply != nil {
				t.Errorf("answer %v, %v", a, err)
			}
			<-c.ended
		})
	}
}

// startLimited is start for children that may never come up.
func startLimited(ctx context.Context, way string) (*child, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return start(ctx, way)
}

func FuzzDecodeAnswer(f *testing.F) {
	f.Add((&Answer{Reply: []any{int64(1), "a", nil}, Lines: Lines{3}}).encode())
	f.Add(encodeFault(&Fault{Kind: ErrTooLarge, What: "x", Lines: Lines{1, 2}}))
	f.Fuzz(func(_ *testing.T, body []byte) { _, _ = decodeAnswer(body) })
}
