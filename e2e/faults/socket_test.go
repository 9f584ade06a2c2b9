//go:build linux

package faults

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"countersign/approvals"
	"countersign/session/hub"
)

// Strangers at the socket that speak another language, or nothing, or for ever,
// keep nobody from working.
func TestStrangersAtTheSocket(t *testing.T) {
	w, _, a := asking(t)
	socket := w.status().Socket
	for name, text := range map[string]string{
		"nothing": "", "HTTP": "GET / HTTP/1.1\r\nHost: hub\r\n\r\n", "zeros": strings.Repeat("\x00", 100000),
		"a frame too large": "Content-Length: 99999999999\r\n\r\n{}", "half a frame": "Content-Length: 100\r\n\r\n{\"jsonrpc\"",
		"no JSON": "Content-Length: 3\r\n\r\n{{{", "not attached": `Content-Length: 62` + "\r\n\r\n" + `{"jsonrpc":"2.0","id":1,"method":"hub/settle","params":{"id":1}}`,
		"a header for ever": strings.Repeat("X-Header: yes\r\n", 10000),
	} {
		c, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatalf("%s: the hub does not take connections any more: %v", name, err)
		}
		_, _ = io.WriteString(c, text) // it may hang up before all is written
		if name != "nothing" {
			_ = c.(*net.UnixConn).CloseWrite()
			_ = c.SetReadDeadline(time.Now().Add(patience))
			if _, err := io.ReadAll(c); err != nil && os.IsTimeout(err) {
				t.Errorf("%s: the hub keeps the connection", name)
			}
		}
		t.Cleanup(func() { c.Close() })
	}
	if list := w.pending(); len(list) != 1 || list[0].ID != a.ID {
		t.Errorf("pending is %+v", list)
	}
	w.undecided()
	w.noLeave()
}

// A front end that does not read what it is told holds up neither the hub nor
// the others.
func TestFrontEndThatDoesNotRead(t *testing.T) {
	const n = 300
	w := newWorld(t)
	flood := turn(floodStep(n))
	w.agent("", turn(ask(bashCall("true"))), flood)
	e := w.edit(w.project, nil)
	e.send("go")
	bash := w.awaitPending(1)[0]
	st := w.status()
	r, err := hubRecord(st.Storage)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("unix", r.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": hub.MethodAttach, "params": hub.AttachParams{Version: r.Version, PID: os.Getpid(), Name: "deaf", Watch: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		t.Fatal(err)
	}
	w.eventually("it is attached", func() (bool, string) {
		list := fmt.Sprint(w.status().FrontEnds)
		return strings.Contains(list, "deaf"), list
	})
	w.must("deny", bash.ID)
	w.eventually("the turn is over", func() (bool, string) {
		state := string(w.status().Session.State)
		return state == "idle", state
	})
	e.send("more")
	list := w.awaitPending(n)
	e.sees("requests wait")
	w.must("deny", list[0].ID)
	w.awaitPending(n - 1)
	w.must("stop", "--hub")
	w.noLeave()
}

// Somebody takes all the connections that a hub can have: who comes then waits,
// and what is pending is not touched.
func TestHubOutOfDescriptors(t *testing.T) {
	const limit = 64
	w := newWorld(t)
	w.agent("", turn(ask(editCall("a.txt", "two", "2"))))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := w.process(ctx, "send", "go")
	c.Path, c.Args = "/bin/sh", []string{"sh", "-c", fmt.Sprintf("ulimit -n %d; exec '%s' send go", limit, program)}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	id := w.awaitPending(1)[0].ID
	st := w.status()
	var all []net.Conn
	for range 2 * limit {
		conn, err := net.Dial("unix", st.Socket)
		if err != nil {
			break // the queue in front of the hub is full, too
		}
		all = append(all, conn)
	}
	if len(all) < limit {
		t.Fatalf("only %d connections could be made", len(all))
	}
	w.eventually("the hub is out of descriptors", func() (bool, string) {
		log := ""
		for _, path := range w.logs() {
			data, _ := os.ReadFile(path)
			log += string(data)
		}
		return strings.Contains(log, "too many open files"), log
	})
	for _, conn := range all {
		conn.Close()
	}
	if list := w.pending(); len(list) != 1 || list[0].ID != id || w.status().PID != st.PID {
		t.Errorf("pending is %+v", list)
	}
	w.undecided()
	w.noLeave()
	w.must("allow", id)
	w.recorded("the change as verified", func(r approvals.Record) bool { return r.ID == id && r.Outcome.State == approvals.OutcomeVerified })
	w.want["a.txt"] = "one\n2\nthree\n"
}
