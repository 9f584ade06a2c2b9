// Command bench measures Countersign's real processes beside floors, and prints
// both as one table of ratios:
//
//	go run ./e2e/bench [--quick] [--json] [--only ROW,…]
//
// Ours is the real chain: the bench itself plays the editor over the pipes of a
// real "countersign serve", which starts the real hub, which starts the bench
// again as its agent (the setting agent.command). A floor is the least that any
// such chain could do in its place: three processes that only copy lines of the
// same size, a write and a rename of the same bytes, an LSP server that knows
// its one answer. Ours and its floor are measured in turn, sample by sample, so
// that what else the machine does meets both.
//
// It never fails because of a time: the exit status is 1 only when something
// could not be measured at all.
//
// Times are nanoseconds of the system's monotonic clock, which all processes
// share. Goroutines: each process that is driven has one that reads its output
// and stamps what it reads (see [reader]); it ends with the process.
package main
