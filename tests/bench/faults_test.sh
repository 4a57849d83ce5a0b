#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# bench-faults counts what a program with its functions far apart faults in, and bench/faults/faults.py tells it from one that has
# them together; nobody is told from a copy.

set -eu
tool=$MORPH_BIN/bench-faults
bench=$MORPH_SOURCE/bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1

fail()
{
	echo "FAILED: $*"
	exit 1
}

# copy FROM TO: written page by page, so that the page cache holds it in pages; what a linker writes may be in folios of megabytes,
# which are mapped by one fault
copy()
{
	mkdir -p "$(dirname "$2")"
	dd if="$1" of="$2" bs=4096 status=none
	chmod 755 "$2"
}

# program FILE ALIGNMENT: calls the first N of its 64 functions, then ends with status 7 or by signal 15
program()
{
	{
		for i in {0..63}; do
			echo "__attribute__((noinline, aligned($2))) int f$i(int x) { __asm__ volatile(\"\"); return x + $i; }"
		done
		echo '#include <stdlib.h>'
		echo '#include <signal.h>'
		echo 'int main(int argc, char **argv) { int n = atoi(argv[1]), x = 0;'
		for i in {0..63}; do echo "if (n > $i) x = f$i(x);"; done
		echo 'if (argc > 2) raise(SIGTERM); return x < 0 ? 1 : 7; }'
	} >"$work/program.c"
	gcc -O1 -o "$work/program" "$work/program.c"
	copy "$work/program" "$1"
}

# last FIELD: of the last line
last()
{
	tail -n 1 "$work/lines" | jq ".$1"
}

far=$work/tables/prog/shipped/prefix/bin/prog
near=$work/tables/prog/morph/prefix/bin/prog
program "$far" 65536
program "$near" 16
copy "$far" "$work/tables/prog/again/prefix/bin/prog"

# ---- one run
status=0
"$tool" warm "$work/lines" "$far" 0 2>"$work/err" || status=$?
if [[ $status == 125 && $(cat "$work/err") == *"the kernel refuses"* ]]; then
	echo "skipped: $(cat "$work/err")"
	exit 77
fi
[[ $status == 7 ]] || fail "exit status $status: $(cat "$work/err")"
few=$(last text_minor_faults) few_kib=$(last resident_text_kib)
"$tool" warm "$work/lines" "$far" 64 && fail "the exit status is lost"
# Cached pages are mapped 16 at a time: a function a window, or nearly.
(($(last text_minor_faults) >= few + 20)) || fail "64 functions far apart: $few, then $(cat "$work/lines")"
(($(last resident_text_kib) >= few_kib + 60 * 64)) || fail "resident text: $few_kib, then $(cat "$work/lines")"
(($(last text_kib) >= 64 * 64 && $(last major_faults) == 0)) || fail "warm: $(cat "$work/lines")"
(($(last minor_faults) > $(last text_minor_faults))) || fail "there are data and libraries, too: $(cat "$work/lines")"
status=0
"$tool" warm "$work/lines" "$near" 64 signal || status=$?
[[ $status == 143 ]] || fail "ended by a signal: $status"
(($(last text_minor_faults) <= 4)) || fail "64 functions together: $(cat "$work/lines")"

status=0
"$tool" cold "$work/lines" "$far" 64 2>"$work/err" || status=$?
if [[ $status == 125 ]]; then
	[[ $(cat "$work/err") == *"stay in the page cache"* ]] || fail "cold: $(cat "$work/err")"
	echo "skipped: $(cat "$work/err")"
	exit 77
fi
(($(last major_faults) > 0)) || fail "nothing was cached, but nothing was read: $(cat "$work/lines")"
status=0
"$tool" warm "$work/lines" "$work/none" 2>"$work/err" || status=$?
[[ $status == 125 && $(cat "$work/err") == *none*"No such file"* ]] || fail "no such program: $(cat "$work/err")"

# ---- the table
# shellcheck disable=SC2016 # the script's shell expands it
echo '$RUN bin/prog 64; $RUN bin/prog 0; true' >"$work/script"
mkdir "$work/tables/prog/quick" "$work/out"
printf '%s 128 500\n%s 129 500\n%s 192 9\n/lib/c.so 500 9\n' "$far" "$far" "$far" >"$work/tables/prog/quick/shipped.heat"
printf '%s 128 9\n' "$near" >"$work/tables/prog/quick/morph.heat"
touch "$work"/tables/prog/{shipped,again,morph}/complete
cpu=$(taskset -pc $$ | sed 's/.*[ ,-]//')
/usr/bin/python3 "$bench/faults/faults.py" "$work/tables" quick 1 "$cpu" "$tool" "prog=$work/script" 2>"$work/err" ||
	fail "faults.py: $(cat "$work/err")"
found=$(jq -c '[.programs[0].variants[] | [.name, .processes, .pages_touched, .pages_99, .text_minor_faults_vs_shipped.verdict]]' \
	"$work/tables/faults.json")
[[ $found == '[["shipped",2,2,1,"no difference seen"],["again",2,null,null,"no difference seen"],["morph",2,1,1,"less"]]' ]] ||
	fail "the table: $found"
[[ $(jq '.geomean_pages_touched == 0.5 and .geomean_text_minor_faults < 0.5' "$work/tables/faults.json") == true ]] ||
	fail "means: $(jq -c 'del(.programs)' "$work/tables/faults.json")"
/usr/bin/python3 "$bench/report/report.py" "$work/tables" "$work/out"
[[ $(tr '\n' ' ' <"$work/out/RESULTS.md") == *"is on 1.000 times the shipped ones' pages, all of it on 0.500 times; fewer minor faults"* ]] ||
	fail "RESULTS.md: $(cat "$work/out/RESULTS.md")"

# What is there is not measured again; a variant that fails is a row that says why.
stamp=$(stat -c %Y%y "$work/tables/prog/quick/faults.json")
/usr/bin/python3 "$bench/faults/faults.py" "$work/tables" quick 1 "$cpu" "$tool" "prog=$work/script" 2>"$work/err"
[[ $(stat -c %Y%y "$work/tables/prog/quick/faults.json") == "$stamp" ]] || fail "measured again"
rm "$near" "$work/tables/prog/quick/faults.json"
/usr/bin/python3 "$bench/faults/faults.py" "$work/tables" quick 1 "$cpu" "$tool" "prog=$work/script" 2>"$work/err"
[[ $(jq -r '.programs[0].variants[2].failed' "$work/tables/faults.json") == *"bin/prog: "*"No such file"* ]] ||
	fail "a variant without its program: $(jq -c '.programs[0].variants[2]' "$work/tables/faults.json")"
echo "faults: all as expected"
