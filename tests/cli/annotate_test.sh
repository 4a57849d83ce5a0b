#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# morph annotate on kernels that wait for one known thing, and on files that are not what they seem.
set -eEu
. "$(dirname "$0")/../says.sh"
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND" >&2' ERR

morph=$MORPH_BIN/morph
work=$(mktemp -d /tmp/morph-annotate.XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work"
[ "$(uname -m)" = x86_64 ] || { echo "skipped: the kernels are x86-64's"; exit 77; }

# holds EXPRESSION: true of the JSON on standard input; j is all of it, f its first function, least and most shares of it
holds() {
	python3 -c 'import json,sys
j=json.load(sys.stdin); f=j["functions"][0]
def least(k): return f["shares"].get(k, {"least": 0})["least"]
def most(k): return f["shares"].get(k, {"most": 0})["most"]
sys.exit(not eval(sys.argv[1]))' "$1" || { echo "not true: $1" >&2; return 1; }
}
# refused CODE WORDS ARGUMENT...
refused() {
	local code=$1 words=$2 status=0
	shift 2
	"$morph" annotate "$@" >out.txt 2>err.txt || status=$?
	[ $status -eq "$code" ] || { echo "exit $status, not $code: $*" >&2; cat err.txt >&2; return 1; }
	grep -qF -- "$words" err.txt || { echo "does not say \"$words\":" >&2; cat err.txt >&2; return 1; }
}
# sampled KERNEL: KERNEL.samples, and $turns that its loop took
sampled() {
	"$morph" record -q -F 2000 -o "$1.samples" -- ./kernels "$1" 500 >turns.txt 2>record.txt || return
	turns=$(cut -d ' ' -f 1 turns.txt)
}

sources=("$MORPH_SOURCE"/bench/cpi/{kernels.c,kernels.S,held_out.S})
gcc -O1 -o kernels "${sources[@]}"
if ! sampled divide; then
	echo "skipped: this machine cannot sample: $(cat record.txt)"
	exit 77
fi
loop() { echo "0x$(nm kernels | awk -v name="$1_loop" '$3 == name { print $1 }')"; }

echo "a division waits for its unit, counts or not"
"$morph" annotate ./kernels divide -s divide.samples --count "$(loop divide)=$turns" --json >divide.json
holds 'least("unit") > 0.6 and j["scale"] == "count" and j["blocks_recovered"]' <divide.json
holds '0.9 < max(b["executions"] for b in f["blocks"]) / '"$turns"' < 1.1' <divide.json
"$morph" annotate ./kernels divide -s divide.samples --json | holds 'least("unit") > 0.6 and j["scale"] == "best-case"'

echo "a list that the first cache does not hold waits for the others, as the count of its turns shows"
sampled l2_chase
"$morph" annotate ./kernels l2_chase -s l2_chase.samples --count "$(loop l2_chase)=$turns" --clock 4 --json |
	holds 'least("data-cache") > 0.3 and most("mispredict") < 0.05 and j["clock_hz"] == 4e9'

echo "a load of bytes that were written in two pieces waits for these stores"
sampled store_forward_wide
"$morph" annotate ./kernels store_forward_wide -s store_forward_wide.samples --json \
	--count "$(loop store_forward_wide)=$turns" | holds 'least("store-forward") > 0.3'

# told KERNEL EXPRESSION: of what annotate says of it, with the count of its turns
told() {
	sampled "$1"
	"$morph" annotate ./kernels "$1" -s "$1.samples" --json --count "$(loop "$1")=$turns" | holds "$2"
}
echo "an addition of three parts takes two cycles, and pushes do not wait for the stack pointer"
told lea_chain 'least("dependency") > 0.6'
told push_pop 'least("dependency") > 0.6'

echo "an exchange with memory waits for all before it, without a prefix that says so"
told exchange 'least("serialize") > 0.6'

echo "stores in the block before are seen, too"
told store_forward_bytes 'least("data-cache") < 0.05 and least("store-forward") > 0.2'

echo "where each block has few samples, they are looked at together" # as text: a million instructions are 400 MB of JSON
sampled icache_pages
"$morph" annotate ./kernels icache_pages -s icache_pages.samples --count "$(loop icache_pages)=$turns" >pages.txt
[ "$(awk '$1 == "instruction-cache" { print ($2 > 60); exit }' pages.txt)" = 1 ]

echo "a load that is added needs its address alone: the chains of the sum and of the list go side by side"
gcc -O2 -fno-ipa-cp -o wave "$MORPH_SOURCE/tests/programs/wave/wave.c" -lm
"$morph" record -q -F 2000 -o wave.samples -- ./wave 3000 >wave.txt 2>&1
"$morph" annotate ./wave smooth -s wave.samples --json |
	holds '3.5 < max(f["blocks"], key=lambda b: b["executions"] or 0)["best"] < 4.5'

echo "what is gone through once overlaps with what is before it: its latencies are no best case"
cat >once.S <<'END'
	.globl main, once
	.type main, @function
main:	mov $100000000, %ecx
1:	mov %ecx, %edi
	call once
	dec %ecx
	jnz 1b
	xor %eax, %eax
	ret
	.size main, . - main
	.type once, @function
once:	imul %edi, %edi
	imul %edi, %edi
	imul %edi, %edi
	imul %edi, %edi
	ret
	.size once, . - once
	.section .note.GNU-stack, "", @progbits
END
gcc -Wl,--build-id -o once once.S
"$morph" record -q -F 2000 -o once.samples -- ./once
"$morph" annotate ./once once -s once.samples --count once=1e8 --json |
	holds 'f["blocks"][0]["best"] < 3 and f["blocks"][0]["cycles"] < 10'

echo "source lines, and what was inlined, where debug information is"
cat >inlined.c <<'END'
static inline __attribute__((always_inline)) unsigned step(unsigned x)
{
	return x * 1664525 + 1013904223;
}
int main(int n, char **v)
{
	unsigned x = (unsigned)n;
	for (unsigned i = 0; i < 200000000; i++)
		x = step(x);
	return x == 5 && !v;
}
END
gcc -g -O2 -Wl,--build-id -o inlined inlined.c
"$morph" record -q -F 2000 -o inlined.samples -- ./inlined
"$morph" annotate ./inlined main -s inlined.samples --lines --json >inlined.json
holds '[3] == sorted({i["line"] for b in f["blocks"] for i in b["instructions"] if i.get("inlined") == "step"})' <inlined.json
holds 'all(i["file"].endswith("inlined.c") for b in f["blocks"] for i in b["instructions"] if "file" in i)' <inlined.json
"$morph" annotate ./inlined main -s inlined.samples --lines | says 'step, inlined.c:3'
strip -g -o without inlined
refused 1 'debug information' ./without main -s inlined.samples --lines
refused 2 usage ./inlined -s inlined.samples --lines

echo "as text: the table of functions, the summary, the code"
"$morph" annotate ./kernels -s divide.samples | says '^divide  '
"$morph" annotate ./kernels divide -s divide.samples >divide.txt
says '^unit ' <divide.txt
says 'div r8 .*unit' <divide.txt
says 'no count is known' <divide.txt

echo "without symbols, functions are where the unwinder's table says, or all of a section"
strip -o stripped once
"$morph" annotate ./stripped -s once.samples --json | holds 'f["name"].startswith("0x") and f["samples"] > 100'

echo "a debug file has the names of what was stripped, and a function answers to each of its names"
gcc -Wl,--build-id,--defsym=again=once -o named once.S
"$morph" record -q -F 2000 -o named.samples -- ./named
id=$(readelf -n named | sed -n 's/.*Build ID: //p')
mkdir -p "debug/.build-id/${id:0:2}"
objcopy --only-keep-debug named "debug/.build-id/${id:0:2}/${id:2}.debug"
strip named
"$morph" annotate ./named -s named.samples --json | holds 'f["name"].startswith("0x")'
"$morph" annotate ./named -s named.samples --debug-dir debug --json | holds 'f["name"] == "once"'
"$morph" annotate ./named again -s named.samples --debug-dir debug --json | holds 'f["name"] == "once"'

echo "a file that was replaced since is refused, and so is one without samples"
mkdir other
gcc -O1 -Wl,--build-id=0x1234 -o other/kernels "${sources[@]}"
refused 1 'it was replaced since' other/kernels -s divide.samples
refused 1 'have no samples of it' /bin/sh -s divide.samples
refused 1 'no samples in a function "nothing"' ./kernels nothing -s divide.samples
refused 1 'no sampled function of that name' ./kernels -s divide.samples --count nothing=5
refused 2 'not FUNCTION[+OFFSET]=EXECUTIONS' ./kernels -s divide.samples --count divide
refused 2 'no sample log is named, and there is no morph.samples here' ./kernels
refused 2 usage ./kernels -s divide.samples --clock 0

echo "a name is one of the logs' files; without a log, that of morph record; where else the time is"
cp divide.samples morph.samples
mkdir elsewhere
(cd elsewhere && cp ../morph.samples . && "$morph" annotate kernels divide --json) | holds 'f["name"] == "divide"'
rm morph.samples
cat >shared.c <<'END'
void other(void);
int main(void) { other(); return 0; }
END
cat >other.c <<'END'
void other(void) { for (volatile unsigned i = 0; i < 1500000000; i++) ; }
END
gcc -O1 -shared -fPIC -Wl,--build-id -o libother.so other.c
gcc -O1 -Wl,--build-id -o shared shared.c -L. -lother -Wl,-rpath,"$work"
"$morph" record -q -F 2000 -o shared.samples -- sh -c './shared; i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done
	dd if=/dev/zero of=/dev/null bs=1M count=4000 status=none'
"$morph" annotate "$(basename "$(readlink -f /bin/sh)")" -s shared.samples >dash.txt
says '^elsewhere .*libother.so' <dash.txt
"$morph" annotate libother.so -s shared.samples >other.txt
! grep -q '^elsewhere' other.txt
refused 1 "kernel's instructions cannot be read" '[kernel]' -s shared.samples
refused 1 'No such file' nothing -s shared.samples

echo "the kernel's functions, where its vmlinux is: named, or found among debug files by its build"
cat >vmlinux.S <<'END'
	.globl _text, copy
_text:	ret
	.type copy, @function
	.p2align 4
copy:	mov (%rsi), %rax
	mov %rax, (%rdi)
	dec %rdx
	jnz copy
	ret
	.size copy, . - copy
END
gcc -c vmlinux.S
ld -o vmlinux --build-id=0x1234567890123456789012345678901234567890 -Ttext=0xffffffff81000000 -e _text vmlinux.o
"$MORPH_TEST_BIN/sample-log-make" kernel.samples <<'END'
rate 1000
time 1700000000000000000 1000000000
kernel 5
module kernel [kernel] 1234567890123456789012345678901234567890 0 0
at 19 300
at 16 20
module kernel [kernel%20module%20x] 7777777777777777777777777777777777777777 0 0
at 16 9
END
"$morph" annotate vmlinux -s kernel.samples --json | holds 'f["name"] == "copy" and f["samples"] == 320 and j["samples"] == 320'
"$morph" annotate vmlinux copy -s kernel.samples >kernel.txt
says '300 .* ffffffff81000013 *mov \[rdi\], rax' <kernel.txt
refused 1 "cannot be read without its vmlinux" kernel copy -s kernel.samples --debug-dir debug
refused 1 "cannot be read without its vmlinux" '[kernel module x]' -s kernel.samples --debug-dir debug
mkdir -p debug/.build-id/12
cp vmlinux debug/.build-id/12/34567890123456789012345678901234567890.debug
"$morph" annotate kernel copy -s kernel.samples --debug-dir debug | says 'ffffffff81000013'
"$morph" annotate '[kernel]' copy -s kernel.samples --debug-dir debug | says 'ffffffff81000013'
ld -o debug/.build-id/12/34567890123456789012345678901234567890.debug --build-id=0x9999999999999999999999999999999999999999 -Ttext=0xffffffff81000000 -e _text vmlinux.o
refused 1 "cannot be read without its vmlinux" kernel copy -s kernel.samples --debug-dir debug

echo "what is no instruction is shown as bytes, in a block of its own"
cat >data.S <<'END'
	.globl main
	.type main, @function
main:	mov $400000000, %ecx
1:	dec %ecx
	jnz 1b
	xor %eax, %eax
	ret
	.byte 0x06, 0x06, 0x0e
	.size main, . - main
	.section .note.GNU-stack, "", @progbits
END
gcc -o data data.S
"$morph" record -q -F 2000 -o data.samples -- ./data
"$morph" annotate ./data main -s data.samples --all | says '(bytes 06)'
"$morph" annotate ./data main -s data.samples --json |
	holds '[i["known"] for b in f["blocks"] for i in b["instructions"]].count(False) == 3'

echo "millions of padding bytes in a function cost next to nothing"
# peak COMMAND...: the most memory that it took, in KiB; what it prints is in peak.out
peak() {
	python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=open("peak.out", "w"))
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}
cat >padded.S <<'END'
	.globl main
	.type main, @function
