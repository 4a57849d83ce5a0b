# SPDX-License-Identifier: Apache-2.0
# The same objects, linked again: the same bytes, wherever the linker's memory, its threads and its directory are.
. "$MORPH_SOURCE/tests/backend/common.sh"
LINKS=50

# Functions with blocks enough that a hash table of their addresses has an order of its own each time.
source_make() {
	echo '#include <stdio.h>'
	echo 'extern int volatile state;'
	for ((i = 0; i < 6; i++)); do
		echo "__attribute__((noinline)) int ${1}_$i(const char *s, int n) {"
		echo "	int sum = $i;"
		echo "	for (int k = 0; k < n && s[k]; k++) switch (s[k]) {"
		for ((c = 0; c < 10; c++)); do
			echo "	case 'a' + $c: sum += state * $((c + i + 3)); if (sum & $((1 << c % 6))) putchar(sum); else state ^= sum; break;"
		done
		echo "	default: sum ^= k; }"
		echo "	return sum;"
		echo "}"
	done
}
source_make one >one.c
source_make two >two.c
cat >in.c <<'END'
int volatile state = 1;
int one_3(const char *, int);
int two_5(const char *, int);
int main(int n, char **v) { return n > 5 ? one_3(v[1], n) + two_5(v[0], n) : 0; }
END
cat >early.cc <<'END'
#include <cstdlib>
#include <string>
static std::string a(std::getenv("HOME") ? "a" : "b"), b(std::getenv("PATH") ? "a" : "b");
int early() { return a == b; }
END
objects() { must morph cc -O2 "$@" -fPIC -c one.c two.c in.c && must morph c++ -O2 "$@" -fPIC -c early.cc; }

# links OUTPUT ARGUMENT...: how many different files 50 links make
links() {
	local out=$1 i where fixed
	shift
	for ((i = 0; i < LINKS; i++)); do
		where=$(printf '%s/%0*d' "$scratch" $((i % 7 * 9 + 1)) 7)
		mkdir -p "$where" && cp -- *.o "$where"
		fixed=; ((i % 3)) || fixed="setarch -R"
		(cd "$where" && env FILL="$(printf "%0$((i * 977 % 9000))d" 0)" $fixed \
			morph c++ "$@" -Wl,--threads=$((i % 4 + 1)),--thinlto-jobs=$((i % 3 + 1)) -o "$out" &&
			sha256sum "$out") 2>links.log || { fail "link $i: $(tail -1 links.log)"; return; }
		rm -rf "$where"
	done | sort | uniq -c >sums.log
	wc -l <sums.log
}

case_of "a shared library with debug information and a program without, $LINKS times each"
objects -g
same "$(links libboth.so -shared -Wl,--build-id one.o two.o early.o -Wl,--unresolved-symbols=ignore-all)" 1 "different libraries"
objects
same "$(links both -pie one.o two.o in.o early.o)" 1 "different programs"

case_of "full LTO"
must morph cc -O2 -flto=full -fPIC -c one.c two.c in.c
LINKS=10
same "$(links full -pie -flto=full one.o two.o in.o)" 1 "different programs"
end
