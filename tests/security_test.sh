#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# docs/security.md names every test that performs attacks, and no attack that no test performs.

set -uo pipefail
: "${MORPH_SOURCE:?}" "${MORPH_BUILD:?}"
document=$MORPH_SOURCE/docs/security.md
failed=0

fail() { echo "FAILED: $*" >&2; failed=1; }

for name in $(ctest --test-dir "$MORPH_BUILD" -N -L attack -FA '.*' | sed -n 's/^ *Test *#[0-9]*: //p'); do
	grep -qE "(^|[^a-z_-])$name([^a-z_-]|\$)" "$document" || fail "$document does not name the test $name"
done
for attack in $(grep -oE '(gate|bus|identity|integrity|job|sidecar)-[a-z0-9-]*[a-z0-9]' "$document" | sort -u); do
	case $attack in bus-socket-* | gate-escapes-* | *-[0-9]*) continue ;; esac # names that tests put together
	grep -rqF -- "$attack" "$MORPH_SOURCE/tests" || fail "$document names $attack, which no test performs"
done
exit $failed
