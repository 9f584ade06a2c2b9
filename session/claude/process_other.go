//go:build !linux

package claude

import (
	"os"
	"os/exec"
)

// waitAndKillGroup waits for the process and ends what is left of its group.
func waitAndKillGroup(cmd *exec.Cmd) error {
	err := cmd.Wait()
	killGroup(cmd)
	return err
}

func widen(*os.File) {}
