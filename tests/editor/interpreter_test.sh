#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An interpreter's dispatch is generated both ways; here, where little is alive between instructions, each one keeps its own.
set -euo pipefail
. "$(dirname "$0")/../says.sh"
. "$(dirname "$0")/work.sh"

morph cc -O2 "$MORPH_SOURCE/tests/programs/machine/machine.c" -o machine
morph record -F 4000 -o samples -- ./machine 400000 >/dev/null 2>&1
morph profile machine samples -o profile >/dev/null
morph optimize machine --force --profile profile -o new --report report.json
cmp <(./machine 5000) <(./new 5000) || fail "the generation computes something else"
jq -e '.dispatch_shared == false' report.json >/dev/null || fail "the dispatch is shared"
jq -e ".strength_reduced == true" report.json >/dev/null || fail "another way of generating code was taken"
jq -e '.pass_cpu_seconds.dispatch > 0.005' report.json >/dev/null || fail "the other way was not tried: $(jq -c .pass_cpu_seconds report.json)"
jumps() { objdump -d --no-show-raw-insn "$1" | grep -cE 'jmp +\*%?r?[a-z0-9(]' || true; }
echo "indirect jumps: as shipped $(jumps machine), in the generation $(jumps new)"
[ "$(jumps new)" -ge $(($(jumps machine) + 15)) ] || fail "instructions share their dispatch"