main:	mov $400000000, %ecx
	jmp 1f
	.fill 16000000, 1, 0xcc
1:	dec %ecx
	jnz 1b
	xor %eax, %eax
	ret
	.size main, . - main
	.section .note.GNU-stack, "", @progbits
END
gcc -o padded padded.S
"$morph" record -q -F 2000 -o padded.samples -- ./padded
[ "$(peak "$morph" annotate ./padded main -s padded.samples --all --json)" -lt 500000 ]
holds 'sum(len(b["instructions"]) for b in f["blocks"]) == 7 and f["samples"] > 50' <peak.out

echo "more code than is analysed at once is left out, and said; asked for, it is an error"
cat >large.S <<'END'
	.globl main
	.type main, @function
main:	mov $300000000, %ecx
1:	dec %ecx
	jnz 1b
	call large
	xor %eax, %eax
	ret
	.size main, . - main
	.type large, @function
large:	mov $3000000000, %ecx
1:	dec %ecx
	jnz 1b
	.fill 4200000, 1, 0x90
	ret
	.size large, . - large
	.section .note.GNU-stack, "", @progbits
END
gcc -o large large.S
"$morph" record -q -F 2000 -o large.samples -- ./large
"$morph" annotate ./large -s large.samples --json |
	holds '[g["name"] for g in j["functions"] if g["name"] != "_start"] == ["main"] and j["functions_left_out"] == 1 and j["samples_left_out"] > f["samples"]'
