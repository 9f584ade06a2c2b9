//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"countersign/editors"
)

// neovim drives Neovim: keys as a person's, and its remote expressions to see
// what is there. Keys go through its own remote interface, since a terminal
// cannot tell an Escape followed by a key from that key with Alt.
type neovim struct {
	w       *world
	program string
	term    *terminal
	socket  string
	starts  int
}

func (n *neovim) kind() string { return "nvim" }

func (n *neovim) start(name string) {
	n.w.t.Helper()
	n.launch(name)
	eventually(n.w.t, "Neovim shows "+name+" with Countersign attached", func() (bool, string) {
		out := n.expr(`expand('%:p') .. ' ' .. luaeval("#vim.lsp.get_clients({ name = 'countersign', bufnr = 0 })")`)
		return out == n.w.path(name)+" 1", out + "\n" + n.screen()
	})
}

// launch runs Neovim with these arguments in a new terminal.
func (n *neovim) launch(args ...string) {
	n.w.t.Helper()
	init := n.w.own
	if init == "" {
		var err error
		if init, err = editors.Neovim(n.w.config()); err != nil {
			n.w.t.Fatal(err)
		}
	}
	n.w.write(filepath.Join(n.w.dir, "config/nvim/init.lua"), init+n.w.extra)
	n.starts++
	n.socket = filepath.Join(n.w.dir, fmt.Sprintf("nvim%d", n.starts))
	n.term = openTerminal(n.w.t, n.w.dir, n.w.project, n.w.env, append([]string{n.program, "--listen", n.socket}, args...)...)
	n.w.t.Cleanup(n.quiet) // before the terminal is closed
}

// quiet checks that nothing of what runs inside Neovim failed while it ran, as
// its messages tell, or its screen where it waits for a key to go on.
func (n *neovim) quiet() {
	out := n.screen()
	if said := n.expr("execute('messages')"); !strings.HasPrefix(said, "(") { // it has not ended, and waits for nothing
		out += "\n" + said
	}
	for _, sign := range []string{"SERVER_REQUEST_HANDLER_ERROR", "stack traceback", "Press ENTER"} {
		if strings.Contains(out, sign) {
			n.w.t.Errorf("Neovim complains: %s", out)
			return
		}
	}
}

// expr evaluates an expression, or says in brackets why not. Neovim that waits
// at a prompt does not answer.
func (n *neovim) expr(expression string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, n.program, "--server", n.socket, "--remote-expr", expression)
	c.Env = n.w.env
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("(%v: %s)", err, strings.TrimSpace(string(out)))
	}
	return strings.TrimSuffix(string(out), "\n")
}

// keys are typed from normal mode on.
func (n *neovim) keys(keys string) {
	n.w.t.Helper()
	c := exec.Command(n.program, "--server", n.socket, "--remote-send", `<C-\><C-n>`+keys)
	n.w.run(c)
}

func (n *neovim) command(line string) {
	n.w.t.Helper()
	n.keys(":" + strings.ReplaceAll(line, "<", "<lt>") + "<CR>")
}

func (n *neovim) await(what, expression, want string) {
	n.w.t.Helper()
	eventually(n.w.t, what, func() (bool, string) {
		got := n.expr(expression)
		return got == want, got + "\n" + n.screen()
	})
}

func (n *neovim) shown() string  { return n.expr("expand('%:p')") }
func (n *neovim) text() string   { return n.expr(`join(getline(1, '$'), "\n")`) }
func (n *neovim) screen() string { return n.term.screen() }

func (n *neovim) open(path string) {
	n.w.t.Helper()
	n.command("edit " + path)
	n.await("Neovim shows "+path, "expand('%:p')", path)
}

func (n *neovim) turnTo(pattern string) bool {
	return n.expr(fmt.Sprintf("win_gotoid(bufwinid('*%s'))", pattern)) == "1"
}

// titles asks for the code actions here and lists their titles, one a line.
const titles = `luaeval("(function() local p = vim.lsp.util.make_range_params(0, 'utf-16') p.context = { diagnostics = {} } ` +
	`local out = {} for _, r in pairs(vim.lsp.buf_request_sync(0, 'textDocument/codeAction', p, 3000) or {}) do ` +
	`for _, a in ipairs(r.result or {}) do out[#out + 1] = a.title end end return table.concat(out, '\\n') end)()")`

func (n *neovim) action(title string) {
	n.w.t.Helper()
	eventually(n.w.t, "code action "+title, func() (bool, string) {
		got := n.expr(titles)
		return strings.Contains("\n"+got, "\n"+title), got + "\n" + n.screen()
	})
	// Asked in a document that goes in that moment, Neovim shows no list.
	for range 5 {
		n.command("lua vim.lsp.buf.code_action()")
		if _, ok := within(10*time.Second, func() (bool, string) {
			s := n.screen()
			return listed(title).MatchString(s), s
		}); ok {
			break
		}
	}
	n.choose(title)
}

