package lsp

// A save, and everything that keeps it from allowing.
var saveCases = []gestureCase{
	{"saved: a save after the arm delay allows with the text on disk", `
		0 staged A
		0 open A
		700 save A amended`, `700 allow A saved amended`},
	{"saved: edits of the person do not delay it once armed", `
		0 staged A
		0 open A
		800 change A
		801 save A`, `801 allow A saved text`},
	{"opened-here: never opened", `
		0 staged A
		900 save A`, `900 refused A opened-here`},
	{"opened-here: shown is not opened", `
		0 staged A
		0 shown A
		900 save A`, `900 refused A opened-here`},
	{"opened-here: a tab restored before its approval was known is armed by the news", `
		0 open A
		5000 staged A
		5100 save A
		5800 save A`, `
		5100 refused A arm-delay
		5800 allow A saved text`},
	{"wrong-id", `
		0 staged A
		0 open A
		900 save A id=z`, `900 refused A wrong-id`},
	{"unknown: a staged path without an approval", `
		0 open A
		900 save A`, `900 inert A unknown text`},
	{"foreign documents are nobody's business", `
		0 open x
		10 change x
		900 save x
		950 close x
		9999 end`, ``},
	{"settled: a save after the decision decides nothing and says so", `
		0 staged A
		0 open A
		800 save A
		810 settled A
		2000 save A more`, `
		800 allow A saved text
		2000 inert A settled more`},
	{"settled: saved again while the decision is on its way", `
		0 staged A
		0 open A
		800 save A
		801 save A
		802 save A more`, `
		800 allow A saved text
		802 inert A settled more`},
	{"settled: by someone else", `
		0 staged A
		0 open A
		500 settled A
		800 save A`, `800 inert A settled text`},
	{"pending again: the hub did not take the decision", `
		0 staged A
		0 open A
		800 save A
		810 unsettled A
		900 save A better`, `
		800 allow A saved text
		900 allow A saved better`},
	{"autosave: after a delay, and out of focus", `
		0 staged A
		0 open A
		1000 will-save A afterDelay
		1001 save A
		2000 will-save A focusOut
		2001 save A`, `
		1001 refused A autosave
		2001 refused A autosave (again)`},
	{"autosave: the reason marks the next save only", `
		0 staged A
		0 open A
		1000 will-save A afterDelay
		1001 save A
		2000 save A`, `
		1001 refused A autosave
		2000 allow A saved text`},
	{"autosave: a later will-save speaks for its own save (the first one failed)", `
		0 staged A
		0 open A
		1000 will-save A afterDelay
		2000 will-save A manual
		2001 save A`, `2001 allow A saved text`},
	{"autosave: another document's reason is not this one's", `
		0 staged A
		0 open A
		0 open x
		1000 will-save x afterDelay
		2001 save A`, `2001 allow A saved text`},
	{"arm-delay", `
		0 staged A
		0 open A
		699 save A
		700 save A`, `
		699 refused A arm-delay
		700 allow A saved text`},
	{"arm-delay: again after our own edit", `
		0 staged A
		0 open A
		2000 edited A
		2001 change A
		2100 save A
		2701 save A`, `
		2100 refused A arm-delay
		2701 allow A saved text`},
	{"arm-delay: again after a reload", `
		0 staged A
		0 open A
		2000 close A
		2003 open A
		2100 save A
		2703 save A`, `
		2003 refused A reopened
		2100 refused A arm-delay
		2703 allow A saved text`},
	{"arm-delay: again when it is brought to the front", `
		0 staged A
		0 open A
		2000 shown A
		2100 save A`, `2100 refused A arm-delay`},
	{"typed-into: typing goes on into a document that popped up", `
		0 staged A
		0 shown A
		10 open A
		100 change A
		600 change A
		1200 change A
		1300 save A
		1900 save A`, `
		1300 refused A typed-into
		1900 allow A saved text`},
	{"unreadable", `
		0 staged A
		0 open A
		900 save A fails`, `900 refused A unreadable permission-denied`},
	{"not-written: saved under another name", `
		0 staged A
		0 open A
		900 save A unwritten
		2000 save A`, `
		900 refused A not-written
		2000 allow A saved text`},
	{"differs-from-editor", `
		0 staged A
		0 open A
		900 save A differs`, `900 refused A differs-from-editor`},
	{"save-all: another document was saved just before", `
		0 staged A
		0 open A
		0 open x
		900 save x
		1050 save A
		1300 save A`, `
		1050 refused A save-all
		1300 allow A saved text`},
	{"save-all: the window ends", `
		0 staged A
		0 open A
		0 open x
		900 save x
		1051 save A`, `1051 allow A saved text`},
	{"save-all: first in the row, another one has unsaved changes and follows", `
		0 staged A
		0 open A
		0 open x
		500 change x
		900 save A
		905 save x
		2000 save A`, `
		905 refused A save-all
		2000 allow A saved text`},
	{"save-all: another one has unsaved changes and keeps them", `
		0 staged A
		0 open A
		0 open x
		500 change x
		900 save A amended
		3000 end`, `1050 allow A saved amended`},
	{"save-all: unsaved changes elsewhere are gone with their document", `
		0 staged A
		0 open A
		0 open x
		500 change x
		600 close x
		900 save A`, `900 allow A saved text`},
	{"save-all: two proposals", `
		0 staged A
		0 staged B
		0 open A
		0 open B
		100 change A
		100 change B
		2000 save A
		2001 save B
		9000 end`, `
		2001 refused A save-all
		2001 refused B save-all`},
	{"save-all: settled elsewhere while the save is held", `
		0 staged A
		0 open A
		0 open x
		500 change x
		900 save A
		950 settled A
		3000 end`, ``},
	{"save-all: the editor quits while the save is held", `
		0 staged A
		0 open A
		0 open x
		500 change x
		900 save A
		950 ending
		3000 end`, `950 refused A ending`},
	{"save-all: closed while the save is held", `
		0 staged A
		0 open A
		0 open x
		500 change x
		900 save A
		901 close A
		3000 end`, `1050 allow A saved text`},
	{"save-all: reloaded while the save is held, as after a formatter", `
		0 staged A
		0 open A
		0 open x
		500 change x
		900 save A
		901 close A
		904 open A
		3000 end`, `1050 allow A saved text`},
	{"save-all: held while saves come to mean amend", `
		0 staged A
		0 open A
		0 open x
		500 change x
		900 save A
		950 set - saveMeans=amend
		3000 end`, `1050 kept A save-means-amend text`},
	{"save-means-amend", `
		0 set - saveMeans=amend
		0 staged A
		0 open A
		10 save A early
		900 save A late
		950 save A unwritten`, `
		10 kept A save-means-amend early
		900 kept A save-means-amend late (again)
		950 refused A not-written`},
	{"save-means-amend: an autosave keeps the text too", `
		0 set - saveMeans=amend
		0 staged A
		0 open A
		900 will-save A afterDelay
		901 save A`, `901 kept A autosave text`},
	{"ending: a save after shutdown", `
		0 staged A
		0 open A
		900 ending
		901 save A`, `901 refused A ending`},
	{"saved and closed by one command", `
		0 staged A
		0 open A
		900 save A
		901 close A
		9000 end`, `900 allow A saved text`},
}
