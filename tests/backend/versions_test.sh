# SPDX-License-Identifier: Apache-2.0
# What a distribution's tools expect of the linker and of debug information.
. "$MORPH_SOURCE/tests/backend/common.sh"

case_of "version scripts with names of nothing, as GNU ld takes them"
printf 'int one(int x) { return x * 3; }\nint two(int x) { return one(x) + 1; }\n' >v.c
cat >v.map <<'END'
/* { not: a; node } */ # nor is "this {"
L_1 { global: one; gone; extern "C++" { ns::f*; "g{()" }; local: *; };
L_1.2 { global: two; } L_1;
END
must morph cc -O2 -fPIC -shared -Wl,-soname,libv.so.1 v.c -Wl,--version-script=v.map -o libv.so && carries libv.so
must_not morph cc -O2 -fPIC -shared v.c -Wl,--version-script=v.map,--no-undefined-version -o strict.so
said "symbol not defined"

case_of "the symbols of the versions themselves, as GNU ld makes them"
symbols() { readelf --dyn-syms -W "$1" | awk '$5 == "GLOBAL" && $7 != "UND" { sub("@@?.*", "", $8); print $4, $7 == "ABS" ? $7 : "here", $8 }' | sort; }
must gcc -O2 -fPIC -shared -Wl,-soname,libv.so.1 v.c -Wl,--version-script=v.map -o gnu.so
same "$(symbols libv.so)" "$(symbols gnu.so)" "exported symbols"
relinks libv.so
same "$(symbols relink/out)" "$(symbols gnu.so)" "exported symbols of the relink"
must morph optimize --check libv.so
if command -v dpkg-gensymbols >/dev/null; then
	mkdir -p debian tree/DEBIAN tree/usr/lib
	printf 'Source: v\n\nPackage: libv1\nArchitecture: any\n' >debian/control
	for lib in gnu.so libv.so; do
		cp $lib tree/usr/lib/libv.so.1
		dpkg-gensymbols -v1 -plibv1 -Ptree -Odebian/$lib.symbols >out.log 2>&1 || fail "dpkg-gensymbols $lib: $(tail -1 out.log)"
	done
	grep -q '^ L_1.2@L_1.2 1' debian/gnu.so.symbols || fail "GNU ld makes no symbols of versions: nothing is tested"
	same "$(cat debian/libv.so.symbols)" "$(cat debian/gnu.so.symbols)" "symbols files"
else
	echo "  (dpkg-gensymbols is not installed: symbols files are not compared)"
fi

case_of "one function by one name in two versions, called by another file before others are"
cat >first.c <<'END'
long twice(long), after(long);
long first(long x) { return twice(x) + after(x); }
END
cat >twice.c <<'END'
long abs_of(long);
__attribute__((visibility("default"))) long twice_1(long x) { return 2 * abs_of(x); }
__attribute__((visibility("default"))) long twice_2(long x) __attribute__((alias("twice_1")));
__asm__(".symver twice_2,twice@@W_2\n.symver twice_1,twice@W_1");
END
printf 'long labs(long);\nlong rand_of(void);\nlong random(void);\nlong after(long x) { return x ^ random(); }\n' >after.c
printf 'long random(void);\nlong lrand48(void);\nlong abs_of(long x) { return x < 0 ? lrand48() : x; }\n' >abs_of.c
echo 'W_1 { global: twice; first; local: *; }; W_2 { global: twice; } W_1;' >w.map
for order in "first.c twice.c after.c abs_of.c" "twice.c after.c abs_of.c first.c" "after.c abs_of.c twice.c first.c"; do
	# shellcheck disable=SC2086 # words
	must morph cc -O2 -fPIC -shared $order -Wl,--version-script=w.map -o libw.so && carries libw.so
	same "$(readelf --dyn-syms -W libw.so | grep -cE ' twice@@W_2| twice@W_1')" 2 "versions of twice"
	must morph optimize --check libw.so
done

case_of "debug information that the distribution's tools read: DWARF 4 unless told otherwise"
dwarf() { readelf --debug-dump=info "$1" 2>/dev/null | sed -n 's/^ *Version: *//p' | sort -u | paste -sd' '; }
must morph cc -O2 -g -c main.c b.c c.c && same "$(dwarf b.o)" 4 "an object"
must morph cc -O2 main.o b.o c.o -o m && same "$(dwarf m)" 4 "a program"
must morph cc -O2 -gdwarf-5 -c b.c -o five.o && same "$(dwarf five.o)" 5 "-gdwarf-5"
must morph cc -O2 -fdebug-default-version=5 -g -c b.c -o five.o && same "$(dwarf five.o)" 5 "-fdebug-default-version=5"
must morph cc -O2 -g -fno-lto -c b.c -o plain.o && same "$(dwarf plain.o)" 4 "without LTO"
must morph cc -O2 -c b.c -o none.o && same "$(dwarf none.o)" "" "without -g"
if command -v dwz >/dev/null; then
	must dwz m && same "$(./m)" 4 "after dwz" && carries m
	must morph optimize --check m
else
	echo "  (dwz is not installed: it is not tried)"
fi
end
