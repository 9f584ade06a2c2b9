// Package diff compares texts line by line: edit scripts, hunks, unified
// rendering and three-way merge.
//
// Everything here is a pure function of its arguments: no I/O, no goroutines,
// no state. Texts are Go strings of arbitrary bytes; a line ends with '\n' and
// owns it ("\r\n" is a line whose content ends with '\r'). Line numbers are
// 0-based unless a comment says otherwise.
package diff

// An Edit replaces the lines [A0,A1) of the old text with the lines [B0,B1) of
// the new one. Line numbers are 0-based and half-open.
type Edit struct {
	A0, A1 int
	B0, B1 int
}
