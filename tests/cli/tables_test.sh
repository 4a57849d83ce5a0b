#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The tables of what Morph can do: every entry is run on a real program and its samples, and stands in its man page.
set -euo pipefail
. "$(dirname "$0")/../says.sh"
. "$(dirname "$0")/../editor/work.sh"
morph=$MORPH_BIN/morph
programs=$MORPH_SOURCE/tests/programs

# in_page NAME PAGE: PAGE has NAME as a literal: "vm.B NAME", ".Cm NAME", or in a list of these
in_page() { grep -qE "^\.(B|Cm|It Cm|Fl) ([^ ]+ .*)?$1( .*)?\$" "$MORPH_SOURCE/docs/man/$2" || fail "$2 does not name \"$1\""; }
# some NAME...: there are at least two
some() { [ $# -ge 2 ] || fail "the table has $# entries"; }

# refused SENTENCE COMMAND...: exit status 2, and that is what it says
refused() {
	local sentence=$1 status=0
	shift
	"$@" >out.txt 2>err.txt || status=$?
	[ $status -eq 2 ] && grep -qF -- "$sentence" err.txt || fail "not \"$sentence\": $status, $(cat err.txt)"
}

"$morph" cc -O2 -o vm "$programs/vm/vm.c" "$programs/vm/main.c"
"$morph" record -F 4000 -o vm.samples -- ./vm 3000000 4 >/dev/null 2>&1
"$morph" profile vm vm.samples -o vm.prof >/dev/null

echo "passes of the edit: each is run, in its order, and is in morph-optimize(1)"
mapfile -t passes < <("$morph" optimize --passes | cut -d ' ' -f 1)
some "${passes[@]}"
for pass in "${passes[@]}"; do in_page "$pass" morph-optimize.1; done
"$morph" optimize vm --force --profile vm.prof -o vm.new --report report.json
cmp <(./vm 77 5) <(./vm.new 77 5)
ran() { python3 -c 'import json; print(*json.load(open("report.json"))["pass_cpu_seconds"])'; }
[ "$(ran)" = "${passes[*]}" ] || fail "the table is ${passes[*]}; what ran is $(ran)"

echo "layout-only edits leave out what needs no counts, and nothing else"
"$morph" optimize vm --force --profile vm.prof --layout-only -o vm.layout --report report.json
[ "$(ran)" = "$(tr ' ' '\n' <<<"${passes[*]}" | grep -vxE 'retarget|promote|optimize|recount' | paste -sd ' ')" ] ||
	fail "with --layout-only: $(ran)"

# listed COMMAND...: names in the list that its help ends with
listed() { "$@" --help | sed -n '/:$/,$ s/^  \([^ ]*\) .*/\1/p'; }

echo "estimators: each makes a profile, which an edit takes, and is in morph-profile(1)"
mapfile -t estimators < <(listed "$morph" profile)
some "${estimators[@]}"
exact_samples vm exact.samples 3000 2
for estimator in "${estimators[@]}"; do
	in_page "$estimator" morph-profile.1
	samples=vm.samples
	[ "$estimator" != exact ] || samples=exact.samples
	"$morph" profile vm $samples --estimator "$estimator" -o "$estimator.prof" >/dev/null
	"$morph" profile show "$estimator.prof" >shown.txt
	grep -q "estimator $estimator\$" shown.txt || fail "not of $estimator: $(cat shown.txt)"
	grep -q vm_run shown.txt || fail "$estimator does not see vm_run: $(cat shown.txt)"
	"$morph" optimize vm --profile "$estimator.prof" --layout-only -o "vm.$estimator"
	cmp <(./vm 77 5) <("./vm.$estimator" 77 5)
done
refused "no estimator \"magic\"; there are: $(sed 's/ /, /g' <<<"${estimators[*]}")" \
	"$morph" profile vm vm.samples --estimator magic -o x

echo "formats to export to: each writes something, and is in morph-profile(1) and docs/format-interchange.md"
mapfile -t formats < <(listed "$morph" profile export)
some "${formats[@]}"
for format in "${formats[@]}"; do
	in_page "$format" morph-profile.1
	grep -q -- "--format $format" "$MORPH_SOURCE/docs/format-interchange.md" || fail "docs/format-interchange.md has no $format"
	"$morph" profile export --format "$format" vm.prof -o "out.$format" 2>err.txt ||
		"$morph" profile export --format "$format" vm vm.samples -o "out.$format"
	grep -qa vm_run <(zcat -f "out.$format") || fail "$format does not name vm_run"
done
refused "no format \"magic\"; there are: $(sed 's/ /, /g' <<<"${formats[*]}")" \
	"$morph" profile export --format magic vm.prof

echo "what can be imported is in morph-profile(1)"
mapfile -t formats < <(listed "$morph" profile import)
for format in "${formats[@]}"; do
	grep -qF "$format" "$MORPH_SOURCE/docs/man/morph-profile.1" || fail "morph-profile(1) does not name $format"
	grep -q "^## $format (\`import\`)" "$MORPH_SOURCE/docs/format-interchange.md" || fail "docs/format-interchange.md has no $format"
done
[ "${formats[*]}" = perf.data ] || fail "a new importer: run it here, on a real recording"
if perf record -q -e cpu-clock -F 2000 -o perf.data ./vm 3000000 4 >/dev/null 2>&1; then
	"$morph" profile import perf.data -o perf.samples >/dev/null
	"$morph" profile vm perf.samples -o perf.prof >/dev/null
	"$morph" profile show perf.prof | says vm_run || fail "vm_run is not in what perf recorded"
fi
