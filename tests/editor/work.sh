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

# exact_samples NAME SAMPLES ARGUMENT...: runs ./NAME under callgrind; SAMPLES has how often each instruction ran, so that
# `morph profile --estimator exact` gives the same profile each time
exact_samples()
{
	local name=$1 samples=$2

	shift 2
	valgrind -q --tool=callgrind --dump-instr=yes --collect-jumps=yes --callgrind-out-file="$samples.callgrind" \
		"./$name" "$@" >/dev/null 2>&1 || fail "valgrind cannot count the instructions of $name"
	bench-exact "$name" "$samples" "$samples.callgrind"
}
