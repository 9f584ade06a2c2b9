package approvals

import (
	"fmt"
	"strings"
)

// A task is a line of a task list.
type task struct{ mark, rest string }

// taskLine takes a trimmed line of a task list apart, whichever bullet it has.
func taskLine(l string) (task, bool) {
	if len(l) < 4 || strings.IndexByte("-*+", l[0]) < 0 || l[1] != ' ' || l[2] != '[' {
		return task{}, false
	}
	mark, rest, ok := strings.Cut(l[3:], "]")
	return task{strings.TrimSpace(mark), strings.TrimSpace(rest)}, ok
}

func (t task) ticked() bool {
	switch t.mark {
	case "x", "X", "✓", "✔":
		return true
	}
	return false
}

func (t task) strange() string {
	return fmt.Sprintf("[%s] is neither ticked nor empty: tick with [x]", InLine(t.mark))
}
