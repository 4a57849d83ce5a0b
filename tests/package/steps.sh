# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# steps.sh - how a test of packages says what it does, and what failed; sets $failed. Sourced; $work is a directory of the test's.

failed=0

fail()
{
	printf 'FAILED: %s\n' "$*"
	failed=1
}

# must WHAT COMMAND...: nothing that follows makes sense without it
must()
{
	local what=$1

	shift
	"$@" >"$work/log" 2>&1 || {
		tail -n 30 "$work/log"
		printf 'FAILED: %s\n' "$what"
		exit 1
	}
}

step()
{
	printf '%4d s: %s\n' "$SECONDS" "$*"
}
