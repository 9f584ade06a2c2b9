// Package lsptest is an editor without a screen: an LSP client with buffers,
// dirty flags and versions that says to a server what real editors were seen to
// say when a person opens, edits, saves, reloads and closes documents, and when
// the editor quits or dies. Each Kind is one real editor: the capabilities of
// its initialize are the recorded ones, and the order of its messages too.
//
// It knows nothing of approvals. Paths are absolute file system paths, times
// are the process's clock (in a synctest bubble: the bubble's).
//
// # Goroutines of an Editor
//
//	connection  those of rpc.Conn; requests of the server are answered on
//	            their goroutines and take the editor's lock only briefly
//	late        one for each message that a kind sends a while after its cause
//	            (VS Code's didClose); ends with the connection
//
// The methods named after what a person does return when the messages are on
// their way, and never wait for the server, except where a real editor does.
package lsptest
