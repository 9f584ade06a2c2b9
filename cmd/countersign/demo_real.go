package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/go-json-experiment/json"

	"countersign/editors"
)

// demoInEditor opens a real editor on the scratch project, configured with the
// snippets of the editors folder, and stays until the person quits it.
func demoInEditor(ctx context.Context, t *terminal, s *scratch, editor, agent string) error {
	program, err := exec.LookPath(editor)
	if err != nil {
		return fmt.Errorf("find the editor %s: %w", editor, err)
	}
	config := editors.Config{Command: []string{s.program, "serve"}}
	if agent == "scripted" {
		if config.Settings, err = json.Marshal(s.options(), json.Deterministic(true)); err != nil {
			return fmt.Errorf("configure %s: %w", editor, err)
		}
	}
	file := filepath.Join(s.project, "greet.go")
	args, err := editorArgs(s, editor, config, file)
	if err != nil {
		return err
	}
	fmt.Fprint(t.out, editorGuide(t, editor, s.project))
	if _, err := t.in.Read(make([]byte, 1)); err != nil {
		return fmt.Errorf("read the key: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = s.project
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return fmt.Errorf("%s ended with %w", editor, err)
		}
		return fmt.Errorf("start %s: %w", editor, err)
	}
	return nil
}

// editorArgs writes the editor's configuration into the scratch folder and
// gives the arguments that make the editor use it, and nothing of the person's.
func editorArgs(s *scratch, editor string, config editors.Config, file string) ([]string, error) {
	render, path := editors.Neovim, s.at("init.lua")
	args := []string{"-u", path, file}
	if editor == "hx" {
		// Helix reads languages.toml from its configuration folder only.
		home := s.at("config")
		render, path = editors.Helix, filepath.Join(home, "helix", "languages.toml")
		args = []string{file}
		variable := "XDG_CONFIG_HOME"
		if runtime.GOOS == "windows" {
			variable = "APPDATA"
		}
		if err := os.Setenv(variable, home); err != nil {
			return nil, fmt.Errorf("configure hx: %w", err)
		}
	}
	text, err := render(config)
	if err != nil {
		return nil, fmt.Errorf("configure %s: %w", editor, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("configure %s: %w", editor, err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("configure %s: %w", editor, err)
	}
	return args, nil
}

// editorGuide tells the person what to try, in the editor's own keys.
func editorGuide(t *terminal, editor, project string) string {
	actions, closing := "gra (0.11 and newer) or :lua vim.lsp.buf.code_action()", ":bd"
	if editor == "hx" {
		actions, closing = "space a", ":bc"
	}
	return fmt.Sprintf(`%s  (scratch project %s, deleted afterwards)

  1. code actions:  %s
     choose "Countersign: new prompt", write a prompt, save it with :w
  2. the agent's first proposal opens: change it as you like, then
       :w   allows it, exactly as it then reads
       %s  denies it; the file stays as it is
  3. the same by code actions: "Countersign: allow …", "… deny …", "… review …"
  4. quit whenever you like: quitting decides nothing

Press Enter to open %s. `, t.paint(bold, "Countersign in "+editor), project, actions, closing, editor)
}
