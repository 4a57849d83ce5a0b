#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Functions that are to keep their code do, and passes that are to be left out are: on a program that looks at its code.
set -euo pipefail
. "$(dirname "$0")/work.sh"
morph=$MORPH_BIN/morph

# status N COMMAND...: it exits with N; what it says is in out.txt and err.txt
status() {
	local wanted=$1 status=0
	shift
	"$@" >out.txt 2>err.txt || status=$?
	[ $status -eq "$wanted" ] || fail "$*: exit status $status, not $wanted: $(cat err.txt)"
}
# edit OUT OPTION...: of twins
edit() { "$morph" optimize twins --force --profile twins.prof -o "$@" --report report.json; }
value() { sed -n "s/^ *\"$1\": \([0-9.]*\),*$/\1/p" report.json; }
# code FILE FUNCTION: its bytes
code() { objdump -d "$1" | sed -n "/^[0-9a-f]* <$2>:/,/^\$/p" | cut -f 2 -s; }

"$morph" cc -O2 -o twins "$MORPH_SOURCE/tests/programs/twins/twins.c"
status 0 ./twins 1000
cp out.txt expected.txt
# exact counts: what runs, and is hot, is no matter of chance
exact_samples twins twins.samples 20000
"$morph" profile twins twins.samples --estimator exact -o twins.prof >/dev/null

echo "a program that compares its own code does otherwise with new code"
edit twins.new
status 3 ./twins.new 1000
cmp out.txt expected.txt
[ "$(value functions_as_shipped)" = 0 ] || fail "kept unasked: $(value functions_as_shipped)"
hot=$(value hot_functions)

echo "with the code of the one function kept it works, and the others are optimized"
edit twins.kept --as-shipped runs
status 0 ./twins.kept 1000
cmp out.txt expected.txt
[ "$(value functions_as_shipped)" = 1 ] || fail "kept: $(value functions_as_shipped)"
[ "$(value hot_functions)" = $((hot - 1)) ] || fail "$(value hot_functions) hot functions of $hot"
[ -n "$(code twins runs)" ] || fail "no code of the function in the shipped file"
cmp <(code twins runs) <(code twins.kept runs) || fail "the function's code is not the shipped one"
cmp -s <(code twins other) <(code twins.kept other) && fail "the other function was not optimized"

echo "keeping another one does not help"
edit twins.other --as-shipped other
status 3 ./twins.other 1000
cmp <(code twins other) <(code twins.other other) || fail "the other function's code is not the shipped one"

echo "it is another generation, by name, too"
id() { readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p' | head -n 1; }
[ "$(for f in twins.new twins.kept twins.other; do id $f; done | sort -u | wc -l)" = 3 ] || fail "one build ID for two"

echo "a pass that is left out does not run, and the result works"
ran() { python3 -c 'import json; print(*json.load(open("report.json"))["pass_cpu_seconds"])'; }
edit twins.all
all=$(ran)
for pass in promote optimize recount loops; do
	[[ " $all " = *" $pass "* ]] || fail "$pass does not run anyway: $all"
	edit twins.less --as-shipped runs --without $pass
	[ "$(ran)" = "$(tr ' ' '\n' <<<"$all" | grep -vx $pass | paste -sd ' ')" ] || fail "--without $pass: $(ran)"
	status 0 ./twins.less 1000
	cmp out.txt expected.txt
	[ "$(id twins.less)" != "$(id twins.kept)" ] || fail "--without $pass: one build ID for two"
done

echo "a name that is none, a pass that is none or must run: refused, and nothing is written"
optimize() { "$morph" optimize twins --force --profile twins.prof -o x "$@"; }
for name in run printf '' $'runs\e[2J'; do
	status 1 optimize --as-shipped runs --as-shipped "$name"
	grep -q 'no function ".*" to keep as shipped' err.txt || fail "\"$name\": $(cat err.txt)"
	! grep -q $'\e' err.txt || fail "a name reaches the terminal as it is"
done
mapfile -t all < <(nm twins | sed -n 's/.* [tT] //p' | grep -xE 'runs|rests|other|main' | sed 's/^/--as-shipped=/')
[ ${#all[@]} -eq 4 ] || fail "not the program's functions: ${all[*]}"
status 1 optimize "${all[@]}"
grep -q "all functions that ran are to stay as shipped" err.txt || fail "$(cat err.txt)"
for pass in plan compare facts sign none $'loops\e[2J'; do
	status 2 optimize --without "$pass"
	grep -q "that can be left out; there are: promote optimize recount loops$" err.txt || fail "$pass: $(cat err.txt)"
	! grep -q $'\e' err.txt || fail "a name reaches the terminal as it is"
done
mapfile -t many < <(printf -- '--as-shipped=runs\n%.0s' {1..1025})
status 2 optimize "${many[@]}"
grep -q "more than 1024 functions" err.txt || fail "$(head -n 1 err.txt)"
status 2 "$morph" optimize twins --check --as-shipped runs
[ ! -e x ] || fail "a refused edit left a file"

echo "a function that cannot be parted from its module keeps that module's code, and the other modules are optimized"
# instructions FILE FUNCTION: without the addresses of what they name, which is elsewhere
instructions() { objdump -d --no-show-raw-insn "$1" | sed -n "/^[0-9a-f]* <$2>:/,/^\$/p" | cut -f 2 -s |
	sed 's/0x[0-9a-f]*(%rip).*/ADDRESS/; s/[0-9a-f]* <[^>+]*/ADDRESS <ITSELF/'; }
for file in table main; do "$morph" cc -O2 -c "$MORPH_SOURCE/tests/programs/parted/$file.c" -o parted-$file.o; done
"$morph" cc -O2 -o parted parted-table.o parted-main.o
./parted 777 >expected.txt
exact_samples parted parted.samples 20000
"$morph" profile parted parted.samples --estimator exact -o parted.prof >/dev/null
"$morph" optimize parted --force --profile parted.prof -o parted.new --report report.json
[ "$(value hot_modules)" = 2 ] || fail "$(value hot_modules) modules are cut anyway"
cmp -s <(instructions parted beside) <(instructions parted.new beside) && fail "what stands beside it does not change anyway"
"$morph" optimize parted --force --profile parted.prof --as-shipped first -o parted.kept --report report.json
./parted.kept 777 | cmp - expected.txt
[ "$(value hot_modules)" = 1 ] || fail "$(value hot_modules) modules are cut"
[ "$(value hot_functions)" -gt 0 ] || fail "nothing is optimized"
for function in first beside; do
	[ -n "$(instructions parted $function)" ] || fail "no code of $function in the shipped file"
	diff <(instructions parted $function) <(instructions parted.kept $function) || fail "$function is not as shipped"
done