"$morph" annotate ./large -s large.samples | says '^left out    1 functions'
"$morph" annotate ./large main -s large.samples --json | holds 'f["name"] == "main"'
refused 1 'function "large", 4200' ./large large -s large.samples

echo "page faults, where they were counted: what faults waited for that, what does not did not"
cat >faults.c <<'END'
#include <sys/mman.h>
#define SIZE (64ul << 20)
__attribute__((noinline)) void fresh(char *p) { for (char *end = p + SIZE; p < end; p += 4096) *(volatile char *)p = 1; }
__attribute__((noinline)) void again(char *p) { for (int k = 0; k < 40; k++) for (unsigned long i = 0; i < SIZE / 16; i += 4096) ((volatile char *)p)[i] = 1; }
int main(void)
{
	char *p = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, SIZE, MADV_NOHUGEPAGE);
	for (int i = 0; i < 20; i++) {
		fresh(p);
		again(p);
		madvise(p, SIZE, MADV_DONTNEED);
	}
	return 0;
}
END
gcc -O1 -Wl,--build-id -o faults faults.c
"$morph" record -q -F 2000 -o faults.samples -- ./faults
"$morph" record -q --clock faults -o faults.log -- ./faults
"$morph" dump --json faults.log | python3 -c 'import json, sys
j = json.load(sys.stdin); m = next(m for m in j["modules"] if m["path"].endswith("/faults"))
assert j["source"] == "page-faults" and 0.9 * 20 * 16384 <= m["samples"] < 1.02 * 20 * 16384 and max(c["count"] for c in m["counts"]) >= 0.9 * 20 * 16384, m["samples"]'

