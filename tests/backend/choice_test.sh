# SPDX-License-Identifier: Apache-2.0
# Which links are Morph's, and what a cache saves.
. "$MORPH_SOURCE/tests/backend/common.sh"
must morph cc -O2 -c main.c b.c c.c
mkdir -p test/unit && export MORPH_REPORT=$scratch/report
link() { must morph cc -O2 main.o b.o c.o -o "$1" && same "$(./"$1")" 4 "$1"; }

case_of "patterns of outputs that need none"
for pattern in "m" "*/test/*" "nothing:m*:other" "$scratch/m" "./m:$PWD/[m]"; do
	rm -f m test/m
	MORPH_SKIP=$pattern link m
	case $pattern in '*/test/*') carries m ;; *) carries_nothing m ;; esac
done
MORPH_SKIP='*/test/*' link test/unit/m && carries_nothing test/unit/m
grep -q "^plain	test/unit/m	MORPH_SKIP" "$MORPH_REPORT" || fail "a plain link is not reported"
MORPH_SKIP='test*' link m && carries m
MORPH_SKIP= MORPH_ONLY= MORPH_LINK= link m && carries m

case_of "what debhelper's sequence skips: below the sources, wherever they lie"
sequence='sub insert_before {} sub insert_after {} require "$ENV{MORPH_SOURCE}/packaging/dh/morph.pm"; print $ENV{MORPH_SKIP_PROGRAMS}'
mkdir -p 'test/pkg[1]/gnulib-tests' 'test/pkg[1]/src/t' && cp main.o b.o c.o 'test/pkg[1]' && cd 'test/pkg[1]' || exit 1
skip=$(env -u MORPH_SKIP_PROGRAMS perl -e "$sequence") || fail "morph.pm ends"
MORPH_SKIP_PROGRAMS=$skip link prog && carries prog
mkdir -p src/deep
for out in gnulib-tests/prog src/t/prog arena_test src/deep/db_benchmark; do
	MORPH_SKIP_PROGRAMS=$skip link $out && carries_nothing $out
done
# A module is installed more often than not, wherever it is made: bash's builtins are examples/loadables.
MORPH_SKIP_PROGRAMS=$skip must morph cc -O2 -fPIC -shared ../../b.c -o src/t/module && carries src/t/module
MORPH_SKIP=$skip must morph cc -O2 -fPIC -shared ../../b.c -o src/t/module && carries_nothing src/t/module
same "$(perl -e "$sequence, ' ', \$ENV{MORPH_LINK_CACHE}" | sed 's/.* //')" "$PWD/debian/.debhelper/morph-cache" "the cache of a package's links"
same "$(MORPH_LINK_CACHE=/mine perl -e "$sequence, ' ', \$ENV{MORPH_LINK_CACHE}" | sed 's/.* //')" /mine "the caller's own"
cd - >/dev/null || exit 1

