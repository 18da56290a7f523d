package store

import (
	"os/exec"
	"syscall"
)

// endsWithUs has a process killed when this one is gone, however that ends.
func endsWithUs(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
