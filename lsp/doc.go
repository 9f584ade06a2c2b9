// Package lsp is the front end for editors: a language server whose documents
// are the agent's proposals.
package lsp
