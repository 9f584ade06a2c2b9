package main

import (
	"context"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"countersign/lsp"
	"countersign/session/hub"
	"countersign/session/rpc"
)

// serve is the language server of one editor.
func serve(ctx context.Context, t *terminal, args []string) error {
	fs := newFlags("serve")
	logFile := fs.String("log", "", "write a log to this `FILE` (default: warnings, to standard error)")
	verbose := fs.Bool("v", false, "log everything")
	fs.Bool("stdio", true, "talk on stdin and stdout; the only way there is, accepted for clients that pass it")
	if err := parseFlags(fs, args); err != nil {
		return err
	}
	log, err := newLog(*logFile, *verbose)
	if err != nil {
		return err
	}
	defer func() { _ = log.Sync() }()
	ignoreHangUps()
	return lsp.Serve(ctx, rpc.Stdio(), lsp.Options{
		Connect: func(ctx context.Context, o hub.ConnectOptions) (lsp.Hub, hub.AttachResult, error) {
			return connected(hub.Connect(ctx, o))
		},
		ConnectStorage: func(ctx context.Context, storage string, o hub.ConnectOptions) (lsp.Hub, hub.AttachResult, error) {
			return connected(hub.ConnectStorage(ctx, storage, o))
		},
		Log:     log,
		Version: hub.Version(),
		Now:     time.Now,
	})
}

// connected keeps a nil *hub.Client from becoming a Hub that is not nil.
func connected(c *hub.Client, state hub.AttachResult, err error) (lsp.Hub, hub.AttachResult, error) {
	if err != nil {
		return nil, state, err
	}
	return c, state, nil
}

// newLog logs as JSON lines to a file, or in words to standard error.
func newLog(path string, verbose bool) (*zap.Logger, error) {
	config := zap.NewProductionConfig()
	config.Sampling = nil
	config.OutputPaths = []string{"stderr"}
	config.Level = zap.NewAtomicLevelAt(zapcore.WarnLevel)
	if path != "" {
		config.OutputPaths = []string{path}
		config.Level.SetLevel(zapcore.InfoLevel)
	} else {
		config.Encoding = "console"
	}
	if verbose {
		config.Level.SetLevel(zapcore.DebugLevel)
	}
	config.EncoderConfig.EncodeTime = zapcore.ISO8601TimeEncoder
	return config.Build()
}
