package hub

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// sioPeerPID is SIO_AF_UNIX_GETPEERPID: who is at the other end of a socket.
const sioPeerPID = 0x58000100

// peerOfSocket: the user is not told here; the folders of the profile, where
// the socket lies, are the user's own.
func peerOfSocket(fd uintptr) (peer, error) {
	var pid, n uint32
	err := windows.WSAIoctl(windows.Handle(fd), sioPeerPID, nil, 0, (*byte)(unsafe.Pointer(&pid)), 4, &n, nil, 0)
	if err != nil {
		return peer{}, nil // an older system: nothing is known of the peer
	}
	p := peer{pid: int(pid)}
	p.started, _ = startOf(p.pid)
	return p, nil
}

// eachProcess calls f with every process until it returns false.
func eachProcess(f func(pid, parent int) bool) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(snapshot)
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snapshot, &entry); err == nil; err = windows.Process32Next(snapshot, &entry) {
		if !f(int(entry.ProcessID), int(entry.ParentProcessID)) {
			break
		}
	}
	return nil
}

// parentOf: a parent that has ended is still named; it is believed only while
// a process older than its child has that pid.
func parentOf(pid int) (int, error) {
	parent := -1
	err := eachProcess(func(p, pp int) bool {
		if p == pid {
			parent = pp
		}
		return parent < 0
	})
	if err != nil {
		return 0, err
	}
	if parent < 0 {
		return 0, fmt.Errorf("there is no process %d", pid)
	}
	mine, err1 := startOf(pid)
	its, err2 := startOf(parent)
	if err1 != nil || err2 != nil || its > mine {
		return 0, nil
	}
	return parent, nil
}

func startOf(pid int) (string, error) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return "", err
	}
	defer windows.CloseHandle(h)
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return "", err
	}
	return fmt.Sprintf("%020d", created.Nanoseconds()), nil
}

// marked: the environment of other processes is not to be had here.
func marked(int) bool { return false }

func childrenOf(pid int) []int {
	var pids []int
	_ = eachProcess(func(p, pp int) bool {
		if pp == pid {
			pids = append(pids, p)
		}
		return true
	})
	return pids
}

func ended(int) bool { return false }

// hidden: every process can be seen here, or none.
func hidden(int) bool { return false }
