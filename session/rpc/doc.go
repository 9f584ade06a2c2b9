// Package rpc connects two peers that speak JSON-RPC 2.0 in Content-Length
// frames: an editor over stdio, and a front end over the hub's socket.
//
// It knows neither LSP nor the hub: methods are names, parameters are JSON.
// Messages are read and written with go.lsp.dev/jsonrpc2 and their payloads
// with go.lsp.dev/protocol; the connection itself is this package's, because
// it has to hold promises that the one of jsonrpc2 does not make:
//
//   - Notifications reach the handler in the order of the wire, requests are
//     taken in that order (Handler.Request) and then answered concurrently.
//   - Nothing that a peer sends ends the process or, short of an unreadable
//     frame header, the connection: handlers' panics and errors are logged and
//     answered, malformed messages are answered with an error.
//   - Nobody waits for a peer that does not read: frames are queued without
//     bound in number, and up to Options.MaxQueued bytes; past that the
//     connection is ended.
//   - The end of input, a broken stream, Close and the end of the context that
//     NewConn was given all end the connection in the same way: the context of
//     every handler is cancelled, Calls return, queued frames are flushed, the
//     stream is closed, and Done is closed, at the latest Options.Grace later.
//
// # Goroutines of a connection
//
//	reader   started by NewConn; blocks in the stream's Read and in the inline
//	         part of handlers; ends with the stream. A Read that cannot be
//	         interrupted (a terminal on stdin) outlives Done until it returns.
//	writer   started by NewConn; blocks in the stream's Write; ends once the
//	         queue is closed and empty, or with the first failed Write.
//	closer   started by NewConn; waits for the end and winds the others up.
//	handlers one for each request in work, started by the reader; blocks in
//	         whatever the handler does; its context ends with the connection.
//
// Sizes are bytes, of frames without their header unless said otherwise.
package rpc
