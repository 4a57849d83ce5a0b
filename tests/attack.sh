# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# attack.sh - an attack is tried, and its outcome is a line that can be counted (see tests/attack.h)
#
#	attack_held NAME COMMAND...	COMMAND, run after the attack was really made, succeeds when it was repelled
#	attacks_end			at the end of the script: fails when an attack succeeded

attacks_failed=0

attack_held()
{
	local name=$1

	shift
	if "$@"; then
		printf 'attack %s: held\n' "$name"
	else
		printf 'attack %s: succeeded\n' "$name"
		attacks_failed=$((attacks_failed + 1))
	fi
}

attacks_end()
{
	((attacks_failed == 0)) || printf '%s attacks succeeded\n' "$attacks_failed" >&2
	((attacks_failed == 0))
}
