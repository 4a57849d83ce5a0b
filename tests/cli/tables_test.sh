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

"$morph" optimize --passes --json | python3 -c 'import json, sys; print(*[p["name"] for p in json.load(sys.stdin)["passes"]])' >said.txt
[ "$(cat said.txt)" = "${passes[*]}" ] || fail "--passes --json: $(cat said.txt)"

echo "verbs: each is in morph(1), and has help by both ways; others are refused"
mapfile -t verbs < <("$morph" help --words | cut -f 1 | grep -vxE 'help|c\+\+|--.*')
some "${verbs[@]}"
for verb in "${verbs[@]}"; do
	grep -qx "\.It Xr morph-$verb 1" "$MORPH_SOURCE/docs/man/morph.1" || fail "morph(1) lacks $verb"
	cmp <("$morph" help "$verb") <("$morph" "$verb" --help)
done
cmp <("$morph" help profile show) <("$morph" profile show --help)
refused 'morph: no verb "nonsense"' "$morph" help nonsense
refused 'usage: morph help' "$morph" help record true
[ "$("$morph" optimize vm --passes --help)" = "$("$morph" optimize --help | sed '/^$/,$ d')" ] || fail "two usages of optimize"
if [ -x "$MORPH_BIN/morph-fleet" ]; then
	"$morph" fleet --help | says 'diff'
	refused 'morph fleet: no verb "foo"' "$morph" fleet foo
	refused 'morph fleet machine: no verb "foo"' "$morph" fleet machine foo
fi

echo "standard output that cannot be written is a failure, and says why; that nobody reads it is none"
for words in --help "help profile" "inspect vm --json" "dump vm.prof" "profile show vm.prof" "annotate vm -s vm.samples" \
	"blocks vm vm_run -s vm.samples" "report vm.samples" "tune --list" "log --events" "config --json" "optimize --passes" \
	"optimize vm --check --json" "optimize vm --force --profile vm.prof -o vm.full --json"; do
	status=0
	# shellcheck disable=SC2086
	"$morph" $words >/dev/full 2>err.txt || status=$?
	[ $status -eq 1 ] && [ "$(grep -c 'standard output: No space left on device$' err.txt)" -eq 1 ] ||
		fail "$words: exit status $status, $(cat err.txt)"
done
(trap '' PIPE; "$morph" dump vm --json 2>err.txt; echo $? >status.txt) | head -c 1 >/dev/null
[ "$(cat status.txt)" = 0 ] && [ ! -s err.txt ] || fail "a closed pipe: $(cat status.txt err.txt)"

echo "numbers and CPUs that are none are refused by name and value"
edit=("$morph" optimize vm --force --profile vm.prof -o vm.refused)
for option in --jobs --memory --timeout --selftest-timeout; do
	for value in x -1 1x "" 18446744073709551617; do
		refused "$option: \"$value\" is not a number from 0 to " "${edit[@]}" $option "$value"
	done
done
for option in --cpu --tune; do
	refused "$option: LLVM knows no CPU \"foo\"" "${edit[@]}" $option foo
	! grep -q 'processor' err.txt || fail "LLVM says, too: $(cat err.txt)"
done
"${edit[@]}" --cpu x86-64-v2 --tune znver4 --jobs 0 --memory 0 --timeout 0 --selftest-timeout 0
refused 'no candidate "foo"' "$morph" tune vm --candidates foo -- ./vm 3000 2

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
