package approvals

import "strings"

// TakeBackNewline gives the text a person saved without a final newline that
// only the editor added. Editors end the last line of a file on every save
// unless they are told otherwise, so a newline that the proposal did not have
// says nothing of what the person wants; where the last line itself was
// changed the newline is taken as theirs. What comes back is what to amend with.
func TakeBackNewline(proposed, saved string) string {
	if strings.HasSuffix(proposed, "\n") || strings.HasSuffix(proposed, "\r") {
		return saved // it had one; whatever the person did to it was done by hand
	}
	bare, ok := strings.CutSuffix(saved, "\r\n")
	if !ok {
		if bare, ok = strings.CutSuffix(saved, "\n"); !ok {
			return saved
		}
	}
	if lastLine(bare) != lastLine(proposed) {
		return saved
	}
	return bare
}

// lastLine is what follows the last line end.
func lastLine(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }
