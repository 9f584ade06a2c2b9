//go:build !linux

package main

import "errors"

// memoryOf is not known how to find here.
func memoryOf(int) (now, most int64, err error) {
	return 0, 0, errors.ErrUnsupported
}

func load() string      { return "" }
func processor() string { return "" }
