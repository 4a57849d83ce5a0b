#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# morph report --html, read by a parser and by a browser. Whoever may name a program, a function or a process tries to get
# markup, a script, or an address into the page.
set -eu
. "$(dirname "$0")/../says.sh"
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND" >&2' ERR

morph=$MORPH_BIN/morph
here=$(dirname "$0")
work=$(mktemp -d /tmp/morph-page.XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work"
/usr/bin/python3 -c 'import html5lib' 2>/dev/null || { echo "skipped: there is no python3-html5lib"; exit 77; }

make() { "$MORPH_TEST_BIN/sample-log-make" "$1"; }
check() { /usr/bin/python3 "$here/report_page_check.py" "$@"; }

cat >prog.c <<'END'
volatile unsigned sink;
__attribute__((noinline)) void one(unsigned n) { for (unsigned i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void two(unsigned n) { for (unsigned i = 0; i < n; i++) sink = sink / (i + 3); }
int main(void) { for (int i = 0; i < 20; i++) { one(1000000); two(1000000); } return 0; }
END
gcc -O1 -Wl,--build-id -o prog prog.c
script='<script>document.title="owned"</script>'
image='"><img/src=x/onerror=alert(1)>'
style="</style></title><b/style='x'>"
end='one</span></div></main></body></html><svg/onload=alert(2)>'
objcopy --redefine-sym "one=$script" --redefine-sym "two=$image" \
	--redefine-sym "main=$(printf 'ma\033[2J\342\200\256in&lt;')" prog hostile
address() { echo $((0x$(nm prog | awk -v name="$1" '$3 == name { print $1 }'))); }
url() { python3 -c 'import sys; print("".join(c if c.isalnum() or c in "/._-" else "%%%02x" % b for b in sys.argv[1].encode() for c in [chr(b)]))' "$1"; }

echo "a page of programs that are named to break it is well formed, and has every name as text"
make hostile.samples <<END
rate 100
time 1700000000000000000 60000000000
kernel 30
lost 5
module file $work/hostile = 0 0
at $(address one) 100
at $(address two) 60
at $(address main) 40
module file $(url "/opt/$style") 1122334455667788 0 4026531999
at 64 50
module file $(url "/opt/$end") 1122334455667799 0 0
at 64 20
stack 70 $(url "$script") $work/hostile@0x$(printf %x "$(address main)") $work/hostile@0x$(printf %x "$(address one)")
stack 20 $(url "$end") !2 $(url "/opt/$style")@0x40 $(url "[jit]$image")
module anonymous $(url "[anonymous:<b>&amp;$(printf '\007')]") - - 0
at 0 25
END
"$morph" report --html page.html --state "$work/nothing" hostile.samples
check page.html "$script" "$image" "/opt/$style (namespace 4026531999)" "/opt/$end" 'ma\x1b[2J\u{202e}in&lt;' \
	'[anonymous:<b>&amp;\x07]' '[kernel]' '[unknown]' 'No morphd keeps a record here' "$end" '[no frame pointer]' "[jit]$image"

echo "the flame graph: who called whom, as wide as its share; deep stacks and many small ones have their bounds"
grep -qF 'Who called what' page.html
[ "$(stat -c %a page.html)" = 600 ]
/usr/bin/python3 - page.html <<'END'
import sys, html5lib
tree = html5lib.parse(open(sys.argv[1], "rb").read(), namespaceHTMLElements=False)
frames = [e for e in tree.iter("div") if e.get("class") == "fl"]
assert len(frames) == 7, len(frames)
inner = next(e for e in frames if e.find("a").get("title").startswith('<script>document.title="owned"</script> (/'))
assert inner.find("a").get("title").endswith("77.8 %") and inner.get("style") == "flex:7777.8 1 0", inner.attrib
outer = next(e for e in frames if e.find("a").get("title").startswith("ma\\x1b"))
assert inner in outer.iter("div")
END
{
	echo rate 100
	echo "module file $work/hostile = 0 0"
	echo at 4096 20000
	echo "stack 100 deep$(for ((i = 0; i < 126; i++)); do printf ' [f%d]' $((i % 9)); done)"
	for ((i = 0; i < 9000; i++)); do echo "stack 1 p [f$i]"; done
} | make many.samples
"$morph" report --html many.html --state "$work/nothing" many.samples
check many.html deep
[ "$(grep -o 'class="fl"' many.html | wc -l)" -le 4000 ]
[ "$(stat -c %s many.html)" -lt 1000000 ]

echo "the same numbers as --json"
"$morph" report --json hostile.samples >report.json
check page.html "$(/usr/bin/python3 -c 'import json
for row in json.load(open("report.json"))["rows"][:1]: print("%.2f %%" % row["share_percent"])')"

echo "real samples: the hottest functions have their causes"
if "$morph" record -q -F 2000 -o prog.samples -- ./prog 2>record.txt; then
	"$morph" report --html real.html --only "image=$work/prog" --state "$work/nothing" prog.samples
	check real.html one two 'of the time' dependency
else
	echo "not tried: this machine cannot sample: $(cat record.txt)"
fi

echo "the file appears whole or not at all; options that say nothing here are refused"
status=0
"$morph" report --html /nonexistent/page.html hostile.samples 2>err.txt || status=$?
[ $status = 1 ] && says /nonexistent/page.html <err.txt
for wrong in "--json" "--by user" "--sort name" "--skip 3"; do
	status=0
	# shellcheck disable=SC2086 # words
	"$morph" report --html no.html $wrong hostile.samples 2>err.txt || status=$?
	[ $status = 2 ] && [ ! -e no.html ]
done

browser=$(command -v chromium || true)
[ "$browser" ] || { echo "not looked at by a browser: there is no chromium"; exit 0; }
. "$here/report_page_look.sh"

echo "in a browser: no script ran, nothing was asked for, nothing is wider than a phone or a screen; light and dark"
light=$(look page.html 360 1)
deep=$(look many.html 360 1)
dark=$(look page.html 360 0)
wide=$(look page.html 1280 1)
for seen in "$light" "$dark" "$wide" "$deep"; do
	[[ $seen == *"title=Where the time went scripts=0 loaded=0 overflow=0 "* ]] ||
		{ echo "the browser says: \"$seen\"" >&2; tail -5 browser.txt >&2; false; }
done
[[ $light == *"background=rgb(255, 255, 255)"* ]]
[[ $dark == *"background=rgb(20, 23, 27)"* ]]
