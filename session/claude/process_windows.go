package claude

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup keeps the console's Ctrl+C away from the agent. What the agent
// started is ended by killGroup only as far as taskkill finds it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func terminateGroup(cmd *exec.Cmd) { cmd.Process.Kill() }

func killGroup(cmd *exec.Cmd) { cmd.Process.Kill() }

func exitSignal(*exec.ExitError) string { return "" }

// readNow has nothing to read: pipes have no deadlines here.
func readNow(*os.File, []byte) (int, error) { return 0, os.ErrDeadlineExceeded }