# Their ring holds them while the recorder waits for a CPU: here it is stopped for 30,000.
cat >waits.c <<'END'
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#define SIZE (30000ul << 12)
int main(void)
{
	char *p = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, SIZE, MADV_NOHUGEPAGE);
	kill(getppid(), SIGSTOP);
	for (unsigned long i = 0; i < SIZE; i += 4096) p[i] = 1;
	kill(getppid(), SIGCONT);
	return 0;
}
END
gcc -O1 -Wl,--build-id -o waits waits.c
"$morph" record -q --clock faults -o waits.log -- ./waits
"$morph" dump --json waits.log | python3 -c 'import json, sys
j = json.load(sys.stdin); m = next(m for m in j["modules"] if m["path"].endswith("/waits"))
assert m["samples"] >= 30000 and j["lost"]["ring_full"] == 0, (m["samples"], j["lost"])'
"$morph" annotate ./faults fresh -s faults.samples --json --count "fresh=20" | holds 'f["shares"].get("page-fault", {"least": 0})["least"] < 0.5'
"$morph" annotate ./faults fresh -s faults.samples --faults faults.log --json --count "fresh=20" | holds 'f["shares"]["page-fault"]["least"] > 0.8'
"$morph" annotate ./faults again -s faults.samples --faults faults.log --json | holds 'f["shares"].get("page-fault", {"most": 0})["most"] < 0.05'
refused 1 'holds no page faults' ./faults -s faults.samples --faults faults.samples
refused 1 'hold counts, not samples of a clock' ./faults -s faults.log
status=0
"$morph" profile ./faults faults.log -o faults.prof 2>err.txt || status=$?
[ $status = 1 ]

echo "names from a file do not reach the terminal as they are"
objcopy --redefine-sym main="$(printf 'ma\033[2Jin')" data hostile
"$morph" annotate ./hostile -s data.samples >hostile.txt
says 'ma\\x1b\[2Jin' <hostile.txt
! grep -q "$(printf '\033')" hostile.txt
