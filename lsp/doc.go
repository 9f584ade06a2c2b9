// Package lsp is the front end for editors: a language server whose documents
// are the agent's proposals.
//
// It turns what an editor tells (documents opened, changed, saved, closed;
// commands run) into decisions that the hub takes, and what the hub tells into
// diagnostics, code actions, messages and documents to show. It knows nothing
// of agents and their processes, and decides nothing itself: gesture.go says
// what a gesture amounts to, the hub's desk says whether that counts. Losing a
// server decides nothing.
//
// # Goroutines of a server
//
//	reader, writer  of the connection (package rpc). The reader calls Notify and
//	                Request, which only push to the event loop; it never waits.
//	event loop      started by Serve; owns all state below server.loop; runs one
//	                event after the other. It reads staged files (local, bounded)
//	                and waits for nothing else; ends with Serve.
//	requests        one each, started by the connection; answer from an immutable
//	                snapshot that the loop takes in wire order, or ask the hub.
//	links           one for each hub attached: forwards its events to the loop;
//	                ends when the hub is lost or the link closed.
//	work            short ones, started by the loop (server.work, server.decide):
//	                calls of the hub and of the editor, none with a lock held. They
//	                end with their call; Serve waits for them.
//
// At the end Serve lets decisions that were already under way reach the hub
// (for at most two seconds) and starts no new ones.
//
// Lines are counted from 0; columns are in the encoding negotiated with the
// editor (bytes or UTF-16 code units); texts are UTF-8; times are wall clock.
package lsp
