//go:build !linux

package hub

// adopt: orphans go to the system's first process here. Agents are ended with
// their process groups.
func (h *hub) adopt() (stop func()) { return func() {} }

// markedBy: environments of other processes are not looked at here.
func markedBy(string) []int { return nil }

func killOne(int) {}
