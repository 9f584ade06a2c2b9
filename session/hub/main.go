package hub

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/go-json-experiment/json"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Flags of the hub process, as start gives them.
const (
	flagRoot    = "root"
	flagStorage = "storage"
	flagReadyFD = "ready-fd"
)

// A readiness is the line that a starting hub writes to the pipe it was given.
type readiness struct {
	Ready bool   `json:"ready"`
	Held  bool   `json:"held,omitzero"` // another hub runs
	Error string `json:"error,omitzero"`
}

// Main runs a hub as this process, with the arguments that the front end which
// starts it gives (without the program's and the subcommand's name). Options
// that the arguments say are filled in.
func Main(ctx context.Context, args []string, o RunOptions) error {
	ignoreSignals()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()

	fs := flag.NewFlagSet("hub", flag.ContinueOnError)
	fs.StringVar(&o.Root, flagRoot, o.Root, "root `DIR` of the workspace")
	fs.StringVar(&o.Storage, flagStorage, o.Storage, `where documents are staged: "state", "workspace" or an absolute path`)
	fs.DurationVar(&o.Idle, "idle", o.Idle, "how long an unused hub stays; 0: 10s")
	readyFD := fs.Int(flagReadyFD, 0, "file descriptor to tell that the hub is ready")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("hub: unexpected argument %q", fs.Arg(0))
	}
	if o.Root == "" {
		return errors.New("hub: -root is missing")
	}
	// A hub lives longer than whoever started it: what that one had open and
	// did not mean to hand on must not stay open because of the hub.
	dropInherited(*readyFD)
	var pipe io.WriteCloser
	if *readyFD > 2 {
		pipe = os.NewFile(uintptr(*readyFD), "ready")
	}
	o.Ready = func(err error) {
		if pipe == nil {
			return
		}
		r := readiness{Ready: err == nil, Held: IsHeld(err)}
		if err != nil {
			r.Error = err.Error()
		}
		line, _ := json.Marshal(r)
		_, _ = pipe.Write(append(line, '\n')) // an error: who asked has gone
		_ = pipe.Close()
	}
	if o.Log == nil {
		log, closeLog, err := openLog(o.Root)
		if err != nil {
			o.Ready(err)
			return err
		}
		defer closeLog()
		o.Log = log
	}
	o.OwnProcess = true
	return Run(ctx, o)
}

// openLog logs to hub.log in the state folder of a workspace.
func openLog(root string) (*zap.Logger, func(), error) {
	p, err := placesOf(root)
	if err != nil {
		return nil, nil, err
	}
	if err := privateFolder(p.state); err != nil {
		return nil, nil, err
	}
	f := &logFile{path: p.log(), limit: maxLog}
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	core := zapcore.NewCore(zapcore.NewConsoleEncoder(enc), f, zap.InfoLevel)
	return zap.New(core).With(zap.Int("pid", os.Getpid())), f.close, nil
}

// tailOf is the end of a log file, for an error message.
func tailOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const n = 600
	if fi, err := f.Stat(); err == nil && fi.Size() > n {
		_, _ = f.Seek(-n, io.SeekEnd)
	}
	data, _ := io.ReadAll(io.LimitReader(f, n))
	return strings.TrimSpace(string(data))
}
