#!/usr/bin/env bash
# Puts what the end-to-end suite drives into one folder: the real agent, and
# real editors of two Debian suites.
#
#   e2e/install.sh [DEST]        DEST is e2e/.cache unless given
#
#   DEST/claude/node_modules/.bin/claude   the agent, by npm
#   DEST/trixie/bin/{nvim,hx}              Neovim 0.10.4, Helix 25.01.1
#   DEST/sid/bin/{nvim,hx}                 newer ones; missing is no failure
#   tmux                                   by apt-get, only where it is missing
#
# The editors are unpacked beside the system: apt's sources, dpkg's database and
# /usr stay as they are. What is already there is left alone, so a second run
# takes no time. Needs a Debian on x86-64 or arm64; root only to add what is missing.
set -euo pipefail

claude_version=2.1.332
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dest=${1:-$here/.cache}
mkdir -p "$dest"
dest=$(cd "$dest" && pwd)

say() { printf 'install: %s\n' "$*" >&2; }

# need COMMAND PACKAGE...: the machine's own packages, where the command is missing.
need() {
  command -v "$1" >/dev/null && return
  say "adding $1 with apt-get"
  apt-get -qq update
  DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install "${@:2}" >&2
}

# mirror: where the machine itself gets Debian from, either format of its sources.
mirror() {
  { cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } | awk '
    $1 == "URIs:" { print $2 }
    $1 == "deb"   { for (i = 2; i <= NF; i++) if ($i ~ /^[a-z+]+:\/\//) { print $i; break } }' |
    grep -v -e security -e backports | head -n 1
}

# editors SUITE: the closure of the packages as a Debian without any package
# would install it, downloaded and unpacked into one tree.
editors() (
  set -euo pipefail
  suite=$1 home=$dest/$1 root=$dest/$1/root
  # The programs below carry absolute paths, so a tree that was moved does not count.
  if [ "$(cat "$home/complete" 2>/dev/null)" = "$root" ]; then
    say "$suite: there"
    return
  fi
  say "$suite: installing Neovim and Helix into $home"
  rm -rf "$home"
  mkdir -p "$home"/apt/{lists/partial,cache/archives/partial,dpkg} "$home/bin" "$root"/usr/{bin,sbin,lib,lib64}
  for d in bin sbin lib lib64; do ln -s "usr/$d" "$root/$d"; done
  from=$(mirror)
  [ -n "$from" ] || { say "$suite: no Debian mirror in this machine's apt sources"; return 1; }
  printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$from" "$suite" >"$home/apt/sources.list"
  : >"$home/apt/dpkg/status"
  cat >"$home/apt/apt.conf" <<CONF
Dir::Etc::sourcelist "$home/apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "$home/apt/lists";
Dir::State::status "$home/apt/dpkg/status";
Dir::Cache "$home/apt/cache";
Dir::Log "$home/apt";
Debug::NoLocking "true";
APT::Install-Recommends "false";
APT::Sandbox::User "$(id -un)";
Acquire::Languages "none";
Acquire::Retries "3";
CONF
  export APT_CONFIG=$home/apt/apt.conf
  apt-get -qq update >&2
  apt-get -qq -y --download-only install neovim hx patchelf >&2

  for deb in "$home"/apt/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" |
      tar -x -C "$root" --keep-directory-symlink --exclude=./usr/share/{doc,man,locale,info}
  done

  # Linked to the tree's own loader and libraries. Starting them through the
  # loader instead would not do: Neovim starts /proc/self/exe a second time.
  loader=$(find "$root"/usr/lib* -name 'ld-linux-*.so.*' | head -n 1)
  libs=$(dirname "$(find "$root/usr/lib" -name 'libc.so.6' | head -n 1)")
  for program in nvim hx; do
    "$loader" --library-path "$libs" "$root/usr/bin/patchelf" \
      --force-rpath --set-rpath "$libs" --set-interpreter "$loader" "$(readlink -f "$root/usr/bin/$program")"
  done
  cat >"$home/bin/nvim" <<SH
#!/bin/sh
export VIM='$root/usr/share/nvim' VIMRUNTIME='$root/usr/share/nvim/runtime'
exec '$root/usr/bin/nvim' "\$@"
SH
  cat >"$home/bin/hx" <<SH
#!/bin/sh
export HELIX_RUNTIME='$(dirname "$(find "$root/usr" -path '*/runtime/themes' -type d | head -n 1)")'
exec '$root/usr/bin/hx' "\$@"
SH
  chmod +x "$home"/bin/*
  "$home/bin/nvim" --version >"$home/versions"
  "$home/bin/hx" --version >>"$home/versions"
  rm -rf "$home/apt"
  echo "$root" >"$home/complete"
  say "$suite: $(grep -iE '^(NVIM|helix)' "$home/versions" | tr '\n' ' ')"
)

claude() {
  local bin=$dest/claude/node_modules/.bin/claude
  if [ -x "$bin" ] && grep -q "\"$claude_version\"" "$dest/claude/node_modules/@anthropic-ai/claude-code/package.json"; then
    say "claude: there"
    return
  fi
  need npm npm
  say "claude: installing $claude_version into $dest/claude"
  mkdir -p "$dest/claude"
  npm install --prefix "$dest/claude" --no-save --no-audit --no-fund --loglevel=error \
    "@anthropic-ai/claude-code@$claude_version" >&2
  "$bin" --version >&2
}

need tmux tmux
need cc gcc libc6-dev # for go test -race
claude
editors trixie
# Not `editors sid || …`: that would switch off set -e inside.
set +e
editors sid
[ $? = 0 ] || say "sid: not installable here; the suite goes on without it"
