package box

import "golang.org/x/sys/unix"

// arch is what seccomp calls this processor.
const arch = unix.AUDIT_ARCH_AARCH64

// allowedHere are calls that only this processor has.
var allowedHere = []uint32{unix.SYS_PPOLL}
