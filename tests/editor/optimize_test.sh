#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The whole way on a small real program: morph cc, record, profile, optimize; and what must be refused.
set -euo pipefail
. "$(dirname "$0")/../says.sh"
. "$(dirname "$0")/work.sh"
trap 'umount "$work/tiny" 2>/dev/null || true; rm -rf "$work"' EXIT
morph=$MORPH_BIN/morph
programs=$MORPH_SOURCE/tests/programs

# refused WHAT TEXT COMMAND...: exit status 1, one line, which has TEXT in it
refused() {
	local what=$1 text=$2 status=0
	shift 2
	"$@" >out.txt 2>err.txt || status=$?
	[ $status -eq 1 ] || fail "$what: exit status $status, not 1: $(cat err.txt)"
	[ "$(wc -l <err.txt)" -eq 1 ] || fail "$what: not one line: $(cat err.txt)"
	grep -q -- "$text" err.txt || fail "$what: \"$text\" is not in: $(cat err.txt)"
}

echo "a program builds, runs and carries its IR"
for file in vm main; do "$morph" cc -O2 -c "$programs/vm/$file.c" -o $file.o; done
"$morph" cc -O2 -o vm vm.o main.o
./vm 3000 2 >expected.txt
grep -q ' 42$' expected.txt || fail "the constructor did not run"
readelf -SW vm | says '\.morph' || fail "no .morph section"

echo "a recording becomes a profile"
"$morph" record -F 4000 -o vm.samples -- ./vm 3000000 4 >/dev/null 2>&1
"$morph" profile vm vm.samples -o vm.prof >/dev/null

echo "the new generation gives the same output, also on another input"
"$morph" optimize vm --force --profile vm.prof -o vm.new --report report.json
./vm.new 3000 2 | cmp - expected.txt
cmp <(./vm 77 5) <(./vm.new 77 5)

echo "all functions of the shipped text regenerate, byte for byte"
value() { sed -n "s/^ *\"$1\": \([0-9.]*\),*$/\1/p" report.json; }
[ "$(value functions)" -gt 0 ] || fail "no functions"
[ "$(value functions_regenerated)" = "$(value functions)" ] || fail "$(grep functions_ report.json)"
[ "$(value functions_identical)" = "$(value functions)" ] || fail "$(grep functions_ report.json)"
[ "$(value hot_functions)" -gt 0 ] || fail "no hot function"

echo "the sandbox had all its walls"
if [ "$(id -u)" = 0 ]; then
	grep -q '"own_user": true' report.json || fail "it ran as root"
fi
grep -q '"seccomp": true' report.json || fail "no system call filter"

echo "--json is the report, on standard output"
"$morph" optimize vm --force --profile vm.prof -o vm.json --json >said.json 2>/dev/null
times() { grep -vE '[0-9]e?[-0-9]*,?$|^ *[]}{[],?$' "$1"; }
diff <(times said.json) <(times report.json) || fail "--json is not the report"
python3 -m json.tool said.json >/dev/null || fail "--json is no JSON"
[ -c /dev/stdout ] || [ -e /dev/stdout ] || fail "/dev/stdout was replaced"

echo "too few samples are said, with what to do, and nothing is made without --force"
"$morph" record -F 200 --json -o few.samples -- ./vm 3000000 1 2>&1 >/dev/null | says '"samples": [0-9]'
"$morph" profile vm few.samples -o few.prof >/dev/null
"$morph" profile show few.prof --json | says '"verdict": "\(too-few\|empty\)"' || fail "a few samples were enough"
rm -f few.new
refused "too few samples" "samples.*sample more (.morph record.*--force" "$morph" optimize vm --profile few.prof -o few.new
[ ! -e few.new ] || fail "a generation was made by chance"
"$morph" optimize vm --force --profile few.prof -o few.new 2>err.txt || fail "--force: $(cat err.txt)"
grep -q 'samples' err.txt || fail "--force does not say that there are too few samples"
cmp <(./few.new 3000 2) expected.txt || fail "with few samples the output differs"

echo "the same inputs give the same bytes"
"$morph" optimize vm --force --profile vm.prof -o vm.again
cmp vm.new vm.again
# the compiler sorts probes of functions that share a section by their places in memory
readelf -SW vm.new >sections.txt
! grep -E 'probe|bb_addr_map' sections.txt || fail "the linker's map is still in the generation"

