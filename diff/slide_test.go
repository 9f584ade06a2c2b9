package diff

import (
	"strings"
	"testing"
)

func TestSlide(t *testing.T) {
	for _, c := range []struct{ name, a, b, want string }{
		{
			name: "a function between functions",
			a:    "func a() {\n\tx()\n}\n\nfunc c() {\n\tx()\n}\n",
			b:    "func a() {\n\tx()\n}\n\nfunc b() {\n\tx()\n}\n\nfunc c() {\n\tx()\n}\n",
			want: " func a() {\n \tx()\n }\n \n+func b() {\n+\tx()\n+}\n+\n func c() {\n \tx()\n }\n",
		},
		{
			name: "removed again",
			a:    "func a() {\n\tx()\n}\n\nfunc b() {\n\tx()\n}\n\nfunc c() {\n\tx()\n}\n",
			b:    "func a() {\n\tx()\n}\n\nfunc c() {\n\tx()\n}\n",
			want: " func a() {\n \tx()\n }\n \n-func b() {\n-\tx()\n-}\n-\n func c() {\n \tx()\n }\n",
		},
		{
			name: "a function after the last",
			a:    "func a() {\n\tx()\n}\n",
			b:    "func a() {\n\tx()\n}\n\nfunc b() {\n\tx()\n}\n",
			want: " func a() {\n \tx()\n }\n+\n+func b() {\n+\tx()\n+}\n",
		},
		{
			name: "a block in a block",
			a:    "f() {\n\tif a {\n\t\tx\n\t}\n\tif b {\n\t\tx\n\t}\n}\n",
			b:    "f() {\n\tif a {\n\t\tx\n\t}\n\tif c {\n\t\tx\n\t}\n\tif b {\n\t\tx\n\t}\n}\n",
			want: " f() {\n \tif a {\n \t\tx\n \t}\n+\tif c {\n+\t\tx\n+\t}\n \tif b {\n \t\tx\n \t}\n }\n",
		},
		{
			name: "the lowest of equally good places",
			a:    "x\nx\ny\n",
			b:    "x\nx\nx\ny\n",
			want: " x\n x\n+x\n y\n",
		},
	} {
		var got strings.Builder
		for _, h := range Hunks(c.a, c.b, Lines(c.a, c.b), 100) {
			for _, line := range h.Lines {
				got.WriteString(string(line.Op) + line.Text)
			}
		}
		if got.String() != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got.String(), c.want)
		}
	}
}

// Groups that can be made to touch become one edit.
func TestSlideJoins(t *testing.T) {
	for _, c := range []struct {
		name  string
		a, b  string
		edits []Edit
		want  []Edit
	}{
		{"up", "x\ny\n", "1\nx\nx\n2\ny\n", []Edit{{0, 0, 0, 1}, {1, 1, 2, 4}}, nil},
		{"added before added", "x\ny\n", "x\nx\nx\ny\n", []Edit{{0, 0, 0, 1}, {1, 1, 2, 3}}, []Edit{{1, 1, 1, 3}}},
		{"added before changed", "x\nz\ny\n", "x\nx\n2\ny\n", []Edit{{0, 0, 0, 1}, {1, 2, 2, 3}}, []Edit{{1, 2, 1, 3}}},
		{"removed after changed", "1\nx\nx\ny\n", "2\nx\ny\n", []Edit{{0, 1, 0, 1}, {2, 3, 2, 2}}, []Edit{{0, 2, 0, 1}}},
	} {
		if c.want == nil {
			c.want = append(c.want, c.edits...) // cannot move
		}
		got := intern(whole(c.a, c.b)).slide(append([]Edit(nil), c.edits...))
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
		apply(t, c.a, c.b, got)
	}
}
