package hub

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

func peerOfSocket(fd uintptr) (peer, error) {
	cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return peer{}, err
	}
	p := peer{uid: cred.Uid, pid: int(cred.Pid)}
	// A descriptor of the process itself cannot come to mean another one, as
	// the number can. Older kernels have none to give.
	if pidfd, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD); err == nil {
		var once sync.Once
		p.release = func() { once.Do(func() { unix.Close(pidfd) }) }
		p.alive = func() bool { return unix.PidfdSendSignal(pidfd, 0, nil, 0) == nil }
	}
	p.started, _ = startOf(p.pid)
	return p, nil
}

// stat reads the fields of /proc/PID/stat after the command's name, which may
// itself hold blanks and parentheses.
func stat(pid int) ([][]byte, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil, err
	}
	end := bytes.LastIndexByte(data, ')')
	fields := bytes.Fields(data[end+1:])
	if end < 0 || len(fields) < 20 {
		return nil, fmt.Errorf("/proc/%d/stat cannot be read", pid)
	}
	return fields, nil
}

// parentOf is the pid of a process's parent.
func parentOf(pid int) (int, error) {
	fields, err := stat(pid)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(fields[1]))
}

// hidden says whether a process is another user's that /proc does not show
// (the mount option hidepid): the line of ancestors cannot be seen beyond it.
func hidden(pid int) bool {
	if _, err := stat(pid); err == nil {
		return false
	}
	return errors.Is(unix.Kill(pid, 0), unix.EPERM)
}

// startOf says when a process began: together with its pid that names it.
func startOf(pid int) (string, error) {
	fields, err := stat(pid)
	if err != nil {
		return "", err
	}
	return string(fields[19]), nil // clock ticks since boot
}

// ended says whether a process is dead and only waits to be reaped.
func ended(pid int) bool {
	fields, err := stat(pid)
	return err == nil && string(fields[0]) == "Z"
}

// marker is the variable that marks the environment of an agent and of all
// that it starts; session/claude sets it.
const marker = "COUNTERSIGN_AGENT"

// marked says whether a process was started with an agent's environment, or is
// a hub: what that has adopted was an agent's, of whatever workspace.
func marked(pid int) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for variable := range bytes.SplitSeq(env, []byte{0}) {
		name, _, found := bytes.Cut(variable, []byte("="))
		if found && (string(name) == marker || string(name) == hubMarker) {
			return true
		}
	}
	return false
}

// childrenOf lists the children of a process, adopted ones too.
func childrenOf(pid int) []int {
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var pids []int
	for _, task := range tasks {
		data, err := os.ReadFile(dir + task.Name() + "/children")
		if err != nil {
			if _, gone := os.Stat(dir + task.Name()); gone != nil {
				continue // the thread ended; its children are another's now
			}
			return childrenByScan(pid) // a kernel without that file
		}
		for _, word := range bytes.Fields(data) {
			if n, err := strconv.Atoi(string(word)); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

func childrenByScan(pid int) []int {
	all, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, entry := range all {
		n, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if parent, err := parentOf(n); err == nil && parent == pid {
			pids = append(pids, n)
		}
	}
	return pids
}
