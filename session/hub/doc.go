// Package hub is the process that owns the sessions and the desk of one
// workspace and outlives editors, and the client that front ends reach it with.
//
// It knows no editor: front ends are peers on a socket. It knows the agent's
// wire only through session.Starter. There is one hub for a workspace root; the
// lock file in the root's state folder elects it, and hub.json beside it names
// its socket. Front ends come and go; losing one decides nothing.
//
// # Goroutines of a hub
//
//	Run        the caller's; blocks until the hub is to end, then winds up.
//	accept     started by Run; blocks in Accept; ends with the listener.
//	a front end: the goroutines of its rpc.Conn, and one that waits for its end.
//	scribe     writes transcripts and the list of sessions; ends with windUp.
//	idle       a timer; its function only marks the hub as ending.
//	reaper     Linux, own process only: collects adopted orphans; ends with Run.
//
// What agents do is told by the session's own goroutines; they convert and
// queue, and never wait for a front end.
//
// # Goroutines of a client
//
// Those of its rpc.Conn, and one that hands events over in order; it ends with
// Close, or after Lost was taken.
package hub
