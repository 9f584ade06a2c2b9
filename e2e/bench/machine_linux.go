package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// memoryOf is what a process holds of memory now, and held at most, in bytes.
func memoryOf(pid int) (now, most int64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(line, ":")
		var at *int64
		switch name {
		case "VmRSS":
			at = &now
		case "VmHWM":
			at = &most
		default:
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("process %d: %w", pid, err)
		}
		*at = kb << 10
	}
	if now == 0 || most == 0 {
		return 0, 0, fmt.Errorf("process %d has no memory", pid)
	}
	return now, most, nil
}

// alive says whether a process runs; one that only waits to be reaped does not.
func alive(pid int) bool {
	_, _, err := memoryOf(pid)
	return err == nil
}

// load is how busy the machine has been in the last minute.
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(data), " ")
	return first
}

// processor is the name of the machine's processor.
func processor() string {
	data, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