case_of "what is skipped, but installed after all, is linked once more"
# By the compiler's own name and by GCC's, from objects and from sources: the record finds what was made.
again() { MORPH_SKIP_PROGRAMS='*' morph-cc --morph-relink="$1" "$2" >again.log 2>&1; }
objects='../main.o ../b.o ../c.o'
for way in "morph-cc" "$PWD/names/gcc" "morph-cc ../main.c"; do
	rm -rf links names installed test/program test/wanted && mkdir names && ln -s "$(command -v morph-cc)" names/gcc
	read -r compiler source <<<"$way"
	cd test || exit 1
	# shellcheck disable=SC2086 # words
	PATH=$scratch/names:$PATH MORPH_LINKS=$scratch/links MORPH_SKIP_PROGRAMS='*/test/*' \
		must "$compiler" -O2 ${source:-../main.o} ${objects#* } -o program && carries_nothing program
	# shellcheck disable=SC2086 # words
	PATH=$scratch/names:$PATH must "$compiler" -O2 ${source:-../main.o} ${objects#* } -o wanted && carries wanted
	cd - >/dev/null || exit 1
	same "$(find links -type f | wc -l)" 1 "$way: records"
	mv test/program installed && must strip installed # as dwz, it makes other bytes
	record=links/$(readelf -n installed | sed -n 's/.*Build ID: //p')
	again "$record" "$scratch/installed" || fail "$way: $(cat again.log)"
	carries installed && must cmp installed test/wanted
done
# Without a build ID, and with one that may be that of several programs.
for id in none 0x0123456789abcdef; do
	MORPH_LINKS=$scratch/no-id MORPH_SKIP_PROGRAMS=m must morph cc -O2 main.o b.o c.o -Wl,--build-id=$id -o m && carries_nothing m
	again "no-id/$(sha256sum m | cut -d ' ' -f 1)" "$scratch/m" || fail "--build-id=$id: $(cat again.log)"
done
MORPH_LINKS=$scratch/links MORPH_SKIP=m link m && carries_nothing m
MORPH_SKIP_PROGRAMS=m link m && same "$(find links -type f | wc -l)" 1 "records: of guesses, where they are wanted"
MORPH_LINKS=$scratch/links MORPH_SKIP_PROGRAMS=m must_not morph cc -O2 main.o missing.o -o m && same "$(find links -type f | wc -l)" 1 "records of what failed"
MORPH_LINKS=/dev/null/links MORPH_SKIP_PROGRAMS=m link m && carries_nothing m
head -c 10 "$record" >cut && head -c -1 "$record" >open
for bad in /dev/null main.c cut open missing; do
	again "$bad" "$scratch/out" && fail "$bad was linked"
	[ ! -e out ] && grep -q "$bad" again.log || fail "$bad: said $(cat again.log)"
done
again "$record" out && fail "a relative output was linked"
grep -q absolute again.log || fail "a relative output: $(cat again.log)"
mv b.o moved.o && again "$record" "$scratch/out" && fail "linked without an input"
[ ! -e out ] && grep -q 'b\.o' again.log || fail "an input is missing: $(cat again.log)"
mv moved.o b.o

case_of "only some, or none"
MORPH_ONLY='m:lib*' link m && carries m
MORPH_ONLY='lib*' link m && carries_nothing m
MORPH_LINK=plain link m && carries_nothing m
MORPH_LINK=plain MORPH_ONLY=m link m && carries m
MORPH_LINK=morph link m && carries m
MORPH_LINK=plain MORPH_SKIP=m MORPH_ONLY=m link m && carries_nothing m
MORPH_LINK=plain must morph cc -O2 main.c b.c c.c -o m && carries_nothing m && same "$(./m)" 4 "sources"
MORPH_LINK=plain must morph cc -O2 -c b.c -o ir.o && readelf -SW ir.o | says llvm.lto || fail "objects without IR"
MORPH_LINK=plain must morph cc -O2 -flto=thin main.c b.c c.c -o m && carries_nothing m && same "$(./m)" 4 "the caller's own LTO"

case_of "the cache of ThinLTO"
link first
export MORPH_LINK_CACHE=$PWD/cache
link m && must cmp m first
n=$(find cache -name 'llvmcache-*' | wc -l)
same "$n" 3 "modules in the cache"
link m && must cmp m first
same "$(find cache -name 'llvmcache-*' | wc -l)" 3 "modules in the cache after another link"
must "$LLVM/clang" -O2 -flto=thin -fuse-ld=lld --ld-path="$LLVM/ld.lld" -Wl,--thinlto-cache-dir="$PWD/cache" \
	-Wl,--fat-lto-objects main.o b.o c.o -o other
link m && must cmp m first # what others put there is not ours
must morph cc -O2 main.o b.o c.o -Wl,--thinlto-cache-dir="$PWD/mine" -o m && carries m
same "$(find mine -name 'llvmcache-*' | wc -l)" 3 "modules in the caller's cache"
relinks m
end
