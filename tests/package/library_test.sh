#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A library from its source to a machine: libpng, built with one more line of Build-Depends, installed with its sidecar, sampled
# under a program that uses it, re-optimized by morphd; the program gives the same output, and its own test passes.

set -uo pipefail
if [[ ${1:-} != inside ]]; then
	((EUID == 0)) || { echo "skipped: a Debian root is made and entered, which needs root"; exit 77; }
	exec unshare --mount --propagation private bash "$0" inside
fi

# shellcheck source=tests/package/machine.sh
. "$MORPH_SOURCE/tests/package/machine.sh"

# A picture of 1200 x 900 pixels, no two rows alike, each with a filter of its own.
picture_write()
{
	python3 - "$1" <<-'PYTHON'
		import struct, sys, zlib
		width, height = 1200, 900
		rows = bytearray()
		for y in range(height):
		    rows.append(y % 5)
		    rows += bytes((x * y + (x ^ y) * 7 + x // 3) & 255 for x in range(3 * width))
		def chunk(kind, data):
		    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
		with open(sys.argv[1], "wb") as file:
		    file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
		               + chunk(b"tEXt", b"Title\0rows") + chunk(b"IDAT", zlib.compress(bytes(rows))) + chunk(b"IEND", b""))
	PYTHON
}

# Reads the picture with libpng, row by row, and says what it saw.
reader_write()
{
	cat >"$root/build/reader.c" <<-'C'
		#include <png.h>
		#include <stdio.h>
		#include <stdlib.h>

		static unsigned long picture_sum(const char *path)
		{
			FILE *in = fopen(path, "rb");
			png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
			png_infop info = png_create_info_struct(png);
			unsigned long sum = 1;

			if (!in || setjmp(png_jmpbuf(png)))
				exit(1);
			png_init_io(png, in);
			png_read_info(png, info);
			png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
			png_set_gray_to_rgb(png);
			png_set_swap_alpha(png);
			png_read_update_info(png, info);
			png_byte *row = malloc(png_get_rowbytes(png, info));
			for (unsigned y = 0; y < png_get_image_height(png, info); y++) {
				png_read_row(png, row, NULL);
				for (size_t i = 0; i < png_get_rowbytes(png, info); i += 61)
					sum = sum * 31 + row[i];
			}
			png_destroy_read_struct(&png, &info, NULL);
			free(row);
			fclose(in);
			return sum;
		}

		int main(int argc, char **argv)
		{
			unsigned long sum = 0;

			for (int i = 0; i < atoi(argv[2]); i++)
				sum = sum * 3 + picture_sum(argv[1]);
			return argc != 3 || printf("%lu\n", sum) < 0;
		}
	C
	must "compiling what uses it" root_run "$root" gcc -O2 /build/reader.c -o /usr/local/bin/reader -lpng16
}

step "a Debian root with Morph"
root_new "$work"
root_mounts "$root"
packages_take
must "installing Morph" install_packages morph morph-cli morph-backend dh-morph

step "building libpng1.6"
package_build libpng1.6 nocheck
grep -q 'dh_morph: libpng16-16: 1 of 1 programs and libraries carry IR' "$work/libpng1.6.log" || fail "$(grep dh_morph: "$work/libpng1.6.log")"
# What libtool linked once more when it was installed, and what clean will remove.
ls "$root"/build/libpng1.6/debian/.debhelper/morph-cache/morph-code-* >/dev/null 2>&1 || fail "nothing was kept for a second link"
for name in libpng16-16 libpng-tools; do
	[[ $(field $name-morph Depends) == "$name (= $(field $name Version))" ]] || fail "Depends of $name-morph: $(field $name-morph Depends)"
done
! ls "$root"/packages/libpng-dev-morph_* 2>/dev/null || fail "there is IR of what is only linked from"
ar p "$root/build/libpng1.6/debian/libpng-dev/usr/lib/x86_64-linux-gnu/libpng16.a" png.o >"$work/png.o"
! has_section "$work/png.o" .llvm.lto || fail "the static library carries IR"

# Three packages with the same program, of which the third is never there with the first.
step "a file in several packages"
mkdir -p "$root/build/pair/debian/source"
printf 'int main(int argc, char **argv) { return argc > 1 && argv[1][0] == 0; }\n' >"$root/build/pair/pair.c"
printf 'int main(int argc, char **argv) { return argc + argv[0][0]; }\n' >"$root/build/pair/own.c"
# Made where examples are, and installed, one without its symbols; of one the source is gone by then, one has another run path.
printf 'int main(void) { return 7; }\n' >"$root/build/pair/shown.c"
cat >"$root/build/pair/debian/control" <<-'END'
	Source: pair
	Maintainer: Nobody <nobody@example.org>
	Build-Depends: debhelper-compat (= 13), dh-sequence-morph
	Standards-Version: 4.6.2

	Package: pair-a
	Architecture: any
	Depends: ${shlibs:Depends}, ${misc:Depends}
	Description: a program

	Package: pair-b
	Architecture: any
	Depends: ${shlibs:Depends}, ${misc:Depends}
	Description: the same, and another

	Package: pair-c
	Architecture: any
	Conflicts: pair-a,
	 nobody-else
	Depends: ${shlibs:Depends}, ${misc:Depends}
	Description: the same, instead

	Package: libpair1
	Architecture: any
	Depends: ${shlibs:Depends}, ${misc:Depends}
	Description: a library of C++
END
# GCC makes both constructors of an abstract class, clang the one that somebody can call.
cat >"$root/build/pair/pair.cc" <<-'END'
	struct shape {
		shape(unsigned long size);
		virtual ~shape();
		virtual int area() const = 0;
		unsigned long size;
	};
	shape::shape(unsigned long size) : size(size) {}
	shape::~shape() {}
END
cat >"$root/build/pair/debian/libpair1.symbols" <<-'END'
	libpair.so.1 libpair1 #MINVER#
	 (optional)_ZN5shape4goneEv@Base 0
	 (c++)"vtable for gone@Base" 0
	 _ZN5shapeC1Em@Base 0
	 _ZN5shapeC2Em@Base 0
	 _ZN5shapeD0Ev@Base 0
	 _ZN5shapeD1Ev@Base 0
	 _ZN5shapeD2Ev@Base 0
	 _ZTI5shape@Base 0
	 _ZTS5shape@Base 0
	 _ZTV5shape@Base 0
END
cat >"$root/build/pair/debian/rules" <<-'END'
	#!/usr/bin/make -f
	.RECIPEPREFIX = >
	%:
	> dh $@
	override_dh_auto_build:
	> gcc -O2 pair.c -o pair && gcc -O2 own.c -o own
	> mkdir -p examples && gcc -O2 shown.c -o examples/shown
	> gcc -O2 shown.c -Wl,-rpath,/nowhere/one -o examples/led
	> (cat shown.c && echo 'int more;') >lost.c && gcc -O2 lost.c -o examples/lost && rm lost.c
	> g++ -O2 -fPIC -shared -Wl,-soname,libpair.so.1 pair.cc -o libpair.so.1
	override_dh_auto_install:
	> install -D pair debian/pair-a/usr/bin/pair
	> install -D pair debian/pair-b/usr/lib/pair/pair && install -D own debian/pair-b/usr/bin/own
	> install -D -s -m 750 examples/shown debian/pair-b/usr/bin/shown && install examples/lost examples/led debian/pair-b/usr/bin/
	> sed -i s,/nowhere/one,/nowhere/two, debian/pair-b/usr/bin/led
	> ln debian/pair-b/usr/bin/shown debian/pair-b/usr/bin/shown-too
	> install -D pair debian/pair-c/usr/bin/pair
	> install -D -m 644 libpair.so.1 debian/libpair1/usr/lib/libpair.so.1
END
chmod 755 "$root/build/pair/debian/rules"
echo '3.0 (native)' >"$root/build/pair/debian/source/format"
printf 'pair (1) unstable; urgency=low\n\n  * New.\n\n -- Nobody <nobody@example.org>  Thu, 01 Jan 2026 00:00:00 +0000\n' >"$root/build/pair/debian/changelog"
must "building pair" root_run "$root" sh -c "cd /build/pair && dpkg-buildpackage -us -uc -b"
grep -q 'pair-b: IR of files that others have, too, is in pair-a-morph' "$work/log" || fail "dh_morph says $(grep dh_morph: "$work/log")"
grep -q 'dh_morph_symbols: libpair1: 2 symbols that only GCC makes are missing' "$work/log" || fail "$(grep dh_morph_symbols "$work/log")"
grep -q 'pair-b/usr/bin/lost: cannot be linked once more' "$work/log" || fail "dh_morph says $(grep dh_morph: "$work/log")"
grep -q 'pair-b/usr/bin/led: was changed after its link' "$work/log" || fail "dh_morph says $(grep dh_morph: "$work/log")"
readelf -d "$root/build/pair/debian/pair-b/usr/bin/led" | grep -q 'RUNPATH.*/nowhere/two' || fail "a program linked once more has another run path"
[[ $(stat -c '%a %h' "$root/build/pair/debian/pair-b/usr/bin/shown") == "755 2" ]] || fail "a program linked once more has other names or rights"
cp "$root"/build/pair*.deb "$root/packages/"
[[ $(field pair-a-morph Depends) == "pair-a (= 1)" ]] || fail "Depends of pair-a-morph: $(field pair-a-morph Depends)"
[[ $(field pair-b-morph Depends) == "pair-b (= 1), pair-a-morph (= 1)" ]] || fail "Depends of pair-b-morph: $(field pair-b-morph Depends)"
[[ $(field pair-c-morph Depends) == "pair-c (= 1)" ]] || fail "Depends of pair-c-morph: $(field pair-c-morph Depends)"
must "installing packages with the same file" install_packages pair-b pair-b-morph pair-a pair-a-morph
for file in /usr/bin/pair /usr/lib/pair/pair /usr/bin/own /usr/bin/shown-too; do
	[[ $(root_run "$root" morph inspect --json $file | jq .functions) -ge 1 ]] || fail "what $file carries is not found"
done
root_run "$root" /usr/bin/shown
(($? == 7)) || fail "a program linked once more does something else"
must "installing what is there instead" root_run "$root" sh -c \
	'apt-get -qq -y install /packages/pair-c_*.deb /packages/pair-c-morph_*.deb pair-a- pair-a-morph- pair-b-morph-'
[[ $(root_run "$root" morph inspect --json /usr/bin/pair | jq .functions) -ge 1 ]] || fail "what the other /usr/bin/pair carries is not found"

step "symbols that somebody needs"
refuses() { ! root_run "$root" sh -c "cd /build/pair && $1 dpkg-buildpackage -us -uc -b" >"$work/refused" 2>&1 || fail "it builds: $1"; }
refuses DPKG_GENSYMBOLS_CHECK_LEVEL=1 # as it would without Morph
grep -q 'dh_makeshlibs: error' "$work/refused" || fail "it says $(tail -3 "$work/refused")"
for name in _ZN5shape4areaEv gone 'shape::gone(int, int)'; do
	line=" $name@Base 0"
	[[ $name != *\(* ]] || line=" (c++)\"$name@Base\" 0"
	sed -i "2i\\$line" "$root/build/pair/debian/libpair1.symbols"
	refuses ""
	grep -qF "libpair1: no library has $name" "$work/refused" || fail "it says $(tail -3 "$work/refused")"
	sed -i 2d "$root/build/pair/debian/libpair1.symbols"
done

step "installing it, and a program that uses it"
must "installing libpng" install_packages libpng16-16 libpng16-16-morph libpng-dev libpng-tools libpng-tools-morph
reader_write
picture_write "$root/build/picture.png"
library=$(root_run "$root" readlink -f /usr/lib/x86_64-linux-gnu/libpng16.so.16)
[[ $(root_run "$root" morph inspect --json "$library" | jq .functions) -gt 200 ]] || fail "what $library carries is not found"
expected=$(root_run "$root" pngfix -o /build/picture.png)

step "sampling it, optimizing it"
reoptimize "$library" /usr/local/bin/reader /build/picture.png 12
[[ $(root_run "$root" pngfix -o /build/picture.png) == "$expected" ]] || fail "pngfix says something else"
said=$(root_run "$root" morph verify --json "$library" 2>&1) || fail "morph verify: $said"

step "the library's own test, with the new generation"
must "pngstest" root_run "$root" sh -c "cd /build/libpng1.6 && gcc -O1 -I. contrib/libtests/pngvalid.c -o /build/pngvalid -lpng16 -lz -lm &&
	/build/pngvalid --progressive-read --standard"

step "removing"
must "apt-get remove" root_run "$root" apt-get -qq -y remove morph
cmp "$root$library" "$work/shipped" || fail "the library is not as it was shipped"
step "done"
exit $failed
