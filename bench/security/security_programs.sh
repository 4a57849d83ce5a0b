# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# security_programs.sh - the programs whose Morph data bench/security/security changes. Sourced after workload.sh, with MORPH_BIN set.
#
# A program is a directory with
#	program		as `morph cc` made it
#	profile		of a run of it
#	place		where in a run's directory it stands
#	files/		what else is in that directory
#	battery		commands, one a line, which a shell runs there: the usual ways through the program and the unusual ones
# What two files do is the same when all commands end with the same status, the same output, the same messages and the
# same files.

SECURITY_SOURCES=$MORPH_ROOT/tests/programs

# security_profile PLACE TRAINING: in a directory that is set up so far: run TRAINING, a shell command, in files/, and keep the profile
security_profile()
{
	printf '%s\n' "$1" >place
	mkdir -p "$(dirname "files/$1")"
	cp program "files/$1"
	(cd files && "$MORPH_BIN/morph" record -F 4000 -o ../samples -- sh -c "$2") >/dev/null 2>record.log ||
		die "$PWD: recording failed; see record.log"
	"$MORPH_BIN/morph" profile "files/$1" samples -o profile >/dev/null
	rm "files/$1" samples
}

security_vm()
{
	"$MORPH_BIN/morph" cc -O2 -o program "$SECURITY_SOURCES"/vm/{vm,main}.c
	mkdir files
	security_profile vm "./vm 2000000 4"
	cat >battery <<-'END'
		./vm 3000 2
		./vm
		./vm 1 1
		./vm 77 5
		./vm 12 0
		./vm -5 2
		./vm zero 3
		./vm 0 1
		./vm 9223372036854775807 0
		./vm 10 1 >&-
		./vm 10 1 >/dev/full
		(./vm 5 1; ./vm 6 1) | sort >both
	END
}