// listed finds an action, and its number, in the list on the screen.
func listed(title string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(\d+): ` + regexp.QuoteMeta(title))
}

// choose takes one of the code actions that are listed.
func (n *neovim) choose(title string) {
	n.w.t.Helper()
	choice := listed(title)
	var number string
	eventually(n.w.t, "the list of code actions has "+title, func() (bool, string) {
		s := n.screen()
		if m := choice.FindStringSubmatch(s); m != nil {
			number = m[1]
		}
		return number != "", s
	})
	n.term.enterText(number)
	n.term.press("Enter")
	eventually(n.w.t, "the list is closed", func() (bool, string) {
		s := n.screen()
		if n.w.own != "" && strings.Contains(s, "Press ENTER") { // the snippet has no such prompts
			n.term.press("Enter")
		}
		return !choice.MatchString(s), s
	})
}

func (n *neovim) append(line string) {
	n.w.t.Helper()
	n.keys("Go" + strings.ReplaceAll(line, "<", "<lt>") + "<Esc>")
	n.await("the line was typed", "mode() .. getline('$')", "n"+line)
}

func (n *neovim) replace(from, to string) {
	n.w.t.Helper()
	before := n.expr("b:changedtick")
	// Very literal; only what ends a pattern or a replacement is escaped.
	escape := strings.NewReplacer(`\`, `\\`, `/`, `\/`)
	n.command(`1,$s/\V` + escape.Replace(from) + `/` + strings.ReplaceAll(escape.Replace(to), "&", `\&`) + `/e`)
	eventually(n.w.t, from+" became "+to, func() (bool, string) {
		return n.expr("b:changedtick") != before && strings.Contains(n.text(), to), n.text() + "\n" + n.screen()
	})
}

// told lists the diagnostics of the document, each behind the number of its line.
func (n *neovim) told() string {
	return n.expr(`luaeval("(function() local out = {} for _, d in ipairs(vim.diagnostic.get(0)) do ` +
		`out[#out + 1] = 'line ' .. (d.lnum + 1) .. ': ' .. d.message end return table.concat(out, '\\n') end)()")`)
}

func (n *neovim) save() {
	n.w.t.Helper()
	path := n.shown()
	before := stamp(path)
	n.command("w")
	awaitWritten(n.w, path, before)
}

func (n *neovim) closeDocument() {
	n.w.t.Helper()
	buf := n.expr("bufnr()")
	n.command("bd!")
	n.await("the document is closed", "bufloaded("+buf+")", "0")
}

func (n *neovim) saveAll() {
	n.w.t.Helper()
	n.command("wa")
}

func (n *neovim) saveAs(path string) {
	n.w.t.Helper()
	before := stamp(path)
	n.command("w! " + path)
	awaitWritten(n.w, path, before)
}

func (n *neovim) reload() {
	n.w.t.Helper()
	n.expr("execute('let b:before_reload = 1 | autocmd BufReadPost <buffer> ++once unlet b:before_reload')")
	n.command("e!")
	n.await("the document was read again", "exists('b:before_reload')", "0")
}

func (n *neovim) changeLanguage(language string) {
	n.w.t.Helper()
	n.command("set filetype=" + language)
	n.await("the file type is "+language, "&filetype", language)
}

func (n *neovim) splitAndCloseOne() {
	n.w.t.Helper()
	windows, err := strconv.Atoi(n.expr("winnr('$')"))
	if err != nil {
		n.w.t.Fatal(err)
	}
	n.command("split")
	n.await("one window more", "winnr('$')", strconv.Itoa(windows+1))
	n.command("close")
	n.await("one window less", "winnr('$')", strconv.Itoa(windows))
}

func (n *neovim) restartServer() {
	n.w.t.Helper()
	before := n.w.servers()
	n.command("Countersign restart")
	awaitNewServer(n.w, before)
	n.await("Countersign is attached again", `luaeval("#vim.lsp.get_clients({ name = 'countersign', bufnr = 0 })")`, "1")
}

// Not with a !: nothing of ours may be in the way.
func (n *neovim) quit() { n.w.t.Helper(); n.leave("qa") }

func (n *neovim) saveAndQuit() { n.w.t.Helper(); n.leave("wqa") }

// leave is a command that ends Neovim. That may be gone before it has answered
// whoever sent it the keys; that it goes is awaited.
func (n *neovim) leave(line string) {
	n.w.t.Helper()
	c := exec.Command(n.program, "--server", n.socket, "--remote-send", `<C-\><C-n>:`+line+`<CR>`)
	c.Env = n.w.env
	_ = c.Run()
	awaitEnded(n.w, n.term)
}
