//go:build unix && !linux

package claude

// wait waits for the process and ends what is left of its group.
func (g group) wait() error {
	err := g.cmd.Wait()
	g.kill()
	return err
}
