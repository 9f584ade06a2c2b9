package claude

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A group is a process with all that it starts: a job object, which the system
// ends with its last handle, this process's. What the process starts in the
// moment before it is put into the job stays outside.
type group struct {
	cmd *exec.Cmd
	job windows.Handle
}

// startGroup starts cmd in a job of its own.
func startGroup(cmd *exec.Cmd) (group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return group{}, fmt.Errorf("make a job for the agent: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		windows.CloseHandle(job)
		return group{}, fmt.Errorf("make a job for the agent: %w", err)
	}
	if err := startOwned(cmd); err != nil {
		windows.CloseHandle(job)
		return group{}, err
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid))
	if err == nil {
		err = windows.AssignProcessToJobObject(job, process)
		windows.CloseHandle(process)
	}
	if err != nil {
		windows.CloseHandle(job)
		job = 0 // it runs all the same; only what it starts may outlive it
	}
	return group{cmd, job}, nil
}

// terminate asks for nothing here: a process without a window cannot be asked.
func (g group) terminate() { g.kill() }

func (g group) kill() {
	if g.job != 0 {
		windows.TerminateJobObject(g.job, 1)
	}
	g.cmd.Process.Kill()
}

// wait waits for the process and ends what is left of its job.
func (g group) wait() error {
	err := g.cmd.Wait()
	if g.job != 0 {
		windows.TerminateJobObject(g.job, 1)
	}
	return err
}

// exitSignal is the signal that ended a process; there are none here.
func exitSignal(*exec.ExitError) string { return "" }

// readNow has nothing to read: pipes have no deadlines here.
func readNow(*os.File, []byte) (int, error) { return 0, os.ErrDeadlineExceeded }
