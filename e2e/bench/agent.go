package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/go-json-experiment/json"
)

// The agent's process writes what the driver orders and stamps what it writes
// and reads; the driver decides what the lines say. It does not report what it
// wrote until it is asked, so that no report gets in the way of what is timed.

// An order of the driver, as a JSON line on the control socket.
type order struct {
	Line  string `json:"line,omitzero"`  // to be written to stdout, without its newline
	Tell  bool   `json:"tell,omitzero"`  // report the stamp of the last line
	Apply string `json:"apply,omitzero"` // a file to be written with Text, as a tool does
	Text  string `json:"text,omitzero"`
}

// A report of the agent's process.
type report struct {
	Wrote int64  `json:"wrote,omitzero"` // just before the last line was written
	Read  int64  `json:"read,omitzero"`  // just after Line was read
	Line  string `json:"line,omitzero"`
}

// runAgent is the agent's process. It ends with its control socket, which ends
// with the driver, or with its stdin.
func runAgent(args []string) error {
	if len(args) < 1 {
		return errors.New("agent: where is the driver?")
	}
	c, err := net.Dial("unix", args[0])
	if err != nil {
		return err
	}
	reports := make(chan report, 16)
	go func() { // the only writer on c
		for r := range reports {
			line, err := json.Marshal(r)
			if err == nil {
				_, err = c.Write(append(line, '\n'))
			}
			if err != nil {
				os.Exit(1)
			}
		}
	}()
	go func() {
		if err := obey(c, reports); err != nil {
			fmt.Fprintln(os.Stderr, "agent:", err)
		}
		os.Exit(0)
	}()
	return eachLine(os.Stdin, func(line []byte, at int64) error {
		reports <- report{Read: at, Line: string(line)}
		return nil
	})
}

// obey carries out orders until there are no more.
func obey(c io.Reader, reports chan<- report) error {
	var wrote int64
	r := bufio.NewReaderSize(c, 1<<20)
	for {
		raw, err := r.ReadBytes('\n')
		if err != nil {
			return nil // the driver is gone
		}
		var o order
		if err := json.Unmarshal(raw, &o); err != nil {
			return err
		}
		switch {
		case o.Tell:
			reports <- report{Wrote: wrote}
		case o.Apply != "":
			if err := os.WriteFile(o.Apply, []byte(o.Text), 0o600); err != nil {
				return err
			}
		default:
			line := append([]byte(o.Line), '\n')
			wrote = clock()
			if _, err := os.Stdout.Write(line); err != nil {
				return err
			}
		}
	}
}

// eachLine reads lines and the moment at which each had been read. The line is
// valid during the call only.
func eachLine(r io.Reader, f func(line []byte, at int64) error) error {
	buf := make([]byte, 64<<10)
	start, end := 0, 0
	for {
		n, err := r.Read(buf[end:])
		at := clock()
		scan := end
		end += n
		for i := scan; i < end; i++ {
			if buf[i] != '\n' {
				continue
			}
			if err := f(buf[start:i], at); err != nil {
				return err
			}
			start = i + 1
		}
		switch {
		case start == end:
			start, end = 0, 0
		case end == len(buf) && start > 0:
			end = copy(buf, buf[start:end])
			start = 0
		case end == len(buf):
			buf = append(buf, make([]byte, len(buf))...)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// A stand is the driver's side of an agent's process.
type stand struct {
	c       net.Conn
	reports chan report // of lines read
	stamps  chan int64
	failed  chan error
}

// A stage is where agents' processes report.
type stage struct {
	listener net.Listener
	path     string
}

func newStage(path string) (*stage, error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	return &stage{l, path}, nil
}

// command is the command line of an agent's process for this stage.
func (s *stage) command() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return []string{self, "agent", s.path}, nil
}

// enter waits for an agent's process to report.
func (s *stage) enter() (*stand, error) {
	if err := s.listener.(*net.UnixListener).SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	c, err := s.listener.Accept()
	if err != nil {
		return nil, fmt.Errorf("the agent does not start: %w", err)
	}
	a := &stand{c: c, reports: make(chan report, 4096), stamps: make(chan int64, 1), failed: make(chan error, 1)}
	go func() {
		a.failed <- eachLine(c, func(line []byte, _ int64) error {
			var r report
			if err := json.Unmarshal(line, &r); err != nil {
				return err
			}
			if r.Line == "" {
				a.stamps <- r.Wrote
			} else {
				a.reports <- r
			}
			return nil
		})
	}()
	return a, nil
}

func (a *stand) order(o order) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = a.c.Write(append(line, '\n'))
	return err
}

// say has a line written.
func (a *stand) say(line string) error { return a.order(order{Line: line}) }

// said is when the last line was written.
func (a *stand) said() (int64, error) {
	if err := a.order(order{Tell: true}); err != nil {
		return 0, err
	}
	select {
	case at := <-a.stamps:
		return at, nil
	case err := <-a.failed:
		return 0, fmt.Errorf("the agent is gone: %w", err)
	case <-time.After(patience):
		return 0, errors.New("the agent does not report")
	}
}

// hear waits for the next line that the agent's process reads.
func (a *stand) hear() (report, error) {
	select {
	case r := <-a.reports:
		return r, nil
	default:
	}
	select {
	case r := <-a.reports:
		return r, nil
	case err := <-a.failed:
		return report{}, fmt.Errorf("the agent is gone: %w", err)
	case <-time.After(patience):
		return report{}, errors.New("the agent hears nothing")
	}
}

func (a *stand) close() { a.c.Close() }
