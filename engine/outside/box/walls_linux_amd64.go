package box

import "golang.org/x/sys/unix"

// arch is what seccomp calls this processor.
const arch = unix.AUDIT_ARCH_X86_64

// allowedHere are calls that only this processor has.
var allowedHere = []uint32{unix.SYS_EPOLL_WAIT, unix.SYS_POLL, unix.SYS_ARCH_PRCTL}
