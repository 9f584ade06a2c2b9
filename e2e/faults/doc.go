// Package faults is the suite of everything that goes wrong: processes that are
// killed, disks that are full, places that are taken, peers that talk nonsense,
// and agents that want to decide for themselves.
//
// The program is the real one, as real processes; the agent is its scripted
// stand-in, the editor a bare LSP client of this package. Nothing else is
// needed, so the suite is part of a plain go test. Each test has a world of its
// own: a project, a home and state folders. Whatever goes wrong, four things are
// looked at: what the person is told, that no file of the project changed, that
// the agent was not given leave, and that the journal holds together; and at the
// end, that no process is left.
//
// It runs on Linux, where /proc names every process of a world. Nothing sleeps:
// what is waited for is looked at again until it is there.
package faults
