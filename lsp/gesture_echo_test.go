package lsp

// What the answers of an editor add to spans of time: an editor that is busy, or
// does something slow in between, does in one go what takes longer than any span.
var echoCases = []gestureCase{
	{"echo: a save alone waits for the answer, and no longer", `
		0 set - echo=on
		0 staged A
		0 open A
		900 save A
		901 echo
		902 end`, `901 allow A saved text`},
	{"echo: another one has changes that were not told yet", `
		0 set - echo=on
		0 staged A
		0 open A
		0 open x
		900 save A
		902 change x
		903 save x
		904 echo`, `903 refused A save-all`},
	{"echo: saved again before the answer: the last text counts", `
		0 set - echo=on
		0 staged A
		0 open A
		900 save A early
		901 save A late
		902 echo`, `902 allow A saved late`},
	{"echo: saved and closed, and the save decides", `
		0 set - echo=on
		0 staged A
		0 open A
		900 save A
		901 close A
		902 echo
		9000 end`, `902 allow A saved text`},
	{"echo: saved alone by an editor that quits then", `
		0 set - echo=on
		0 staged A
		0 open A
		900 save A
		901 quits`, `901 allow A saved text`},
	{"echo: saved by an editor that dies then", `
		0 set - echo=on
		0 staged A
		0 open A
		900 save A
		901 ending`, `901 refused A ending`},
	{"echo: all saved by an editor that quits then", `
		0 set - echo=on
		0 staged A
		0 open A
		0 open x
		900 save A
		901 save x
		902 quits`, `901 refused A save-all`},
	{"echo: saved by an editor that quits, while others have unsaved changes", `
		0 set - echo=on
		0 staged A
		0 open A
		0 open x
		100 change x
		900 save A
		901 quits`, `901 refused A ending`},
	{"echo: closed by an editor that quits then", `
		0 set - echo=on
		0 staged A
		0 open A
		900 close A
		60000 quits`, `60000 refused A ending`},
	{"echo: saved alone while saves come to mean amend", `
		0 set - echo=on
		0 staged A
		0 open A
		900 save A
		901 set - saveMeans=amend
		902 quits`, `902 refused A ending`},
	{"echo: first in the row, the other save comes late", `
		0 set - echo=on
		0 staged A
		0 open A
		0 open x
		500 change x
		900 save A
		2400 save x
		2401 echo
		9000 save A
		9001 echo`, `
		2400 refused A save-all
		9001 allow A saved text`},
	{"echo: first in the row, and alone", `
		0 set - echo=on
		0 staged A
		0 open A
		0 open x
		500 change x
		900 save A
		2400 echo`, `2400 allow A saved text`},
	{"echo: answered within the span, which counts still", `
		0 set - echo=on
		0 staged A
		0 open A
		0 open x
		500 change x
		900 save A
		901 echo
		2400 end`, `1050 allow A saved text`},
	{"echo: answered within the span, and another save within it", `
		0 set - echo=on
		0 staged A
		0 open A
		0 open x
		500 change x
		900 save A
		901 echo
		1000 save x
		2400 end`, `1000 refused A save-all`},
	{"echo: the other one was saved first, long ago, in one go with this", `
		0 set - echo=on
		0 staged A
		0 open A
		0 open x
		900 save x
		3000 save A
		3001 echo
		3200 save A
		3201 echo`, `
		3000 refused A save-all
		3201 allow A saved text`},
	{"echo: the other one was saved first, and the editor came back", `
		0 set - echo=on
		0 staged A
		0 open A
		0 open x
		900 save x
		901 echo
		3000 save A
		3001 echo`, `3001 allow A saved text`},
	{"echo: the same document again is no other one", `
		0 set - echo=on
		0 staged A
		0 open A
		500 save A
		900 save A
		901 echo`, `
		500 refused A arm-delay
		901 allow A saved text`},
	{"echo: of two saves before, each counts", `
		0 set - echo=on
		0 staged A
		0 open A
		0 open x
		0 open y
		900 save x
		901 echo
		1500 save y
		3000 save A`, `3000 refused A save-all`},
	{"echo: a save that was not answered counts, though the one after it asked nothing", `
		0 set - echo=on
		0 staged C
		0 open C
		0 open x
		800 save x
		900 settled C
		1000 save x
		1100 staged D
		1100 open D
		3000 save D
		3001 echo
		4000 save D
		4001 echo`, `
		3000 refused D save-all
		4001 allow D saved text`},
	{"echo: two proposals in one go", `
		0 set - echo=on
		0 staged A
		0 staged B
		0 open A
		0 open B
		100 change A
		100 change B
		2000 save A
		4000 save B
		4001 echo
		9000 end`, `
		4000 refused A save-all
		4000 refused B save-all`},
	{"echo: an answer to an earlier one does not count", `
		0 set - echo=on
		0 staged A
		0 open A
		0 open x
		500 change x
		800 save A
		900 save x
		901 save A
		1500 change x
		2000 save A
		2001 echo 1
		2002 echo 2
		2900 save x
		2901 echo`, `
		900 refused A save-all
		901 refused A save-all
		2000 refused A save-all`},
	{"echo: a will-save of the other one is as good as its save", `
		0 staged A
		0 open A
		0 open x
		500 change x
		900 save A
		905 will-save x manual
		2000 save x`, `905 refused A save-all`},
	{"echo: a will-save of the same one is none", `
		0 staged A
		0 open A
		0 open x
		500 change x
		900 save A
		905 will-save A manual
		2000 end`, `1050 allow A saved text`},
	{"echo: closed, and the editor does not answer: nothing is decided until it does", `
		0 set - echo=on
		0 staged A
		0 open A
		900 close A
		60000 echo`, `60000 deny A closed`},
	{"echo: closed, answered, and the grace still counts", `
		0 set - echo=on
		0 staged A
		0 open A
		900 close A
		901 echo
		5000 end`, `1900 deny A closed`},
	{"echo: closed by an editor that quits slowly", `
		0 set - echo=on
		0 staged A
		0 open A
		900 close A
		60000 ending
		60001 echo
		90000 end`, `60000 refused A ending`},
	{"echo: reloaded slowly", `
		0 set - echo=on
		0 staged A
		0 open A
		900 close A
		5000 open A
		5001 echo
		90000 end`, `5000 refused A reopened`},
	{"echo: replaced slowly", `
		0 set - echo=on
		0 staged A
		0 staged B
		0 open A
		900 close A
		5000 open B
		5001 echo
		90000 end`, `5001 refused A replaced-tab`},
	{"echo: saved and closed in one go, slowly", `
		0 set - echo=on
		0 staged A
		0 open A
		500 save A
		2000 close A
		2001 echo
		90000 end`, `
		500 refused A arm-delay
		3000 refused A closed-with-save`},
	{"echo: nothing is asked where nothing can be decided", `
		0 set - echo=on
		0 open x
		900 save x
		901 asked 0
		1000 staged A
		1000 open A
		2000 save x
		2001 asked 1
		2002 echo
		2003 settled A
		3000 save x
		3001 asked 1
		3002 ending
		3003 save x
		3004 asked 1`, ``},
}
