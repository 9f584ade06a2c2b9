//go:build linux

package faults

// toolVariable makes this test program one of the tools that worlds run.
const toolVariable = "COUNTERSIGN_FAULTS_TOOL"

func runTool(name string, args []string) int { return 2 }
