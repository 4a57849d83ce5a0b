# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # bench/programs/workload.sh says what these are

workload_title="NASM, an assembler: no hot loop, a large instruction footprint"
workload_source=nasm
workload_binaries=(bin/nasm)

workload_build()
{
	./configure --prefix="$1"
	make -j "$JOBS" nasm
	install -D nasm "$1/bin/nasm"
}

# Training assembles one program to an ELF object; the test others, to other formats, with debug information and
# listings, and preprocesses one alone.
workload_script()
{
	local kind=$1 percent=$2 data=$3 seed options

	if [[ $kind == train ]]; then
		nasm_line 91 "-f elf64 -g"
		nasm_line 92 "-f bin -O1"
		return
	fi
	nasm_line 93 "-f elf64 -g -F dwarf -l out.lst" out.lst
	nasm_line 94 "-f macho64 -g"
	nasm_line 95 "-f win64 -O1 -l out.lst" out.lst
	nasm_line 96 "-E"
}

# nasm_line SEED OPTIONS [FILE]: what NASM makes of that program, and FILE, which it writes as well
nasm_line()
{
	local file=$data/$kind-$1-$percent.asm

	data_make "$file" nasm_program "$1" $((percent * NASM_LINES))
	printf '$RUN bin/nasm --reproducible %s -o out %s\ncksum out %s\n' "$2" "$file" "${3:-}"
}

NASM_LINES=300

# nasm_program SEED N: N pieces of assembly of many kinds, the same on every machine (which rand() of awk is not)
nasm_program()
{
	awk -v x="$1" -v n="$2" '
	function draw(m) { x = (x * 16807) % 2147483647; return int(x / 127) % m }
	function one(list, a) { return a[1 + draw(split(list, a, list ~ /;/ ? ";" : " "))] }
	function reg() { return one("rax rbx rcx rdx rsi rdi r8 r9 r10 r11 r14 r15") }
	function small() { return one("eax ebx ecx edx r8d r9d r12w bx cx dl r10b sil") }
	function memory() { return sprintf("[%s+%d*%s+K(%d)]", reg(), 2 ^ draw(4), reg(), draw(90)) }
	function vector(kind) { return kind draw(16) }
	BEGIN {
		for (x = x * 7919 % 2147483647; warm < 8; warm++) draw(2)
		print "bits 64\ndefault rel\nsection .text"
		print "%define K(v) ((v)*3+1)\n%define M(a,b) K(a)+(b<<2)"
		print "%macro move 2\n  mov %1, %2\n  add %1, K(4)\n%endmacro"
		print "%macro save 1-*\n%rep %0\n  push %1\n%rotate 1\n%endrep\n%endmacro"
		print "%macro when 3+\n%ifidni %1,%2\n  nop\n%elifnum %2\n  %3\n%else\n  xor eax, eax\n%endif\n%endmacro"
		print "%macro begin 0\n%push frame\n%assign %$size 0\n%endmacro\n%macro finish 0\n%$end:\n  lea rax, [%$end]\n%pop frame\n%endmacro"
		print "struc item\n.name: resb 16\n.next: resq 1\n.count: resd 2\nendstruc"
		for (i = 0; i < n; i++) {
			if (draw(3)) printf "label%d:\n", i; else printf "label%d: equ $-%d\n", i, draw(40)
			k = draw(24)
			if (k == 0) printf "  move %s, %d\n", reg(), draw(9999)
			else if (k == 1) printf "  %s %s, %s\n", one("add sub xor and or cmp mov adc imul sbb"), reg(), memory()
			else if (k == 2) printf "  j%s label%d\n", one("z nz c nc a be g le s np mp"), draw(n)
			else if (k == 3) printf "  v%s %s, %s, [%s]\n", one("addps subpd mulps minpd xorps pand paddd pmulld"), vector("ymm"), vector("ymm"), reg()
			else if (k == 4) printf "%%if K(%d) > 60\n  dq K(%d), label%d\n%%else\n  db \"text %d\", 0, `\\x41\\n`\n%%endif\n", draw(40), i, draw(n), i
			else if (k == 5) printf "%%assign turn 0\n%%rep %d\n  pxor xmm1, xmm%d\n  dd turn\n%%assign turn turn+1\n%%endrep\n", draw(5), draw(8)
			else if (k == 6) printf "  dd %d.%d, 0x1.%xp-3\n  dq %d.5e%d\n", draw(99), draw(999), draw(4096), draw(99), draw(20)
			else if (k == 7) printf "  istruc item\n    at item.name, db \"name%d\"\n    at item.count, dd %d, %d\n  iend\n", i, draw(99), draw(99)
			else if (k == 8) printf "  save %s, %s, %s\n", reg(), reg(), reg()
			else if (k == 9) printf "%%strcat both \"a%d\", \"b%d\"\n%%strlen length both\n%%substr part both 2,3\n  db length, part\n", i, draw(99)
			else if (k == 10) printf "  begin\n  %s %s, %d\n  finish\n", one("shl shr sar rol ror"), reg(), draw(31)
			else if (k == 11) printf ".local%d:\n  loop .local%d\n  times %d nop\n  align %d\n", i, i, draw(6), 2 ^ (1 + draw(5))
			else if (k == 12) printf "section %s\n  %s %d\nsection .text\n", one(".data .rodata"), one("db dw dd dq"), draw(120)
			else if (k == 13) printf "  v%s %s{k%d}%s, %s, %s\n", one("addps mulps maxps divps"), "zmm" draw(32), 1 + draw(7), draw(2) ? "{z}" : "", "zmm" draw(32), "zmm" draw(32)
			else if (k == 14) printf "  %s %s\n", one("inc dec neg not mul div"), small()
			else if (k == 15) printf "  %s st%d\n  %s qword %s\n", one("fadd fmul fsubr fxch fcomi"), draw(8), one("fld fstp fcom"), memory()
			else if (k == 16) printf "  when %s, %d, mov ecx, %d\n", reg(), draw(50), draw(5000)
			else if (k == 17) printf "%%ifndef name%d\n%%define name%d M(%d,%d)\n%%endif\n  mov eax, name%d\n", i % 300, i % 300, draw(9), draw(9), i % 300
			else if (k == 18) printf "  %s %s, %s\n", one("movaps addsd mulss pshufb punpcklbw pmaxub andnps"), vector("xmm"), vector("xmm")
			else if (k == 19) printf "  %s\n", one("rep movsb;repne scasb;lock inc dword [rdi];cqo;cdqe;cpuid;rdtsc;leave;pause;std")
			else if (k == 20) printf "  lea %s, [label%d+%d]\n", reg(), draw(n), draw(50)
			else if (k == 21) printf "  call label%d\n  mov %s, 0x%x%05x\n", draw(n), reg(), 1 + draw(60000), draw(99999)
			else if (k == 22) printf "%%xdefine chain%d label%d-label%d\n%%undef chain%d\n  test %s, 0%o\n", i, i, draw(i + 1), i, reg(), draw(4000)
			else printf "  %s %s, %s, %d\n", one("shld shrd imul"), reg(), reg(), draw(60)
		}
	}'
}
