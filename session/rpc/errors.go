package rpc

import (
	"context"
	"errors"
	"fmt"

	"go.lsp.dev/jsonrpc2"
)

// An Error is an error with a code, as it crosses the wire.
type Error = jsonrpc2.Error

// A Code says what kind of error it is.
type Code = jsonrpc2.Code

// Codes of JSON-RPC and LSP.
const (
	InvalidRequest       Code = jsonrpc2.InvalidRequest
	MethodNotFound       Code = jsonrpc2.MethodNotFound
	InvalidParams        Code = jsonrpc2.InvalidParams
	InternalError        Code = jsonrpc2.InternalError
	ServerNotInitialized Code = jsonrpc2.ServerNotInitialized
	RequestFailed        Code = -32803 // a valid request that could not be done
	ServerCancelled      Code = -32802
	RequestCancelled     Code = -32800
)

// ErrClosed is what Notify and Call return once the connection has ended.
var ErrClosed = errors.New("the connection is closed")

// Errorf builds an Error.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// NoMethod is the answer to a method that does not exist.
func NoMethod(method string) *Error {
	return Errorf(MethodNotFound, "there is no method %q", method)
}

// toWire gives an error the code it crosses the wire with: without one it
// would be sent with code 0.
func toWire(err error) *Error {
	var coded *Error
	if errors.As(err, &coded) && coded != nil && coded.Code != 0 {
		return &Error{Code: coded.Code, Message: err.Error(), Data: coded.Data}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Errorf(RequestCancelled, "the request was cancelled")
	case errors.Is(err, context.DeadlineExceeded):
		return Errorf(RequestFailed, "the request took too long: %v", err)
	}
	return Errorf(RequestFailed, "%v", err)
}
