package approvals

// A QuickAnswer is a whole answer to a request, for one keystroke. It is given
// with Decision.Answers = {Question: Label}.
type QuickAnswer struct {
	Question string `json:"question"`
	Label    string `json:"label"`
	Words    string `json:"words"` // one visible line: the label and what it means
}

// QuickAnswers are the options of a document that asks one question, of which
// one is chosen; nil for every other document. Several questions, or a choice
// of several, need the document.
func QuickAnswers(doc Document) []QuickAnswer {
	d, ok := doc.(*questionDocument)
	if !ok || len(d.questions) != 1 || d.questions[0].MultiSelect {
		return nil
	}
	q := d.questions[0]
	var all []QuickAnswer
	for _, o := range q.Options {
		all = append(all, QuickAnswer{Question: q.Question, Label: o.Label, Words: short(optionLine(o, InLine))})
	}
	return all
}