echo "another generation has another build ID, and names its origin"
id() { readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p' | head -n 1; }
[ "$(id vm)" != "$(id vm.new)" ] || fail "one build ID for two files"
readelf -p .note.morph vm.new | says "origin $(id vm)" || fail "the note does not name the origin"

echo "samples of the new generation map back to the shipped blocks"
"$morph" record -F 4000 -o new.samples -- ./vm.new 3000000 4 >/dev/null 2>&1
"$morph" profile vm new.samples --generation vm.new -o new.prof >/dev/null
"$morph" profile show new.prof | says vm_run || fail "vm_run is not in the profile of the new generation"
"$morph" optimize vm --force --profile new.prof -o vm.second
cmp <(./vm.second 3000 2) expected.txt

echo "layout alone works too"
"$morph" optimize vm --force --profile vm.prof --layout-only -o vm.layout
cmp <(./vm.layout 3000 2) expected.txt

echo "calls that ran and leave the file do not go through the procedure linkage table"
"$morph" cc -O2 -o imports "$programs/imports/imports.c"
"$morph" record -F 4000 -o imports.samples -- ./imports 100000000 >/dev/null 2>&1
"$morph" profile imports imports.samples -o imports.prof >/dev/null
"$morph" optimize imports --force --profile imports.prof -o imports.new --report imports.json
cmp <(./imports 5000) <(exec -a ./imports ./imports.new 5000)
bound() { readelf -rW "$1" | awk -v name="$2" '$5 ~ "^" name "(@|$)" { print $3 }'; }
[ "$(bound imports strcspn)" = R_X86_64_JUMP_SLOT ] || fail "as shipped, strcspn: $(bound imports strcspn)"
[ "$(bound imports.new strcspn)" = R_X86_64_GLOB_DAT ] || fail "strcspn: $(bound imports.new strcspn)"
[ "$(bound imports.new system)" = R_X86_64_JUMP_SLOT ] || fail "system, which did not run: $(bound imports.new system)"
grep -q '"imports_called_straight": 1,' imports.json || fail "$(grep imports_called imports.json)"

echo "loops that run long start a line of the cache"
"$morph" cc -O2 -o loops "$programs/loops/loops.c"
"$morph" record -F 4000 -o loops.samples -- ./loops 30000000 >/dev/null 2>&1
"$morph" profile loops loops.samples -o loops.prof >/dev/null
"$morph" optimize loops --force --profile loops.prof -o loops.new
cmp <(./loops 5000) <(./loops.new 5000)
# targets of jumps backward, of 200 bytes at most, in the functions that TURN makes
objdump -d --no-show-raw-insn loops.new | awk '
	/^[0-9a-f]+ <.*>:/ { turn = $2 ~ /^<(one|two|three|four)[.>]/ }
	turn && $2 ~ /^j/ && $3 ~ /^[0-9a-f]+$/ { sub(":", "", $1); print $1, $3 }' >jumps.txt
n_loops=0
while read -r from to; do
	if [ $((0x$from - 0x$to)) -gt 0 ] && [ $((0x$from - 0x$to)) -lt 200 ]; then
		n_loops=$((n_loops + 1))
		[ $((0x$to % 64)) -eq 0 ] || fail "a loop starts at $to, in the middle of a line"
	fi
done <jumps.txt
[ "$n_loops" -ge 4 ] || fail "$n_loops loops, not 4: $(cat jumps.txt)"

echo "code is for this very CPU, or for the one it was shipped for"
cpu() { sed -n 's/^ *"cpu": \(.*\),$/\1/p' report.json; }
[ "$(cpu)" != null ] || fail "the report names no CPU"
"$morph" optimize vm --force --profile vm.prof --cpu native -o vm.native
cmp vm.native vm.new || fail "--cpu native is not the default"
"$morph" optimize vm --force --profile vm.prof --cpu shipped -o vm.portable --report report.json
[ "$(cpu)" = null ] || fail "the report of --cpu shipped names $(cpu)"
cmp -s vm.portable vm.new && fail "--cpu shipped changed nothing"
cmp <(./vm.portable 3000 2) expected.txt

echo "what cannot be edited is refused in one line, and nothing is written"
refused "a file without Morph data" "carries no Morph data\|no Morph data" "$morph" optimize /bin/true --force --profile vm.prof -o x
"$morph" cc -O1 -o other "$programs/vm/vm.c" "$programs/vm/main.c"
refused "a profile of another build" "another build" "$morph" optimize other --force --profile vm.prof -o x
head -c 100 vm.prof >short.prof
refused "a truncated profile" "truncated\|damaged" "$morph" optimize vm --force --profile short.prof -o x
refused "a missing profile" "No such file" "$morph" optimize vm --force --profile none.prof -o x
head -c $(($(stat -c %s vm) * 2 / 3)) vm >short
refused "a truncated program" "" "$morph" optimize short --force --profile vm.prof -o x
refused "a missing directory" "No such file" "$morph" optimize vm --force --profile vm.prof -o none/x
[ ! -e x ] || fail "a refused edit left a file"

refused "a generation" "without IR; edit the shipped file" "$morph" optimize vm.new --force --profile vm.prof -o x
refused "a missing list of functions" "nofile: No such file" "$morph" optimize vm --force --profile vm.prof --as-shipped-from nofile -o x
refused "a report in a missing directory" "none/report.json: .*No such file" \
	"$morph" optimize vm --force --profile vm.prof --report none/report.json -o x
refused "a directory as output" "Is a directory" "$morph" optimize vm --force --profile vm.prof -o "$work"
[ ! -e x ] || fail "a refused edit left a file"
cp vm itself
refused "the program as output" "is the program itself" "$morph" optimize itself --force --profile vm.prof -o itself
cmp vm itself || fail "the program was overwritten"

echo "--check says as JSON what it found"
"$morph" optimize vm --check --json >said.json
grep -q '"regenerates": true,' said.json && grep -q '"difference": null' said.json || fail "$(cat said.json)"

echo "IR that is not the program is refused"
offset=$((0x$(nm vm | sed -n 's/ t check$//p' | head -n 1)))
segment=$(readelf -lW vm | sed -n 's/^ *LOAD *\(0x[0-9a-f]*\) \(0x[0-9a-f]*\) .* R E .*/\1 \2/p')
offset=$((offset - ${segment#* } + ${segment% *}))
cp vm tampered
printf '\xcc' | dd of=tampered bs=1 seek=$offset conv=notrunc status=none
"$morph" optimize tampered --force --profile vm.prof -o x 2>err.txt && fail "tampered text was accepted"
grep -q "not the program" err.txt || fail "tampered text: $(cat err.txt)"
status=0
"$morph" optimize tampered --check --json >said.json 2>err.txt || status=$?
[ $status -eq 3 ] && grep -q '"regenerates": false,' said.json && grep -q '"difference": ".*do not regenerate' said.json ||
	fail "--check --json: $status, $(cat said.json err.txt)"

echo "so are data that are not the program's: a constant, and a pointer"
tamper() # SECTION OFFSET: change one byte there
{
	local at
	at=$((0x$(readelf -SW vm | sed -n "s/.* \\$1 *[A-Z_]* *[0-9a-f]* \([0-9a-f]*\) .*/\1/p" | head -n 1)))
	cp vm tampered
	printf '\x01' | dd of=tampered bs=1 seek=$((at + $2)) conv=notrunc status=none
	! cmp -s vm tampered || fail "$1: nothing was changed"
}
constant=$(($(readelf -x .rodata vm | grep -c 0x) * 8))
tamper .rodata "$constant"
refused "a tampered constant" "its IR is damaged, or was packed beside other loaded bytes" "$morph" optimize tampered --force --profile vm.prof -o x
tamper .rela.dyn 16
refused "a tampered pointer" "its section .rela.dyn differs from offset" "$morph" optimize tampered --force --profile vm.prof -o x
[ ! -e x ] || fail "a refused edit left a file"

echo "where asked to, the IR is taken at its word: the result does what the IR says, and says what differed"
"$morph" optimize vm --force --profile vm.prof --rebase -o vm.rebased --report report.json 2>err.txt
cmp vm.rebased vm.new || fail "--rebase changes a program that regenerates"
! grep -q rebased err.txt || fail "a program that regenerates was rebased: $(cat err.txt)"
grep -q '"rebased": null' report.json || fail "$(grep rebased report.json)"
for what in text data; do
	case $what in
	text) cp vm tampered && printf '\xcc' | dd of=tampered bs=1 seek=$offset conv=notrunc status=none ;;
	data) tamper .rela.dyn 16 ;;
	esac
	"$morph" optimize tampered --force --profile vm.prof --rebase -o vm.rebased --report report.json 2>err.txt
	cmp <(./vm.rebased 3000 2) expected.txt
	grep -q "tampered: rebased: " err.txt || fail "$what: nothing was said: $(cat err.txt)"
	grep -q '"rebased": ".*\(regenerate\|differs\)' report.json || fail "$what: $(grep rebased report.json)"
	readelf -p .note.morph vm.rebased | says "rebased: " || fail "$what: the note does not say so"
done

if [ "$(id -u)" = 0 ]; then
	echo "linking again needs runtime libraries only: no headers, no crt files, no archives, no linker scripts"
	unshare -m bash -euc '
		mount -t tmpfs tmpfs /usr/include
		mount -t tmpfs tmpfs /usr/lib/gcc
		for file in /usr/lib/x86_64-linux-gnu/*crt*.o /usr/lib/x86_64-linux-gnu/lib{c,m}.so \
			/usr/lib/x86_64-linux-gnu/libc.a /usr/lib/x86_64-linux-gnu/libc_nonshared.a; do
			[ ! -e "$file" ] || mount --bind /dev/null "$file"
		done
		! echo "int main(void) { return 0; }" | '"$MORPH_BIN"'/morph cc -x c - -o none 2>/dev/null
		'"$MORPH_BIN"'/morph optimize vm --force --profile vm.prof -o vm.bare'
	cmp vm.bare vm.new

	echo "a full disk costs the edit and nothing else"
	mkdir tiny
	mount -t tmpfs -o size=16k tmpfs tiny
	refused "a full disk" "No space left" "$morph" optimize vm --force --profile vm.prof -o tiny/x
	[ -z "$(ls tiny)" ] || fail "a full disk left $(ls tiny)"
	umount tiny
fi

echo "no work directory is left behind, whatever ended the edit"
for signal in INT TERM HUP QUIT PIPE; do
	status=0
	timeout -s $signal 0.3 "$morph" optimize vm --force --profile vm.prof -o vm.late 2>err.txt || status=$?
	[ $status -eq 124 ] || [ -e vm.late ] || fail "$signal: exit status $status, $(cat err.txt)"
	! ls -d morph-edit.* 2>/dev/null || fail "$signal: work directories were left"
done
! ls -d morph-edit.* 2>/dev/null || fail "work directories were left"
echo "23 passed, 0 failed"
