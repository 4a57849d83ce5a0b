#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What installing does to a file's run path (DT_RUNPATH): cmake --install, chrpath, patchelf. What is installed is edited, and its
# generation looks for libraries where the installed file does, wherever the linked one did. Nothing else may differ.
set -uo pipefail
if [[ ${1:-} != inside ]]; then
	((EUID == 0)) || { echo "skipped: programs are installed in a /usr/local of the test's own, which needs root"; exit 77; }
	exec unshare --mount --propagation private bash "$0" inside
fi
. "$MORPH_SOURCE/tests/editor/work.sh"
. "$MORPH_SOURCE/tests/attack.sh"
mount -t tmpfs tmpfs /usr/local || fail "no /usr/local of its own"

# ---- a package with a library of its own, by CMake ----

mkdir source
cat >source/CMakeLists.txt <<'END_OF_FILE'
cmake_minimum_required(VERSION 3.20)
project(sums C)
option(IN_PLACE "looks beside itself" OFF)
if(IN_PLACE)
	set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
endif()
add_library(mix SHARED mix.c)
set_target_properties(mix PROPERTIES VERSION 1.0 SOVERSION 1)
add_executable(sums sums.c)
target_link_libraries(sums mix)
install(TARGETS mix sums)
END_OF_FILE
cat >source/mix.c <<'END_OF_FILE'
unsigned long mix(unsigned long sum, unsigned long i)
{
	return i % 7 ? sum * 31 + i : sum ^ (sum >> 11);
}
END_OF_FILE
cat >source/sums.c <<'END_OF_FILE'
#include <stdio.h>
#include <stdlib.h>
unsigned long mix(unsigned long sum, unsigned long i);
int main(int argc, char **argv)
{
	unsigned long sum = 1, n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;

	for (unsigned long i = 0; i < n; i++)
		sum = i % 3 ? mix(sum, i) : sum + i;
	return printf("%lu\n", sum) < 0;
}
END_OF_FILE

run_path()
{
	readelf -d "$1" | sed -nE 's/.*\((RUNPATH|RPATH)\).*\[(.*)\].*/\1=\2/p'
}

# build NAME CMAKE-OPTION...: installed in /usr/local/NAME
build()
{
	local name=$1

	shift
	CC=$(command -v morph-cc) cmake -S source -B "build-$name" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="/usr/local/$name" "$@" >log &&
		cmake --build "build-$name" >>log && cmake --install "build-$name" >>log || fail "$(tail log)"
	[[ $(run_path "build-$name/sums") == "RUNPATH=$work/build-$name"* ]] || fail "CMake gives no run path in the build tree"
}

profile_make()
{
	LD_LIBRARY_PATH=/usr/local/gone/lib morph record -F 4000 -o samples -- "/usr/local/$1/bin/sums" 60000000 >/dev/null 2>&1
	morph profile "/usr/local/$1/bin/sums" samples -o "$1.profile" >/dev/null || fail "no profile"
}

# edit NAME FILE: into ./new, what was said into ./said
edit()
{
	rm -f new report.json
	morph optimize "$2" --force --profile "$1.profile" -o new --report report.json >said 2>&1
}

# edited NAME WHAT RUN-PATH: /usr/local/NAME/bin/sums as it is now
edited()
{
	local program=/usr/local/$1/bin/sums

	echo "$2"
	[[ $(run_path "$program") == "$3" ]] || fail "$2: the run path is $(run_path "$program")"
	edit "$1" "$program" || fail "$2: $(cat said)"
	grep -q '"rebased": true' report.json && fail "$2: rebased"
	[[ $(run_path new) == "$3" ]] || fail "$2: that of the generation is $(run_path new)"
	cp new "$program.new"
	[[ $("$program" 12345) == "$expected" && $("$program.new" 12345) == "$expected" ]] || fail "$2: another output"
	rm "$program.new"
}

build gone
build moved -DIN_PLACE=ON
profile_make gone
profile_make moved
expected=$(build-gone/sums 12345)
export LD_LIBRARY_PATH=/usr/local/gone/lib
# The link finds what the machine has: the library that is found by no run path is where ldconfig would look.
mkdir -p /usr/local/lib
cp -P /usr/local/gone/lib/libmix.so* /usr/local/lib/
edited gone "cmake --install takes it away" ""
rm /usr/local/lib/libmix.so*
unset LD_LIBRARY_PATH
edited moved "cmake --install puts another into its place" 'RUNPATH=$ORIGIN/../lib'
program=/usr/local/moved/bin/sums
chrpath -r /usr/local/moved/lib "$program" >/dev/null
edited moved "chrpath -r" RUNPATH=/usr/local/moved/lib
patchelf --set-rpath '${ORIGIN}/../lib' "$program"
edited moved "patchelf --set-rpath" 'RUNPATH=${ORIGIN}/../lib'
cp "$program" kept
for tool in "chrpath -d" "patchelf --remove-rpath"; do
	cp kept "$program"
	cp -P /usr/local/moved/lib/libmix.so* /usr/local/lib/
	export LD_LIBRARY_PATH=/usr/local/lib
	$tool "$program"
	edited moved "$tool" ""
	unset LD_LIBRARY_PATH
	rm /usr/local/lib/libmix.so*
