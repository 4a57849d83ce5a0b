# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
#
# work.sh - a directory of the test's own, into which it goes and which is removed at the end. Sourced. Whoever compiles
# in it as another user may look into it.

export PATH=$MORPH_BIN:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work"
export TMPDIR=$work ASAN_OPTIONS=detect_leaks=0

fail() { echo "FAILED: $*" >&2; exit 1; }
