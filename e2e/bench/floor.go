package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The floors' processes. relay-hub and relay-serve stand where the hub and the
// front end do and only copy lines; greet is a language server that knows the
// one answer that is asked of it.

// runRelayHub listens on a socket, starts an agent's process and copies lines
// between the two. With a folder and a size, it first writes that many bytes
// there for each line of the agent, by a write and a rename.
func runRelayHub(args []string) error {
	if len(args) != 4 {
		return errors.New("relay-hub: socket, stage, folder and size")
	}
	l, err := net.Listen("unix", args[0])
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "agent", args[1])
	cmd.Stderr = os.Stderr
	toAgent, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	fromAgent, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c, err := l.Accept()
	if err != nil {
		return err
	}
	size, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	content := bytes.Repeat([]byte("0123456789abcde\n"), size/16+1)[:size]
	go func() {
		n := 0
		_ = eachLine(fromAgent, func(line []byte, _ int64) error {
			if args[2] == "" {
				return pass(c, line)
			}
			n++
			name := filepath.Join(args[2], strconv.Itoa(n))
			if err := writeAndRename(args[2], name, content); err != nil {
				return err
			}
			err := pass(c, line)
			return errors.Join(err, os.Remove(name))
		})
		os.Exit(0)
	}()
	// The end of the front end is the end of all.
	return errors.Join(eachLine(c, func(line []byte, _ int64) error { return pass(toAgent, line) }), toAgent.Close(), cmd.Wait())
}

// writeAndRename is the least that shows a file whole or not at all.
func writeAndRename(dir, name string, content []byte) error {
	temp := filepath.Join(dir, "temp")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(temp, name)
}

// pass copies a line on. The newline lies behind it in the buffer.
func pass(w io.Writer, line []byte) error {
	_, err := w.Write(line[:len(line)+1])
	return err
}

// runRelayServe copies lines between its stdio and a relay-hub. Of the
// editor's it passes on no more than a number of bytes: what an editor says of
// a save is longer than the answer that comes of it.
func runRelayServe(args []string) error {
	if len(args) != 2 {
		return errors.New("relay-serve: socket and size")
	}
	most, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	c, err := dialPatiently(args[0])
	if err != nil {
		return err
	}
	go func() {
		_ = eachLine(c, func(line []byte, _ int64) error { return pass(os.Stdout, line) })
		os.Exit(0)
	}()
	return eachLine(os.Stdin, func(line []byte, _ int64) error {
		if len(line) > most {
			line[most] = '\n'
			line = line[:most]
		}
		return pass(c, line)
	})
}

// dialPatiently waits for a socket to be there.
func dialPatiently(path string) (net.Conn, error) {
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		c, err := net.Dial("unix", path)
		if err == nil || time.Since(began) > patience {
			return c, err
		}
	}
}

// runGreet answers each request with as many bytes as its parameters ask for.
func runGreet([]string) error {
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	for {
		length := 0
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return nil
			}
			line = strings.TrimSpace(line)
			if line == "" {
				break
			}
			if value, ok := strings.CutPrefix(line, "Content-Length:"); ok {
				if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
					return err
				}
			}
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(in, body); err != nil {
			return err
		}
		var m struct {
			ID     jsontext.Value `json:"id"`
			Params struct {
				Size int `json:"size"`
			} `json:"params"`
		}
		if err := json.Unmarshal(body, &m); err != nil {
			return err
		}
		if len(m.ID) == 0 {
			continue
		}
		result := strings.Repeat("x", m.Params.Size)
		reply := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":"%s"}`, m.ID, result)
		if _, err := fmt.Fprintf(os.Stdout, "Content-Length: %d\r\n\r\n%s", len(reply), reply); err != nil {
			return err
		}
	}
}

// A relay is a running chain of a floor's processes.
type relay struct {
	stand *stand
	in    io.WriteCloser
	lines chan int64 // when each line arrived at the editor's end
	procs []*exec.Cmd
}

// newRelay starts a chain that writes and renames staged bytes for each line of
// the agent (0: none), and passes on no more than most bytes of the editor's.
func (r *rig) newRelay(name string, staged, most int) (*relay, error) {
	stage, err := newStage(filepath.Join(r.dir, name+".a"))
	if err != nil {
		return nil, err
	}
	defer stage.listener.Close()
	socket, folder := filepath.Join(r.dir, name+".s"), ""
	if staged > 0 {
		folder = filepath.Join(r.dir, name)
		if err := os.Mkdir(folder, 0o700); err != nil {
			return nil, err
		}
	}
	out := &relay{lines: make(chan int64, 4096)}
	hub := exec.Command(r.self, "relay-hub", socket, stage.path, folder, strconv.Itoa(staged))
	serve := exec.Command(r.self, "relay-serve", socket, strconv.Itoa(most))
	out.procs = []*exec.Cmd{serve, hub}
	hub.Stderr, serve.Stderr = os.Stderr, os.Stderr
	if out.in, err = serve.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := serve.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := hub.Start(); err != nil {
		return nil, err
	}
	if err := serve.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = eachLine(stdout, func(_ []byte, at int64) error { out.lines <- at; return nil })
	}()
	out.stand, err = stage.enter()
	return out, err
}

// fromAgent times a line from the agent to the editor.
func (f *relay) fromAgent(line string) (int64, error) {
	if err := f.stand.say(line); err != nil {
		return 0, err
	}
	var at int64
	select {
	case at = <-f.lines:
	case <-time.After(patience):
		return 0, errors.New("the relay does not relay")
	}
	said, err := f.stand.said()
	return at - said, err
}

// fromEditor times a line, given with its newline, from the editor to the agent.
func (f *relay) fromEditor(line []byte) (int64, error) {
	began := clock()
	if _, err := f.in.Write(line); err != nil {
		return 0, err
	}
	r, err := f.stand.hear()
	return r.Read - began, err
}

func (f *relay) close() {
	f.in.Close()
	for _, p := range f.procs {
		_ = p.Wait()
	}
	f.stand.close()
}
