//go:build !unix

package main

// ignoreHangUps does nothing where there are no such signals.
func ignoreHangUps() {}
