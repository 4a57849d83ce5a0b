#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Text heat in the page of morph report --html: a program whose hot functions lie apart, and the generation in which they lie
# together. Sample logs and files say what they like, and get nothing but text and numbers that add up into the page.
set -euo pipefail
. "$(dirname "$0")/../says.sh"
. "$(dirname "$0")/../editor/work.sh"
here=$(dirname "$(readlink -f "$0")")
/usr/bin/python3 -c 'import html5lib' 2>/dev/null || { echo "skipped: there is no python3-html5lib"; exit 77; }

make() { "$MORPH_TEST_BIN/sample-log-make" "$1"; }
report() { morph report --state "$work/nothing" "$@"; }
# told PAGE: what the page says of heat, in plain words
told() { sed 's/<[^>]*>//g' "$1" | grep -E 'pages;|nothing to compare' || true; }
# expect PAGE LINE...: exactly these
expect() { [ "$(told "$1")" = "$(printf '%s\n' "${@:2}")" ] || { told "$1" >&2; fail "$1 says otherwise"; }; }

# Forty functions of more than a page each, every tenth of them hot.
{
	echo '#include <stdio.h>'
	for i in $(seq 0 39); do
		echo "__attribute__((noinline)) unsigned f$i(unsigned x) {"
		for k in $(seq 400); do echo "x = x * $((2 * k + 3)) ^ (x >> $((1 + (k + i) % 30)));"; done
		echo 'return x; }'
	done
	echo 'int main(int argc, char **argv) { unsigned x = 0; (void)argv; for (unsigned i = 0; i < 300; i++) {'
	for i in 5 15 25 35; do echo "x += f$i(i);"; done
	echo '} if (argc > 2) {'
	for i in $(seq 0 39); do echo "x += f$i(x);"; done
	echo '} printf("%u\n", x); return 0; }'
} >apart.c
morph cc -O2 -o apart apart.c
exact_samples apart apart.samples
morph profile apart apart.samples --estimator exact -o apart.prof >/dev/null
morph optimize apart --force --profile apart.prof -o together

# samples FILE WEIGHT...: f5, f15, f25, f35 of it; of a generation they are f5.m0, ...
samples()
{
	printf 'rate 100\ntime 1700000000000000000 60000000000\n'
	printf 'module file %s = - 0\n' "$1"
	for i in 5 15 25 35; do
		echo "in $(nm "$1" | awk -v name="f$i" '$2 ~ /[tT]/ && ($3 == name || $3 == name ".m0") { print $3; exit }')+16 $2"
		set -- "$1" "${@:3}"
	done
}
# elf WHAT FILE [N]: "pages": of memory that its text takes; "hold": in which the first N hot functions are sampled;
# "offset": of f5 in the file, as readelf and nm have it
elf()
{
	/usr/bin/python3 - "$@" <<-'PYTHON'
		import subprocess, sys

		def lines(*command):
		    return [line.split() for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()]

		what, path = sys.argv[1:3]
		text = [[int(word, 16) for word in words[1:5]] for words in lines("readelf", "-lW", path)
		        if words[:1] == ["LOAD"] and words[7:8] == ["E"]]
		at = {words[2].removesuffix(".m0"): int(words[0], 16) for words in lines("nm", path) if len(words) == 3 and words[1] in "tT"}
		if what == "pages":
		    print(sum((start + size - 1) // 4096 - start // 4096 + 1 for _, start, _, size in text))
		elif what == "hold":
		    print(len({(at[f"f{5 + 10 * i}"] + 16) // 4096 for i in range(int(sys.argv[3]))}))
		else:
		    print(*[at["f5"] - start + offset for offset, start, _, size in text if start <= at["f5"] < start + size])
	PYTHON
}
# hold FILE N: in how many pages the first bytes of the first N of the hot functions lie
all=$(elf pages apart)
now=$(elf pages together)
[ "$all" -gt 40 ]

echo "the pages that hold nine tenths of the samples, before and after"
samples "$work/apart" 45 30 15 10 | make apart.log
samples "$work/together" 45 30 15 10 | make together.log
report --html page.html apart.log together.log
expect page.html "as shipped: 90 % of 100 samples in 3 of $all pages; 4 have any $work/apart" \
	"generation: 90 % of 100 samples in $(elf hold together 3) of $now pages; $(elf hold together 4) have any $work/together"
/usr/bin/python3 "$here/report_page_check.py" page.html 'Where in their text programs are hot' "$work/apart" "$work/together" \
	'45.00 % of the samples'

echo "the cells of both are drawn to one scale, and where the samples are"
/usr/bin/python3 - <<'END'
import re
strips = re.findall(r'<div class="heat".*?</div>', open("page.html").read(), re.S)
cells = [[(a, float(b or 0)) for a, b in re.findall(r"<i(?: class=\"(w[0-9])\")?(?: title=\"([0-9.]+) % of the samples\")?></i>", s)] for s in strips]
assert len(strips) == 2 and all(len(c) == 96 for c in cells), [len(c) for c in cells]
for c in cells:
    assert abs(sum(share for _, share in c) - 100) < 0.05, c
    assert all((a in ("", "w0")) == (share == 0) for a, share in c), c
    assert all(a == "w6" for a, share in c if share >= 10), c
hot = [[i for i, (_, share) in enumerate(c) if share] for c in cells]
assert len(hot[0]) == 4 and hot[0][-1] - hot[0][0] > 60, hot # apart, over three quarters of the text
assert hot[1][-1] - hot[1][0] < 20, hot # together
END

echo "samples outside of the text, whatever their number, are in no part of it"
{ samples "$work/apart" 45 30 15 10; printf 'at 0 1000\nat 99999999 1000\nat 18446744073709551615 7\n'; } | make wild.log
report --html wild.html wild.log together.log
[ "$(told wild.html)" = "$(told page.html)" ]

echo "without samples of the shipped file there is nothing to compare with, and that is said"
report --html alone.html together.log
expect alone.html "Of 1 generations there is nothing to compare with: their shipped files have no samples here, or cannot be read."
report --html none.html apart.log
expect none.html
"$MORPH_TEST_BIN/sample-log-make" other.log <<END
rate 100
module file $work/together 0011223344556677 - 0
at 5000 10
END
report --html other.html apart.log other.log
expect other.html ""

echo "a path that is made to break the page is text in it"
hostile='"><svg onload=alert(1)><'
mkdir -p "$work/$hostile"
cp together "$work/$hostile/x"
escaped=$work/$(printf '%s' "$hostile" | sed 's/ /%20/g')
printf 'rate 100\nmodule file %s = - 0\n' "$escaped/x" >hostile.txt
echo "at $(elf offset together) 9" >>hostile.txt
make hostile.log <hostile.txt
report --html hostile.html apart.log hostile.log
/usr/bin/python3 "$here/report_page_check.py" hostile.html "$work/$hostile/x" '90 % of 9 samples in '

browser=$(command -v chromium || true)
[ "$browser" ] || { echo "not looked at by a browser: there is no chromium"; exit 0; }
. "$here/report_page_look.sh"

echo "in a browser: nothing is wider than a phone, and no script ran, whatever the file is called"
for page in page.html hostile.html; do
	seen=$(look $page 360 1)
	[[ $seen == *"title=Where the time went scripts=0 loaded=0 overflow=0 "* ]] ||
		{ tail -5 browser.txt >&2; fail "the browser says of $page: \"$seen\""; }
done
