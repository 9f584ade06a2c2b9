package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
)

// maxSocketPath is what every system takes as the path of a socket, in bytes.
const maxSocketPath = 100

// socketPath finds a short, private place for the socket.
func (p places) socketPath() (string, error) {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && ownFolder(dir) {
		if path := filepath.Join(dir, "countersign", p.socket); len(path) <= maxSocketPath {
			if err := privateFolder(filepath.Dir(path)); err == nil {
				return path, nil
			}
		}
	}
	if path := filepath.Join(p.state, "hub.sock"); len(path) <= maxSocketPath {
		return path, nil
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("countersign-%d", os.Geteuid()))
	path := filepath.Join(dir, p.socket)
	if len(path) > maxSocketPath {
		return "", fmt.Errorf("no place for the socket is short enough: %s has more than %d bytes; set XDG_RUNTIME_DIR", path, maxSocketPath)
	}
	if err := privateFolder(dir); err != nil {
		return "", fmt.Errorf("the folder of the socket cannot be used: %w", err)
	}
	return path, nil
}

// ownFolder: dir exists, is ours, and nobody else may write it.
func ownFolder(dir string) bool {
	fi, err := os.Stat(dir)
	if err != nil || !fi.IsDir() || refuseOwner(fi) != nil {
		return false
	}
	return runtime.GOOS == "windows" || fi.Mode().Perm()&0o022 == 0
}

// listen binds the socket. The caller holds the lock of the workspace, so that
// a socket of ours which lies there already is of a hub that is gone.
func listen(path string) (*net.UnixListener, error) {
	if err := ourSocket(path); err == nil {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("removing the socket of a hub that is gone: %w", err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the place of the socket is taken: %w; move it away, or set XDG_RUNTIME_DIR", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("listening on %s: %w", path, err)
	}
	return l, nil
}

// ourSocket says why path is not a socket of ours.
func ourSocket(path string) error {
	fi, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if err := refuseOwner(fi); err != nil {
		return fmt.Errorf("%s %w", path, err)
	}
	// Windows shows sockets as irregular files.
	if fi.Mode().Type() != fs.ModeSocket && (runtime.GOOS != "windows" || fi.Mode().IsRegular() || fi.IsDir()) {
		return fmt.Errorf("%s is not a socket", path)
	}
	return nil
}
