// Package hub is the process that owns the sessions and the desk of one
// workspace and outlives editors, and the client that front ends reach it with.
package hub
