//go:build linux && race

package faults

// raced: the program under test looks for data races as well.
const raced = true
