//go:build linux && !race

package faults

const raced = false
