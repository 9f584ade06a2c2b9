package nowait_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"countersign/session/nowait"
)

// A full stream is not waited for, and what was taken is what arrives.
func TestWriter(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no way here")
	}
	pipe := func(t *testing.T) (io.ReadCloser, io.WriteCloser) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		return r, w
	}
	for name, open := range map[string]func(*testing.T) (io.ReadCloser, io.WriteCloser){
		"pipe": pipe,
		"pipe that blocks": func(t *testing.T) (io.ReadCloser, io.WriteCloser) {
			r, w := pipe(t)
			w.(*os.File).Fd() // makes it block, as an editor's pipe does
			return r, w
		},
		"socket": func(t *testing.T) (io.ReadCloser, io.WriteCloser) {
			l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			c, err := net.Dial("unix", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			p, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			return p, c
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := open(t)
			defer r.Close()
			write := nowait.Writer(w)
			if write == nil {
				t.Fatal("there is a way")
			}
			var want bytes.Buffer
			for i := 0; ; i++ {
				p := bytes.Repeat([]byte{'a' + byte(i%26)}, 3000)
				n, err := write(p)
				if err != nil {
					t.Fatal(err)
				}
				want.Write(p[:n])
				if n < len(p) {
					break
				}
			}
			if want.Len() == 0 {
				t.Error("an empty stream took nothing")
			}
			if n, err := write([]byte("x")); n != 0 && want.Len() == 0 || err != nil {
				t.Errorf("a full stream: %d, %v", n, err)
			} else {
				want.WriteString("x"[:n])
			}
			w.Close()
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want.Bytes()) {
				t.Errorf("%d bytes arrived of %d, %v", len(got), want.Len(), err)
			}
		})
	}
}

func TestWriterOfAStreamWithoutReader(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no way here")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	if _, err := nowait.Writer(w)([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("%v, not a broken pipe", err)
	}
}

func TestNoWriter(t *testing.T) {
	if nowait.Writer(&bytes.Buffer{}) != nil {
		t.Error("a buffer is no stream of the system's")
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if nowait.Writer(f) != nil {
		t.Error("a file cannot be asked whether it takes anything")
	}
}
