package hub

import (
	"errors"
	"fmt"
	"testing"

	"countersign/approvals"
)

// What keeps a decision from being taken crosses the socket with its place.
func TestARefusalCrossesWithItsPlace(t *testing.T) {
	refused := &approvals.RefusedError{ID: "x", Reason: "this is the second tick", Line: 7, Column: 3}
	err := fromWire(settleError(fmt.Errorf("settling: %w", refused)))
	var got *Error
	if !errors.As(err, &got) || got.Code != CodeRefused || got.Reason != refused.Reason || got.Line != 7 || got.Column != 3 {
		t.Errorf("refused: %#v", err)
	}
	late := &approvals.SettledError{Approval: approvals.Approval{ID: "x", State: approvals.Denied}}
	err = fromWire(settleError(late))
	if !errors.As(err, &got) || got.Code != CodeSettled || got.Approval == nil || got.Approval.State != approvals.Denied || got.Line != 0 {
		t.Errorf("too late: %#v", err)
	}
}
