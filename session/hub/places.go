package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// places are where things of one workspace lie.
type places struct {
	root   string // canonical: absolute, no symlinks
	hash   string // of the root, 12 hex digits
	key    string // "<name>-<hash>", the name of its folders
	state  string // folder of the election: lock, hub.json, hub.log
	socket string // name of the socket, where it does not lie in state
}

// placesOf finds the places of a workspace root.
func placesOf(root string) (places, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return places{}, fmt.Errorf("workspace %s: %w", root, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return places{}, fmt.Errorf("workspace %s: %w", abs, err)
	}
	if fi, err := os.Stat(real); err != nil {
		return places{}, fmt.Errorf("workspace %s: %w", abs, err)
	} else if !fi.IsDir() {
		return places{}, fmt.Errorf("workspace %s: not a folder", abs)
	}
	home, err := stateHome()
	if err != nil {
		return places{}, fmt.Errorf("workspace %s: %w", abs, err)
	}
	sum := sha256.Sum256([]byte(real))
	p := places{root: real, hash: hex.EncodeToString(sum[:])[:12]}
	p.key = folderName(filepath.Base(real)) + "-" + p.hash
	p.state = filepath.Join(home, "countersign", p.key)
	// The socket goes with the lock, not with the root alone: whoever holds the
	// lock may replace what lies at the socket's place.
	sum = sha256.Sum256([]byte(p.state))
	p.socket = hex.EncodeToString(sum[:])[:12] + ".sock"
	return p, nil
}

func (p places) lockFile() string { return filepath.Join(p.state, "lock") }
func (p places) record() string   { return filepath.Join(p.state, recordName) }
func (p places) log() string      { return filepath.Join(p.state, "hub.log") }

// storage is the folder that the setting "storage" asks for.
func (p places) storage(setting string) (string, error) {
	switch {
	case setting == "" || setting == "state":
		return p.state, nil
	case setting == "workspace":
		return filepath.Join(p.root, ".countersign"), nil
	case filepath.IsAbs(setting):
		return filepath.Join(filepath.Clean(setting), p.key), nil
	}
	return "", fmt.Errorf(`the setting "storage" is %q: it must be "state", "workspace" or an absolute path`, setting)
}

// folderName makes a name of ASCII letters, digits, dot, dash and underscore.
func folderName(name string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '-'
	}, name)
	safe = strings.Trim(safe[:min(len(safe), 32)], ".-")
	if safe == "" {
		return "root"
	}
	return safe
}

// stateHome is where the system wants the state of programs to be kept.
func stateHome() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	if runtime.GOOS == "windows" {
		if dir := os.Getenv("LocalAppData"); filepath.IsAbs(dir) {
			return dir, nil
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("there is no place for state: %w", err)
	}
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("there is no place for state: the home folder %q is not an absolute path", home)
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support"), nil
	}
	return filepath.Join(home, ".local", "state"), nil
}

// privateFolder makes sure that dir is a folder of ours that nobody else can
// look into, and no symlink to somewhere else.
func privateFolder(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return fmt.Errorf("%s is not a folder", dir)
	}
	if err := refuseOwner(fi); err != nil {
		return fmt.Errorf("%s %w", dir, err)
	}
	if runtime.GOOS != "windows" && fi.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}
