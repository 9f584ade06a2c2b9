package lsp

// A close and everything that keeps it from denying; then the life of a
// document, and the rhythm of saves.
var closeCases = []gestureCase{
	{"closed: denied when the grace has passed", `
		0 staged A
		0 open A
		2000 close A
		9000 end`, `3000 deny A closed`},
	{"closed: minutes later, as VS Code reports it", `
		0 staged A
		0 shown A
		1 open A
		180000 close A
		190000 end`, `181000 deny A closed`},
	{"closed: with unsaved changes", `
		0 staged A
		0 open A
		1500 change A
		2000 close A
		9000 end`, `3000 deny A closed`},
	{"closed: nothing is decided without the tick", `
		0 no-timer
		0 staged A
		0 open A
		2000 close A
		9000 open A`, `9000 refused A reopened`},
	{"closed: a tick that comes too early decides nothing", `
		0 staged A
		0 open A
		2000 close A
		2500 tick
		9000 end`, `3000 deny A closed`},
	{"closed: once only", `
		0 staged A
		0 open A
		2000 close A
		2500 close A
		4000 close A
		9000 end`, `3000 deny A closed`},
	{"closed: another grace", `
		0 set - grace=200
		0 staged A
		0 open A
		2000 close A
		9000 end`, `2200 deny A closed`},
	{"opened-here: a close of a document that was never opened", `
		0 staged A
		2000 close A
		9000 end`, `2000 refused A opened-here`},
	{"reopened: a reload", `
		0 staged A
		0 open A
		2000 close A
		2004 open A
		9000 end`, `2004 refused A reopened`},
	{"reopened: and then closed in earnest", `
		0 staged A
		0 open A
		2000 close A
		2004 open A
		5000 close A
		9000 end`, `
		2004 refused A reopened
		6000 deny A closed`},
	{"opened twice without a close, then closed", `
		0 staged A
		0 open A
		1000 open A
		2000 close A
		9000 end`, `3000 deny A closed`},
	{"replaced-tab: another proposal was shown just before", `
		0 staged A
		0 staged B
		0 open A
		2000 shown B
		2001 close A
		9000 end`, `3001 refused A replaced-tab`},
	{"replaced-tab: another proposal opens within the grace", `
		0 staged A
		0 staged B
		0 open A
		2000 close A
		2500 open B
		9000 end`, `3000 refused A replaced-tab`},
	{"replaced-tab: the server shows some other document, a prompt", `
		0 staged A
		0 open A
		2000 close A
		2500 shown p
		9000 end`, `3000 refused A replaced-tab`},
	{"replaced-tab: a document of the person's own is no such thing", `
		0 staged A
		0 open A
		2000 close A
		2500 open x
		9000 end`, `3000 deny A closed`},
	{"replaced-tab: two seconds before is long ago", `
		0 staged A
		0 staged B
		0 open A
		1000 open B
		3000 close A
		9000 end`, `4000 deny A closed`},
	{"replaced-tab: a preview tab, told three minutes late", `
		0 set - previewTabs=true
		0 staged A
		0 staged B
		0 shown A
		1 open A
		5000 shown B
		5001 open B
		180001 close A
		190000 end`, `181001 refused A replaced-tab`},
	{"replaced-tab: a tab that was typed in is no preview", `
		0 set - previewTabs=true
		0 staged A
		0 staged B
		0 shown A
		1 open A
		4000 change A
		5000 shown B
		5001 open B
		180001 close A
		190000 end`, `181001 deny A closed`},
	{"replaced-tab: what was shown before it took no place", `
		0 set - previewTabs=true
		0 staged A
		0 staged B
		0 shown B
		1 open B
		5000 shown A
		5001 open A
		180001 close A
		190000 end`, `181001 deny A closed`},
	{"close-means-nothing", `
		0 set - closeMeans=nothing
		0 staged A
		0 open A
		2000 close A
		9000 end`, `3000 refused A close-means-nothing`},
	{"close-means-nothing: set while the close was held", `
		0 staged A
		0 open A
		2000 close A
		2100 set - closeMeans=nothing
		9000 end`, `3000 refused A close-means-nothing`},
	{"ending: quitting during the grace", `
		0 staged A
		0 open A
		2000 close A
		2300 ending
		9000 end`, `2300 refused A ending`},
	{"ending: closes after shutdown", `
		0 staged A
		0 open A
		2300 ending
		2301 close A
		9000 end`, ``},
	{"settled: elsewhere during the grace", `
		0 staged A
		0 open A
		2000 close A
		2500 settled A
		9000 end`, ``},
	{"settled: closing a leftover tab", `
		0 staged A
		0 open A
		800 save A
		810 settled A
		2000 close A
		9000 end`, `800 allow A saved text`},
	{"a save inside the grace wins", `
		0 staged A
		0 open A
		2000 close A
		2001 save A
		9000 end`, `2001 allow A saved text`},
	{"opened, closed and saved unseen within 40 ms, the close first", `
		0 staged A
		0 open A
		38 will-save A manual
		39 close A
		40 save A
		9000 end`, `40 refused A arm-delay`},
	{"opened, saved and closed unseen within 40 ms, the save first", `
		0 staged A
		0 open A
		38 save A
		40 close A
		9000 end`, `
		38 refused A arm-delay
		1040 refused A closed-with-save`},
	{"closed-with-save: saving means amend", `
		0 set - saveMeans=amend
		0 staged A
		0 open A
		2000 save A
		2001 close A
		9000 end`, `
		2000 kept A save-means-amend text
		3001 refused A closed-with-save`},
	{"closed-with-save: saving means amend, the close first", `
		0 set - saveMeans=amend
		0 staged A
		0 open A
		2000 close A
		2001 save A
		9000 end`, `
		2001 kept A save-means-amend text
		2001 refused A closed-with-save`},
	{"closed-with-save: a second is no longer one action", `
		0 set - saveMeans=amend
		0 staged A
		0 open A
		2000 save A
		3000 close A
		9000 end`, `
		2000 kept A save-means-amend text
		4000 deny A closed`},
	{"two closes, each with its own grace", `
		0 staged A
		0 staged B
		0 open A
		0 open B
		2000 close A
		2500 close B
		9000 end`, `
		3000 deny A closed
		3500 deny B closed`},
}

