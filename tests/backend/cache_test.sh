# SPDX-License-Identifier: Apache-2.0
# What was linked and verified once is cheap the second time, and a cache never makes a difference, whatever is in it.
. "$MORPH_SOURCE/tests/backend/common.sh"
. "$MORPH_SOURCE/tests/attack.sh"
export MORPH_REPORT=$scratch/report
unset MORPH_LINK_CACHE
printf '__attribute__((noinline)) int odd(int x) { return x * 7; }\n' >odd.c
printf 'int odd(int); int c(int); int main(int n, char **v) { (void)v; return c(n) + odd(n) - 11; }\n' >in.c
must morph cc -O2 -fno-inline -c in.c b.c c.c
must morph cc -O2 -g -fno-inline -c odd.c
# link OUT: as a package is linked. The build's report has one line of it.
link() { rm -f "$MORPH_REPORT"; must morph cc -O2 --morph-verify in.o b.o c.o odd.o -o "$1"; }
verified() { same "$(cat "$MORPH_REPORT")" "verified	$1	what it carries regenerates" "the report"; }
code() { ls cache/morph-code-*; }
# Which files there are, and which ones: what is made anew has another inode.
files() { find cache -name "$1" -printf '%f %i\n' | sort; }

case_of "a link has the same bytes without a cache, with an empty one, and with a full one"
link plain && verified plain
export MORPH_LINK_CACHE=$PWD/cache
link cold && verified cold && must cmp cold plain
same "$(code | wc -l)" 4 "modules whose code is kept"
same "$(files 'llvmcache-*' | wc -l)" 4 "modules that the linker keeps"
same "$(stat -c %a cache)" 700 "who may look into the cache"
before=$(files '*-*')
link warm && verified warm && must cmp warm plain
same "$(files '*-*')" "$before" "files of the cache after a second link"

case_of "another program of the same modules makes only what is its own"
printf 'int c(int); int main(int n, char **v) { (void)v; return c(n) - 4; }\n' >other.c
must morph cc -O2 -fno-inline -c other.c
must morph cc -O2 --morph-verify other.o b.o c.o -o other && carries other
same "$(code | wc -l)" 5 "modules whose code is kept"

case_of "many links at once"
rm -r cache
for i in 1 2 3 4; do morph cc -O2 --morph-verify in.o b.o c.o odd.o -o many$i >many$i.log 2>&1 & done
wait
for i in 1 2 3 4; do must cmp many$i plain; done
same "$(find cache -name '*.*' ! -name llvmcache.timestamp | wc -l)" 0 "files that are left half-way"
link warm && must cmp warm plain

case_of "who is killed while he fills it does no harm"
n_killed=0
for n_files in 1 2 3 4 5 6; do
	rm -r cache && mkdir -m 700 cache
	setsid morph cc -O2 --morph-verify in.o b.o c.o odd.o -o killed >killed.log 2>&1 &
	link=$!
	until [ "$(find cache -type f | wc -l)" -ge $n_files ] || ! kill -0 $link 2>/dev/null; do :; done
	kill -KILL -- -$link 2>/dev/null
	wait $link 2>/dev/null
	[ $? = 137 ] && ((++n_killed))
	link made && verified made && must cmp made plain
	same "$(code | wc -l)" 4 "modules whose code is kept"
done
[ $n_killed -ge 3 ] || fail "only $n_killed of 6 were killed"

case_of "a cache that is damaged is made anew"
# harmless: with this cache the link has the same bytes, and all of its files are good afterwards
harmless()
{
	link made && verified made && cmp made plain && link made && cmp made plain || return 1
	for file in cache/morph-code-*; do cmp -s "$file" "good/${file#cache/}" || return 1; done
	return 0
}
rm -r cache && link made && cp -r cache good
# damage GLOB COMMAND...: to each of those files
damage() { for file in cache/$1; do "${@:2}" "$file"; done; }
flip() { printf '\377\377' | dd of="$1" bs=1 seek=$(($(stat -c %s "$1") / 2)) conv=notrunc status=none; }
foreign() { cp "$MORPH_BIN/morph-ld" "$1"; }
directory() { rm "$1" && mkdir "$1"; }
link_away() { mv "$1" "away-${1##*/}" && ln -s "$PWD/away-${1##*/}" "$1"; }
# Of machine code: other instructions in place of the same number.
code_change() { python3 - "$1" <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.find(b"\x8d\x04\x7f") if b"\x8d\x04\x7f" in data else data.find(b"\xc3")
data[at] ^= 1
open(sys.argv[1], "wb").write(data)
END
}
for glob in 'morph-code-*' 'llvmcache-*' 'morph-sum-*'; do
	for how in 'truncate -s0' 'truncate -s-1' flip foreign link_away code_change; do
		case $glob$how in 'morph-code-*code_change' | 'morph-sum-*code_change') continue ;; esac
		# shellcheck disable=SC2086 # command and option
		damage "$glob" $how
		attack_held "cache-${glob%-\*}-${how// /}" harmless
		rm -rf cache && cp -r good cache
	done
