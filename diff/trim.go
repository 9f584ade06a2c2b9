package diff

import "strings"

// commonPrefix is the number of bytes that a and b have in common at the start.
// It compares blocks, which the runtime does many bytes at a time, and halves
// the first block that differs.
func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	i, block := 0, 4096
	for block > 0 {
		for i+block <= n && a[i:i+block] == b[i:i+block] {
			i += block
		}
		block /= 2
	}
	return i
}

// commonSuffix is commonPrefix from the end.
func commonSuffix(a, b string) int {
	n := min(len(a), len(b))
	i, block := 0, 4096
	for block > 0 {
		for i+block <= n && a[len(a)-i-block:len(a)-i] == b[len(b)-i-block:len(b)-i] {
			i += block
		}
		block /= 2
	}
	return i
}

// trim gives the number of bytes at the head and at the tail that consist of
// whole lines common to a and b. The two do not overlap in either text.
func trim(a, b string) (head, tail int) {
	head = strings.LastIndexByte(a[:commonPrefix(a, b)], '\n') + 1
	tail = commonSuffix(a[head:], b[head:])
	if i, j := len(a)-tail, len(b)-tail; !lineStart(a, i) || !lineStart(b, j) {
		// The tail begins inside a line: give that line up.
		tail = len(a) - lineEnd(a, i)
	}
	return head, tail
}

// lineStart tells whether a line starts at byte i of s, or s ends there.
func lineStart(s string, i int) bool { return i == 0 || i == len(s) || s[i-1] == '\n' }
