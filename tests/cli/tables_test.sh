#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The tables of what Morph can do: every entry is run on a real program and its samples, and stands in its man page.
set -euo pipefail
. "$(dirname "$0")/../says.sh"
morph=$MORPH_BIN/morph
programs=$MORPH_SOURCE/tests/programs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work"
export TMPDIR=$work ASAN_OPTIONS=detect_leaks=0

fail() { echo "FAILED: $*" >&2; exit 1; }
# in_page NAME PAGE: PAGE has NAME as a literal: "vm.B NAME", ".Cm NAME", or in a list of these
in_page() { grep -qE "^\.(B|Cm|It Cm|Fl) ([^ ]+ .*)?$1( .*)?\$" "$MORPH_SOURCE/docs/man/$2" || fail "$2 does not name \"$1\""; }
# some NAME...: there are at least two
some() { [ $# -ge 2 ] || fail "the table has $# entries"; }

"$morph" cc -O2 -o vm "$programs/vm/vm.c" "$programs/vm/main.c"
"$morph" record -F 4000 -o vm.samples -- ./vm 3000000 4 >/dev/null 2>&1
"$morph" profile vm vm.samples -o vm.prof >/dev/null

echo "passes of the edit: each is run, in its order, and is in morph-optimize(1)"
mapfile -t passes < <("$morph" optimize --passes | cut -d ' ' -f 1)
some "${passes[@]}"
for pass in "${passes[@]}"; do in_page "$pass" morph-optimize.1; done
"$morph" optimize vm --profile vm.prof -o vm.new --report report.json
cmp <(./vm 77 5) <(./vm.new 77 5)
ran() { python3 -c 'import json; print(*json.load(open("report.json"))["pass_cpu_seconds"])'; }
[ "$(ran)" = "${passes[*]}" ] || fail "the table is ${passes[*]}; what ran is $(ran)"

echo "layout-only edits leave out what needs no counts, and nothing else"
"$morph" optimize vm --profile vm.prof --layout-only -o vm.layout --report report.json
[ "$(ran)" = "$(tr ' ' '\n' <<<"${passes[*]}" | grep -vxE 'retarget|promote|optimize' | paste -sd ' ')" ] ||
	fail "with --layout-only: $(ran)"