done
damage 'morph-code-*' directory
link made && verified made && must cmp made plain
rm -rf cache && cp -r good cache

case_of "code of another module under the right name and key"
for target in cache/morph-code-*; do
	for from in good/morph-code-*; do
		[ "${from##*/}" != "${target##*/}" ] || continue
		must python3 "$MORPH_SOURCE/tests/backend/code_entry.py" "$from" "$target"
		attack_held cache-with-other-code-for-a-good-file harmless
		break
	done
done

case_of "what does not regenerate is found with a full cache as with none"
# A linker whose code of odd() is not what its IR makes.
odd_linker
export MORPH_LLVM_DIR=$PWD/llvm
found() { says "^module	$1	.*odd.o.*: odd" <"$MORPH_REPORT" && says "^verified	$1	" <"$MORPH_REPORT" && carries "$1"; }
MORPH_LINK_CACHE= link spoilt-plain && found spoilt-plain || fail "it is not found without a cache"
before=$(files 'morph-code-*')
link spoilt && found spoilt || fail "it is not found with a full one"
must cmp spoilt spoilt-plain
link spoilt && found spoilt && must cmp spoilt spoilt-plain
same "$(files 'morph-code-*' | grep -cFf <(echo "$before"))" 3 "modules whose code was not made anew"

case_of "a cache whose code is as wrong as the file convinces its owner, and nobody else"
MORPH_VERIFY=0 must morph cc -O2 in.o b.o c.o odd.o -o wrong
unset MORPH_LLVM_DIR
must_not morph optimize --check wrong && said "functions do not regenerate, the first is odd"
rm -rf cache && must_not morph optimize --check --code-cache cache wrong && said "the first is odd"
chmod 777 cache
must_not morph optimize --check --code-cache cache wrong && said "cache: others may write to it"
chmod 700 cache
# The code that odd() has in the file, for the bitcode that it has there.
for file in cache/morph-code-*; do
	must python3 "$MORPH_SOURCE/tests/backend/code_entry.py" --nop-odd "$file"
done
must morph optimize --check --code-cache cache wrong
refuses() { ! morph optimize --check wrong >out.log 2>&1 && said "the first is odd"; }
attack_held cache-that-agrees-with-a-wrong-file refuses

case_of "a cache into which others may write is not used"
refused() { link made && verified made && cmp made plain && says 'MORPH_LINK_CACHE is not used' <out.log && [ "$(ls "$MORPH_LINK_CACHE")" = "$1" ]; }
mkdir -m 777 open && touch open/mark
MORPH_LINK_CACHE=$PWD/open attack_held cache-that-others-may-write refused mark
ln -s good led
MORPH_LINK_CACHE=$PWD/led attack_held cache-that-is-a-link refused "$(ls good)"
if [ "$(id -u)" = 0 ]; then
	mkdir -m 700 theirs && chown 65534 theirs
	MORPH_LINK_CACHE=$PWD/theirs attack_held cache-of-another-user refused ""
fi

case_of "it stays small enough"
rm -rf cache && link made
truncate -s 1G cache/morph-code-old && touch -d 2020-01-01 cache/morph-code-old
sed -i 's/x \* 7/(x ^ 1) * 7/' odd.c && must morph cc -O2 -g -fno-inline -c odd.c
link made && [ ! -e cache/morph-code-old ] || fail "the oldest file is still there"
[ "$(code | wc -l)" -ge 5 ] || fail "newer files are gone"

case_of "what others need not know"
must_not morph optimize m --profile m.prof -o n --code-cache cache && said usage:
attacks_end || failures=$((failures + 1))
end
