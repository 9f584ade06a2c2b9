package approvals

import (
	"errors"
	"strings"

	"countersign/diff"
)

// feedbackIntro stands before the diff of what a person changed. It says that
// nothing was written, because a model that reads a diff after a deny may take
// it for something that happened.
const feedbackIntro = "The user changed your proposal into what they want instead; nothing of it was carried out. " +
	"This is how the user's version differs from your proposal:"

// maxFeedback bounds the diff that is sent back, in bytes. Its lines are
// bounded by its style, but not how long they are.
const maxFeedback = 64 << 10

// feedback tells the agent what a person changed in a document that is denied:
// a unified diff, fenced. What the person has is compared with what the agent
// proposed, so that for a proposal that was rebuilt on a changed file the merge
// is a part of it.
func feedback(a Approval, text string) (string, error) {
	if a.Surface == SurfaceQuestion {
		return "", errors.New("a question has no proposal that could be sent back changed: answer it, or deny it with a message")
	}
	if err := plainText(text); err != nil {
		return "", err
	}
	text = TakeBackNewline(a.Document.Text(), text)
	if line := diff.Unresolved(text); line >= 0 && diff.Unresolved(a.Document.Text()) < 0 {
		return "", &DocumentError{Line: line + 1, Reason: "the text still has the marks of a conflict: choose between the two sides first"}
	}
	d := strings.ReplaceAll(amendmentDiff(a, text), "\r\n", "\n")
	if d == "" {
		return "", errors.New("nothing was changed, so there are no changes to send back: change the document first, or deny it with a message")
	}
	if len(d) > maxFeedback {
		n := strings.LastIndexByte(d[:maxFeedback], '\n') + 1
		if n < maxFeedback/2 { // one line is most of it
			for n = maxFeedback; d[n]&0xc0 == 0x80; {
				n--
			}
		}
		d = endLine(d[:n]) + "... the rest is left out\n"
	}
	return feedbackIntro + "\n\n" + fenced("diff", d), nil
}

// fenced puts a text into a code block of Markdown whose fence the text cannot
// end.
func fenced(language, text string) string {
	longest, run := 2, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	return fence + language + "\n" + endLine(text) + fence
}

// unfit says why a decision to deny does not go together.
func unfit(a Approval, dec Decision) error {
	switch {
	case dec.WithEdits && dec.Interrupt:
		return errors.New("the agent reads no reason when the turn is ended: either the changes are sent back, or the turn is ended")
	case dec.Suggestion != nil || dec.Destination != "" || dec.ForSession:
		return errors.New("a rule goes with an allow, not with a deny")
	}
	return nil
}