var lifeCases = []gestureCase{
	{"staged again is no news", `
		0 staged A
		0 open A
		800 save A
		801 staged A
		802 save A
		803 settled A
		804 staged A
		900 save A
		2000 close A
		9000 end`, `
		800 allow A saved text
		900 inert A settled text`},
	{"an approval has one place", `
		0 staged A
		0 staged B a
		0 open B
		900 save B id=a`, `900 inert B unknown text`},
	{"another approval at the same place must be opened anew", `
		0 staged A
		0 open A
		1000 staged A b
		2000 save A id=b
		3000 open A
		4000 save A id=b`, `
		2000 refused A opened-here
		4000 allow A saved text`},
	{"settled before it was staged", `
		0 settled A
		0 staged A
		0 open A
		900 save A
		950 close A
		9000 end`, `900 inert A settled text`},
	{"settled without ever being staged", `
		0 settled A
		0 unsettled A
		0 tick
		0 ending
		0 staged A`, ``},
	{"unsettled means nothing to a settled one", `
		0 staged A
		0 open A
		800 save A
		810 settled A
		820 unsettled A
		900 save A`, `
		800 allow A saved text
		900 inert A settled text`},
}

var rhythmCases = []gestureCase{
	{"autosave-suspected: three saves at the same delay, on any document", `
		0 staged A
		0 open A
		0 open x
		1000 change x
		2000 save x
		5000 change x
		6010 save x
		9000 change A
		9990 save A
		15000 save A`, `
		9990 suspect A autosave-suspected
		9990 kept A autosave-suspected text (again)
		15000 kept A autosave-suspected text (again)`},
	{"autosave-suspected: told once, and overruled by the setting", `
		0 staged A
		0 open A
		0 open x
		1000 change x
		2000 save x
		3000 change x
		4000 save x
		5000 change x
		6000 save x
		7000 change x
		8000 save x
		10000 save A
		11000 set - saveMeans=allow
		12000 save A`, `
		6000 suspect x autosave-suspected
		10000 kept A autosave-suspected text
		12000 allow A saved text`},
	{"autosave-suspected: an unmodified save is a person's", `
		0 staged A
		0 open A
		0 open x
		1000 change x
		2000 save x
		3000 change x
		4000 save x
		4500 save x
		5000 change x
		6000 save x
		9000 save A`, `9000 allow A saved text`},
	{"autosave-suspected: people are not that regular", `
		0 staged A
		0 open A
		0 open x
		1000 change x
		2000 save x
		3000 change x
		4200 save x
		5000 change x
		5900 save x
		9000 save A`, `9000 allow A saved text`},
	{"autosave-suspected: a long pause with unsaved changes shows that there is no timer", `
		0 staged A
		0 open A
		0 open x
		1000 change x
		2000 save x
		3000 change x
		6000 change x
		7000 save x
		8000 change x
		9000 save x
		12000 save A`, `12000 allow A saved text`},
	{"autosave-suspected: formatting on save is not typing", `
		0 staged A
		0 open A
		0 open x
		1000 change x
		1700 change x
		1702 save x
		3000 change x
		4990 change x
		4992 save x
		6000 change x
		9000 change x
		9002 save x
		12000 save A`, `12000 allow A saved text`},
	{"autosave-suspected: formatting on save does not hide the timer", `
		0 staged A
		0 open A
		0 open x
		1000 change x
		2000 change x
		2002 save x
		3000 change x
		4000 change x
		4002 save x
		5000 change x
		6000 change x
		6002 save x`, `6002 suspect x autosave-suspected`},
	{"autosave-suspected: a quick hand on the save key", `
		0 staged A
		0 open A
		0 open x
		1000 change x
		1200 save x
		3000 change x
		3200 save x
		5000 change x
		5200 save x
		9000 save A`, `9000 allow A saved text`},
	{"autosave-suspected: a save-all is one save", `
		0 staged A
		0 open A
		0 open x
		0 open y
		1000 change x
		1000 change y
		2000 save x
		2001 save y
		3000 change x
		4000 save x
		9000 save A`, `9000 allow A saved text`},
	{"autosave-suspected: a client that admits it is believed", `
		0 staged A
		0 open A
		0 open x
		1000 change x
		1999 will-save x afterDelay
		2000 save x
		3000 change x
		3999 will-save x afterDelay
		4000 save x
		5000 change x
		5999 will-save x afterDelay
		6000 save x
		9000 save A`, `9000 allow A saved text`},
}