# A shared library, with the program that loads it; SECURITY_STRIPPED=1: folded and stripped
security_library()
{
	local file

	for file in library assembly; do
		"$MORPH_BIN/morph" cc -O2 -fPIC -c "$SECURITY_SOURCES/library/$file.c" -o $file.o
	done
	"$MORPH_BIN/morph" cc -shared -Wl,-soname,libit.so.1 -Wl,--version-script="$SECURITY_SOURCES/library/library.map" \
		-Wl,--gc-sections library.o assembly.o -o program
	cp program libit.so
	mkdir files
	# shellcheck disable=SC2016 # for the loader
	clang-22 -O2 "$SECURITY_SOURCES/library/main.c" -L. -lit -Wl,-rpath,'$ORIGIN' -o files/main
	security_profile libit.so.1 "./main 4000000"
	rm libit.so ./*.o
	cat >battery <<-'END'
		./main 5000
		./main
		./main 0
		./main 1
		./main 100000
		LD_BIND_NOW=1 ./main 12
		./main 3 >/dev/full
		LD_DEBUG=versions ./main 1 2>&1 | grep -c LIB_
	END
}

# C++: virtual calls, exceptions, thread-local objects, static initialization
security_shapes()
{
	"$MORPH_BIN/morph" c++ -O2 -fcf-protection -o program "$SECURITY_SOURCES"/shapes/{main,shapes}.cpp
	mkdir files
	security_profile shapes "./shapes 2000000"
	cat >battery <<-'END'
		./shapes 5000
		./shapes
		./shapes 0
		./shapes 17
		./shapes 20000 | cksum
		./shapes 5 >/dev/full
	END
}

security_gzip()
{
	security_workload gzip bin/gzip
	bench_input text 11 40000 >files/text
	bench_input records 13 20000 >files/records
	head -c 3000 /dev/zero >files/zeros
	: >files/empty
	gzip -n -c files/text >files/good.gz
	cat files/good.gz files/good.gz >files/two.gz
	head -c 2000 files/good.gz >files/short.gz
	(head -c 5000 files/good.gz; printf 'damage'; tail -c +5007 files/good.gz) >files/bad.gz
	printf '\037\235\220a\002\012\034' >files/lzw.Z
	printf '\037\036\000\000\000\004\001\001a\000' >files/packed.z
	security_profile bin/gzip "for i in 1 2 3 4 5 6 7 8; do bin/gzip -6 -n -c text records text records text >out; bin/gzip -d -c two.gz two.gz >out; done"
	rm files/out
	cat >battery <<-'END'
		bin/gzip -1 -n -c text
		bin/gzip -6 -n -c text records
		bin/gzip -9 -n -c records zeros empty
		bin/gzip -n text records && ls && bin/gzip -l -v text.gz records.gz | tail -n 3
		bin/gzip -d -c good.gz two.gz
		bin/gzip -t -v good.gz two.gz empty
		bin/gzip -t short.gz
		bin/gzip -d -c bad.gz
		bin/gzip -d -c lzw.Z
		bin/gzip -d -c packed.z
		bin/gzip -d -k good.gz; cksum good
		bin/gzip -n missing
		bin/gzip -n -S .x -k text; bin/gzip -t -S .x text.x
		mkdir d; cp text zeros d; bin/gzip -n -r d; find d | sort
		bin/gzip -n <records | bin/gzip -d | cmp - records
		bin/gzip -n -c --rsyncable text | cksum
		bin/gzip -d <zeros
		bin/gzip --no-such-option
		bin/gzip --help; bin/gzip --version; bin/gzip -L
		bin/gzip -n -c text >/dev/full
		bin/gzip -q -d -f -c <text | cmp - text
	END
}

security_lua5.4()
{
	security_workload lua5.4 bin/lua5.4
	cp "$MORPH_ROOT/bench/security/security_lua.lua" files/all.lua
	cp "$MORPH_ROOT/bench/programs/workloads/lua5.4/train.lua" files/
	security_profile bin/lua5.4 "bin/lua5.4 train.lua 40 >/dev/null"
	cat >battery <<-'END'
		bin/lua5.4 all.lua one two
		bin/lua5.4 -v
		bin/lua5.4 -e 'print(1 // 0.0, pcall(function() return 1 // 0 end))'
		bin/lua5.4 -e 'error({})'
		bin/lua5.4 -e 'local function f() error("deep") end f()'
		echo 'x = = 3' | bin/lua5.4 -
		echo 'return 6 * 7' | bin/lua5.4 -i
		bin/lua5.4 missing.lua
		bin/lua5.4 --bad
		bin/lua5.4 -e 'local t = {} for i = 1, 1e4 do t[i] = ("x"):rep(i % 50) end print(#table.concat(t)) collectgarbage() print(collectgarbage("count") < 4000)'
		bin/lua5.4 -e 'local s = string.rep("a", 100) print(pcall(string.rep, s, 1e10))'
		bin/lua5.4 -e 'print(pcall(load("local function f() return f() + 1 end f()")))' | cut -c 1-60
		bin/lua5.4 -l nothing 2>&1 | head -n 2
		bin/lua5.4 -W -e 'warn("@on") warn("a", "b") os.exit(7)'
		bin/lua5.4 train.lua 1 | cksum
	END
}

# security_workload NAME BINARY: one of bench/programs/workloads/, built with morph cc
security_workload()
{
	workload_load "$1"
	program_build "$1" build CC="$MORPH_BIN/morph cc" CXX="$MORPH_BIN/morph c++" CONFIG_SITE="$(config_site)" ||
		die "$1 does not build with morph cc; the log is $PWD/build/build.log"
	cp "build/prefix/$2" program
	rm -rf build
	mkdir files
}

# security_program NAME DIRECTORY: made anew when morph cc changed
security_program()
{
	outdated "$2" "$MORPH_BIN/morph-cc" "$MORPH_BIN/morph-ld"
	[[ ! -e $2/complete ]] || return 0
	say "making $1"
	rm -rf "${2:?}"/{files,build}
	(cd "$2" && "security_$1") || die "$1 could not be made in $2"
	touch "$2/complete"
}

# security_plants DIRECTORY: objects to slip into a link plan; what they do when they run is plain to see
security_plants()
{
	local i=0 source leave='__asm__ volatile("syscall" :: "a"(231), "D"(42)); __builtin_unreachable();'

	mkdir -p "$1"
	for source in \
		"__attribute__((constructor)) static void f(void) { $leave }" \
		"__attribute__((destructor)) static void f(void) { $leave }" \
		"static void f(void) { $leave } __attribute__((section(\".preinit_array\"), used)) static void (*p)(void) = f;" \
		"long write(int fd, const void *b, unsigned long n) { $leave }" \
		"int puts(const char *s) { $leave } int printf(const char *s, ...) { $leave }" \
		"void *malloc(unsigned long n) { return 0; }" \
		"void _start(void) { $leave }" \
		"__attribute__((section(\".init\"), naked, used)) static void f(void) { __asm__(\"mov \$231,%eax; mov \$42,%edi; syscall\"); }" \
		"__attribute__((section(\".fini\"), naked, used)) static void f(void) { __asm__(\"mov \$231,%eax; mov \$42,%edi; syscall\"); }" \
		"int main(void) { return 42; }" \
		"__attribute__((weak)) int main(void) { return 42; }" \
		"static int g(void) { return 1; } static void *f(void) { $leave } int strcmp(const char *, const char *) __attribute__((ifunc(\"f\")));" \
		"int planted; int *more = &planted;" \
		"_Thread_local int planted = 7; int f(void) { return planted; }" \
		"__attribute__((section(\".interp\"), used)) static const char name[] = \"/tmp/morph-planted\";" \
		"__attribute__((section(\".text\"), used)) static const char bytes[64] = \"planted\";" \
		"__asm__(\".section .note.GNU-stack,\\\"x\\\",@progbits\");" \
		"__asm__(\".section .rodata; .quad 0x5555\");" \
		"__asm__(\".globl abs_value; abs_value = 0x1234\");" \
		"void exit(int n) { $leave }" \
		"__attribute__((section(\".ctors\"), used)) static void *p = (void *)1;" \
		"__attribute__((section(\".eh_frame\"), used)) static const int bytes[8] = { 4, 0, 0, 0 };"; do
		printf '%s\n' "$source" | clang-22 -w -O1 -fPIC -ffreestanding -x c -c - -o "$1/$i.o" ||
			die "the compiler refuses a planted object: $source"
		i=$((i + 1))
	done
}
