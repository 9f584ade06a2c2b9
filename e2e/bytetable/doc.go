// Package bytetable holds the byte table: a test that lets the real agent
// change files of every awkward kind, and compares what lands on disk with what
// a proposal said would land there, byte for byte, as proposed and as amended.
//
// It needs the agent (see e2e/install.sh) and is skipped without it, or fails
// when COUNTERSIGN_E2E is 1. The model is e2e/mockmodel on loopback; nothing
// else is reached. One agent process does all cases, in its own home folder.
package bytetable
