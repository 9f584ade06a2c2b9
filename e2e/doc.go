// Package e2e is the end-to-end suite: the real agent asks, real editors in real
// terminals answer, and what counts is the bytes on disk and what the model was
// told. Everything but the model is real; the model is mockmodel's.
//
// Parts that are missing (install.sh brings them) skip their tests, or fail them
// where COUNTERSIGN_E2E=1. COUNTERSIGN_CLAUDE, COUNTERSIGN_NVIM and
// COUNTERSIGN_HX name other programs than those in .cache.
//
// Every test has a world of its own: home, state, terminal server and model.
// It runs on Linux, where tmux, /proc and Debian are. Nothing sleeps; whatever is waited for is looked at again until it is there.
package e2e
