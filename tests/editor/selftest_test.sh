#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The packager's self-test: what passes, what is refused, and what it cannot do.
set -euo pipefail
morph=$MORPH_BIN/morph
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work"
mkdir tmp open
chmod 777 open
export TMPDIR=$work/tmp ASAN_OPTIONS=detect_leaks=0
chmod 777 tmp
passed=0

fail() { echo "FAILED: $*" >&2; exit 1; }
build()
{
	"$morph" cc --morph-selftest="$1" -O2 -o vm vm.o main.o
	"$morph" record -F 4000 -o vm.samples -- ./vm 1000000 3 >/dev/null 2>&1
}
optimize()
{
	"$morph" profile vm vm.samples -o vm.prof >/dev/null
	rm -f vm.new
	"$morph" optimize vm --force --profile vm.prof -o vm.new --report report.json --selftest-timeout 3 "$@"
}
# passes WHAT COMMAND
passes()
{
	build "$2"
	optimize 2>err.txt || fail "$1: $(cat err.txt)"
	grep -q '"selftest": "passed"' report.json || fail "$1: the report says nothing of the self-test"
	echo "passes: $1"
	passed=$((passed + 1))
}
# refused WHAT TEXT COMMAND
refused()
{
	local status=0
	build "$3"
	optimize 2>err.txt || status=$?
	[ $status -eq 1 ] || fail "$1: exit status $status, not 1: $(cat err.txt)"
	[ "$(wc -l <err.txt)" -eq 1 ] || fail "$1: not one line: $(cat err.txt)"
	grep -q -- "$2" err.txt || fail "$1: \"$2\" is not in: $(cat err.txt)"
	[ ! -e vm.new ] || fail "$1: it was written all the same"
	echo "refused: $1"
	passed=$((passed + 1))
}

for file in vm main; do "$morph" cc -O2 -c "$MORPH_SOURCE/tests/programs/vm/$file.c" -o $file.o; done

passes "the program under its own name" './vm 3000 2 && ./vm 77 5'
passes "the program as \$PROGRAM, and a status that is not 0" '"$PROGRAM" 3000 2; exit 3'
passes "files of its own" './vm 3000 2 >a && ./vm 3000 2 | cmp - a && rm a && ls'

# Only the new file has a note of its origin.
refused "another output" "prints something else, from line 3 on" 'echo a; echo b; grep -ac "^origin [0-9a-f]" vm; true'
refused "another exit status" "ends with exit status 1, not exit status 0" '! grep -qa "^origin [0-9a-f]" vm'
refused "the new file hangs" "does not end within 3 s" 'if grep -qa "^origin [0-9a-f]" vm; then sleep 10007; fi'
refused "both hang" "takes longer than 3 s" 'sleep 10007'
refused "a program that is not there" "fails with the shipped file already" './no-such-program'
refused "the shipped file crashes" "fails with the shipped file already" 'kill -SEGV $$'
refused "chance" "does not do the same twice" 'cat /proc/sys/kernel/random/uuid'

# An exit status of 127 would say that the wall is open: the edit would be refused.
passes "nothing can be written outside" "echo x 2>/dev/null >$work/open/x; test ! -e $work/open/x || exit 127"
[ ! -e open/x ] || fail "it wrote outside of its directory"
passes "there is no network" 'perl -MSocket -e "exit(socket(S, PF_INET, SOCK_STREAM, 0) ? 127 : 0)"'
passes "a file of more than 64 MiB cannot be written" 'head -c 70000000 /dev/zero >big && exit 127; exit 0'

[ -z "$(ls tmp)" ] || fail "left behind: $(ls tmp)"
! pgrep -f "sleep 10007" >/dev/null || fail "a hanging self-test still runs"
build ''
optimize
grep -q '"selftest": null' report.json || fail "without a self-test the report must say so"
echo "$((passed + 2)) passed, 0 failed"
