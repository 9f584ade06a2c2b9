// Package editors holds the configuration that puts Countersign into an editor,
// one folder an editor, and renders it for a given command and settings.
//
// It is text in, text out: it reads no file of the person's and writes none. It
// starts no goroutines. Texts are UTF-8 with LF.
package editors

import (
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// FS is every folder as it lies in the source: <editor>/README.md and the files
// that README.md tells where to put.
//
//go:embed neovim helix
var FS embed.FS

// A Config is what a rendered configuration starts, and with which settings.
type Config struct {
	Command  []string       // the program and its arguments: {"/usr/local/bin/countersign", "serve"}
	Settings jsontext.Value // Countersign's settings, a JSON object; nil for none
}

func (c Config) check() error {
	if len(c.Command) == 0 || c.Command[0] == "" {
		return errors.New("an editor's configuration needs the command that starts the server")
	}
	return nil
}

// Neovim renders a self-contained script in Lua: as a person's init.lua, for
// nvim -u, or to be sourced. Neovim 0.10 and newer.
func Neovim(c Config) (string, error) {
	if err := c.check(); err != nil {
		return "", err
	}
	settings, err := luaValue(c.Settings)
	if err != nil {
		return "", fmt.Errorf("settings for Neovim: %w", err)
	}
	words := make([]string, len(c.Command))
	for i, w := range c.Command {
		words[i] = luaString(w)
	}
	var b strings.Builder
	b.WriteString("package.preload['countersign'] = function()\n")
	b.WriteString(read("neovim/countersign.lua"))
	b.WriteString("end\n")
	fmt.Fprintf(&b, "require('countersign').setup({ cmd = { %s }, settings = %s })\n", strings.Join(words, ", "), settings)
	return b.String(), nil
}

// helixCommand is the part of helix/languages.toml that names the command.
const helixCommand = "command = \"countersign\"\nargs = [\"serve\"]\n"

// Helix renders a languages.toml. Helix 25.01 and newer.
func Helix(c Config) (string, error) {
	if err := c.check(); err != nil {
		return "", err
	}
	settings, err := tomlTable(c.Settings)
	if err != nil {
		return "", fmt.Errorf("settings for Helix: %w", err)
	}
	args := make([]string, len(c.Command)-1)
	for i, w := range c.Command[1:] {
		args[i] = tomlString(w)
	}
	command := fmt.Sprintf("command = %s\nargs = [%s]\nconfig = %s\n",
		tomlString(c.Command[0]), strings.Join(args, ", "), settings)
	return strings.Replace(read("helix/languages.toml"), helixCommand, command, 1), nil
}

func read(name string) string {
	data, err := FS.ReadFile(name)
	if err != nil {
		panic(fmt.Sprintf("%s is not embedded: %v", name, err))
	}
	return string(data)
}