done
cp kept "$program"

# Meson moves the entries up, and leaves the value of the one that goes behind the end.
cp -P /usr/local/moved/lib/libmix.so* /usr/local/lib/
python3 - "$program" <<-'PYTHON'
	import re, struct, subprocess, sys
	data = bytearray(open(sys.argv[1], "rb").read())
	first, size = (int(x, 16) for x in re.search(r"\] \.dynamic +\S+ +\S+ (\S+) (\S+)", subprocess.check_output(["readelf", "-SW", sys.argv[1]], text=True)).groups())
	entries = [struct.unpack_from("<qQ", data, first + i) for i in range(0, size, 16)]
	gone = next(e for e in entries if e[0] == 29)
	entries.remove(gone)
	for i, entry in enumerate(entries + [(0, gone[1])]):
	    struct.pack_into("<qQ", data, first + 16 * i, *entry)
	open(sys.argv[1], "wb").write(data)
PYTHON
LD_LIBRARY_PATH=/usr/local/lib edited moved "meson install" ""
rm /usr/local/lib/libmix.so*
cp kept "$program"

# ---- and nothing else ----

# altered WHAT PYTHON: the installed file, with other bytes; `at(name)` is where a section is, `dynamic` all entries as (tag, value)
altered()
{
	cp "$program" altered
	python3 - altered "$linked" <<-PYTHON || fail "$1: cannot be made"
		import re, struct, subprocess, sys
		path = sys.argv[1]
		data = bytearray(open(path, "rb").read())
		sections = {m[1]: (int(m[2], 16), int(m[3], 16)) for m in re.finditer(
		    r"\] (\S+)\s+\S+\s+[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", subprocess.check_output(["readelf", "-SW", path], text=True))}
		def at(name): return sections[name][0]
		first, size = sections[".dynamic"]
		dynamic = [struct.unpack_from("<qQ", data, first + i) for i in range(0, size, 16)]
		def write(entries):
		    entries = (entries + [(0, 0)] * len(dynamic))[:len(dynamic)]
		    for i, entry in enumerate(entries): struct.pack_into("<qQ", data, first + 16 * i, *entry)
		index = {tag: i for i, (tag, _) in reversed(list(enumerate(dynamic)))}
		text, linked = at(".dynstr") + dict(dynamic)[29], int(sys.argv[2])
		$2
		open(path, "wb").write(data)
	PYTHON
	! cmp -s altered "$program" || fail "$1: nothing was altered"
}

# refused NAME PYTHON
refused()
{
	altered "$1" "$2"
	attack_held "run-path-$1" eval '! edit moved "$work/altered" && grep -qE "is not the program|is damaged" said'
}

cp -P /usr/local/moved/lib/libmix.so* /usr/local/lib/ # whatever is altered is compared
tag=RUNPATH=
linked=$(run_path build-moved/sums) # its bytes are the most that may differ
linked=${#linked}
linked=$((linked - ${#tag}))
refused another-library 'needed = at(".dynstr") + dict(dynamic)[1]; data[needed + 3] ^= 1'
refused name-beside-it 'data[text - 2] ^= 1'
refused entry-of-bind-now 'write([e for e in dynamic if e[0] != 0x6ffffffb and e[0] != 30])'
refused entry-more-than-it 'write([e for e in dynamic if e[0] not in (29, 1)])'
refused another-tag 'write([(15 if t == 29 else t, v) for t, v in dynamic])'
refused another-string 'write([(t, v + 1 if t == 29 else v) for t, v in dynamic])'
refused audit-in-its-place 'write([(0x6ffffefc if t == 29 else t, v) for t, v in dynamic])'
refused preload-behind-it 'write([e for e in dynamic if e[0] != 29 and e[0]] + [(0x6ffffefc, dict(dynamic)[29])])'
refused constructor-behind-it 'write([e for e in dynamic if e[0] != 29 and e[0]] + [(12, dict(dynamic)[5])])'
refused longer-than-it-was 'data[text:text + linked + 1] = b"/" * (linked + 1)'

# What the installed file says, its generation says; not what the linked one did.
altered another-directory 'data[text:text + 5] = b"/evil"'
attack_held run-path-generation-follows-the-installed eval 'edit moved "$work/altered" &&
	[[ $(run_path new) == "$(run_path altered)" && $(run_path new) == RUNPATH=/evil* ]]'

# A text that has two names is not the run path's alone.
printf 'int four(void) { return 4; }\n' >shared.c
morph cc -O2 -fPIC -shared shared.c -Wl,-rpath,libshared.so.1 -Wl,-soname,libshared.so.1 -o libshared.so
chrpath -r libshared.so.2 libshared.so >/dev/null
readelf -d libshared.so | grep -q 'SONAME.*libshared.so.2' || fail "the linker does not share texts: this attack is none"
attack_held run-path-renames-the-library eval '! "$MORPH_BIN/morph-edit" --check -- libshared.so 2>said && grep -q differs said'

attacks_end
