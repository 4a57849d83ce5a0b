#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Damaged bitcode costs one failed edit and nothing else. The packager's self-test is there for damage that leaves no trace in
# the shipped code, such as a false promise to the optimizer. HOSTILE_RUNS=N for a longer campaign, HOSTILE_SEED=N for another.
set -euo pipefail
. "$(dirname "$0")/../work.sh"
morph=$MORPH_BIN/morph
programs=$MORPH_SOURCE/tests/programs
mkdir place
chmod 1777 place

"$morph" cc --morph-selftest='./vm 3000 2' -O2 -o vm "$programs/vm/vm.c" "$programs/vm/main.c"
"$morph" record -F 4000 -o vm.samples -- ./vm 1000000 3 >/dev/null 2>&1
"$morph" profile vm vm.samples -o vm.prof >/dev/null
"$morph" optimize vm --force --profile vm.prof -o whole
cmp <(./vm 3000 2) <(./whole 3000 2)
"$MORPH_TEST_BIN/hostile" "$morph" "$work/vm" "$work/vm.prof" "$work" "${HOSTILE_RUNS:-25}" ${HOSTILE_SEED:+"$HOSTILE_SEED"}
