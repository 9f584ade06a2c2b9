package hub

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func peerOfSocket(fd uintptr) (peer, error) {
	cred, err := unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return peer{}, err
	}
	pid, err := unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	if err != nil {
		return peer{}, err
	}
	p := peer{uid: cred.Uid, pid: pid}
	p.started, _ = startOf(pid)
	return p, nil
}

func parentOf(pid int) (int, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, err
	}
	return int(info.Eproc.Ppid), nil
}

func startOf(pid int) (string, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", err
	}
	if int(info.Proc.P_pid) != pid {
		return "", fmt.Errorf("there is no process %d", pid)
	}
	return fmt.Sprintf("%d.%06d", info.Proc.P_starttime.Sec, info.Proc.P_starttime.Usec), nil
}

// marked: the environment of other processes is not to be had here.
func marked(int) bool { return false }

// childrenOf lists the children of a process.
func childrenOf(pid int) []int {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.uid", unix.Geteuid())
	if err != nil {
		return nil
	}
	var pids []int
	for _, info := range all {
		if int(info.Eproc.Ppid) == pid {
			pids = append(pids, int(info.Proc.P_pid))
		}
	}
	return pids
}

func ended(pid int) bool {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err == nil && info.Proc.P_stat == 5 // SZOMB
}

// hidden: every process can be seen here, or none.
func hidden(int) bool { return false }
