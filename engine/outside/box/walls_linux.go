//go:build amd64 || arm64

package box

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// processor is how long this process's threads have run.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// apart makes a child that ends with its parent, and to which nobody's ^C goes.
// The kernel takes the thread that starts it for the parent: that must stay.
func apart(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// limit bounds what the kernel lets this process take. There is no bound of the
// threads: Go needs some, and the filter lets no process be made.
func limit() error {
	memory := uint64(maxMemory)
	if linked { // C's stacks count as soon as they are there, 8 MiB for each thread, and nothing in them
		memory += 32 * 8 << 20
	}
	for _, l := range []struct {
		name  string
		what  int
		bound uint64
	}{
		{"memory", unix.RLIMIT_DATA, memory},
		{"the size of files", unix.RLIMIT_FSIZE, 0},
		{"core dumps", unix.RLIMIT_CORE, 0},
		{"open files", unix.RLIMIT_NOFILE, 16},
		{"the processor", unix.RLIMIT_CPU, 120},
		{"locked memory", unix.RLIMIT_MEMLOCK, 0},
		{"message queues", unix.RLIMIT_MSGQUEUE, 0},
	} {
		if raced && l.what == unix.RLIMIT_DATA {
			continue // its shadow memory takes terabytes
		}
		if err := unix.Setrlimit(l.what, &unix.Rlimit{Cur: l.bound, Max: l.bound}); err != nil {
			return fmt.Errorf("the kernel bounds %s not for this process (setrlimit: %w)", l.name, err)
		}
	}
	return nil
}

// wallIn leaves this process nothing but its memory, its two pipes and the
// clock, for good.
func wallIn() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("the kernel hides no process (prctl: %w)", err)
	}
	if err := lockLand(); err != nil {
		return err
	}
	return filter()
}

// lockLand has Landlock refuse each thread all files and all of TCP, and, from
// version 6 on, signals and abstract sockets of others. It needs version 1, of
// Linux 5.13.
func lockLand() error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return fmt.Errorf("the kernel has no Landlock, or it is off (lsm=…,landlock), or a container forbids it: %w", errno)
	}
	files := uint64(1)<<13 - 1 // version 1
	rules := unix.LandlockRulesetAttr{}
	switch {
	case version >= 6:
		rules.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		fallthrough
	case version == 5:
		files |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
		fallthrough
	case version == 4:
		rules.Access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		fallthrough
	case version == 3:
		files |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
		fallthrough
	case version == 2:
		files |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	rules.Access_fs = files
	size := unsafe.Sizeof(rules)
	if version < 6 {
		size -= unsafe.Sizeof(rules.Scoped)
	}
	if version < 4 {
		size -= unsafe.Sizeof(rules.Access_net)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), size, 0) //nolint:gosec // the kernel reads it
	if errno != 0 {
		return fmt.Errorf("the kernel's Landlock takes no rules: %w", errno)
	}
	if linked {
		if err := leaveTasks(fd); err != nil {
			return err
		}
	}
	// Each thread for itself: Landlock knows no process before version 8.
	if _, _, errno := psx.Syscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("the kernel lets programs gain rights (no_new_privs: %w)", errno)
	}
	if _, _, errno := psx.Syscall3(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("the kernel's Landlock restricts nothing: %w", errno)
	}
	return unix.Close(int(fd))
}

// leaveTasks lets this process list its own threads: where C is linked, psx does
// so after each call, and the filter ends it.
func leaveTasks(rules uintptr) error {
	dir, err := unix.Open("/proc/self/task", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/proc does not list this process's threads: %w", err)
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: unix.LANDLOCK_ACCESS_FS_READ_DIR, Parent_fd: int32(dir)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, rules, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0) //nolint:gosec // the kernel reads it
	if errno != 0 {
		return fmt.Errorf("the kernel's Landlock takes no rule: %w", errno)
	}
	return unix.Close(dir)
}

// allowed are the calls of a Go program that only computes, reads one pipe and
// writes another. A new version of Go may want another one: it is refused as
// EPERM, and TestWalls says which.
var allowed = append([]uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_FCNTL, unix.SYS_FSTAT,
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_BRK, unix.SYS_MREMAP, unix.SYS_MINCORE,
	unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY,
	unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETRUSAGE, unix.SYS_GETRANDOM,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_MEMBARRIER, unix.SYS_SETITIMER, unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_DELETE,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PIPE2,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}, allowedHere...)

// filter has seccomp refuse each thread of this process all calls but those.
// A refused call returns EPERM and does not kill: asking gains nothing, and Go's runtime
// tries calls that it can do without.
func filter() error {
	const (
		numberAt = 0 // of struct seccomp_data
		archAt   = 4
		firstAt  = 16 // the low half of the first argument
		thirdAt  = 32 // and of the third
	)
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	answer := func(what uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what}
	}
	equal := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	some := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	no := unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	program := []unix.SockFilter{
		load(archAt), equal(arch, 1, 0), answer(unix.SECCOMP_RET_KILL_PROCESS),
		load(numberAt),
		// A thread, and no process. clone3 hides its flags: the C library does without.
		equal(unix.SYS_CLONE3, 0, 1), answer(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)),
		equal(unix.SYS_CLONE, 0, 4), load(firstAt), some(unix.CLONE_THREAD, 0, 1), answer(unix.SECCOMP_RET_ALLOW), answer(no),
		// A signal to a thread of its own.
		equal(unix.SYS_TGKILL, 0, 4), load(firstAt), equal(uint32(os.Getpid()), 0, 1), answer(unix.SECCOMP_RET_ALLOW), answer(no),
		// Memory is no code.
		equal(unix.SYS_MMAP, 1, 0), equal(unix.SYS_MPROTECT, 0, 4), load(thirdAt), some(unix.PROT_EXEC, 0, 1), answer(no), answer(unix.SECCOMP_RET_ALLOW),
	}
	for _, call := range allowed {
		program = append(program, equal(call, 0, 1), answer(unix.SECCOMP_RET_ALLOW))
	}
	program = append(program, answer(no))
	code := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("the kernel lets programs gain rights (no_new_privs: %w)", err)
	}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&code))) //nolint:gosec // the kernel reads it
	if errno != 0 || thread != 0 {
		return fmt.Errorf("the kernel has no seccomp filters, or a container forbids them (thread %d: %w)", thread, errno)
	}
	return nil
}
