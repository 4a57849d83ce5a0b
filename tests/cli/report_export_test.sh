#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# morph report --format: samples of which everything is known, read by the tools that the forms are for.
set -eu
. "$(dirname "$0")/../says.sh"
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND" >&2' ERR

export TZ=UTC
morph=$MORPH_BIN/morph
work=$(mktemp -d /tmp/morph-export.XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat >prog.c <<'END'
int __attribute__((noinline)) slow(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * i ^ s; return s; }
int __attribute__((noinline)) quick(int n) { return n * 3 + 1; }
int main(int argc, char **argv) { (void)argv; return (slow(argc * 1000) + quick(argc)) & 1; }
END
gcc -O1 -g -Wl,--build-id -o prog prog.c
id=$(readelf -n prog | awk '/Build ID/ { print $3 }')
"$MORPH_TEST_BIN/sample-log-make" first.samples <<END
rate 100
time 1700000000000000000 20000000000
kernel 100
module file $work/prog = 0 0
in slow+0 200
in slow+4 100
in quick+0 50
module anonymous [anonymous:ja%1bva;x] - - 0
at 0 250
END
"$MORPH_TEST_BIN/sample-log-make" second.samples <<END
rate 1000
time 1700000030000000000 10000000000
module file $work/prog = 1000 0
in main+0 4000
END
export_to() { "$morph" report --format "$1" --output "$2" "${@:3}" first.samples second.samples; }

echo "folded: images and procedures with their samples; users and logs when asked for"
export_to folded all.folded
sort all.folded >sorted
diff - sorted <<'END'
[anonymous:ja_va_x] 250
[kernel] 100
prog;main 4000
prog;quick 50
prog;slow 300
END
export_to folded users.folded --by user,procedure --only 'image=*/prog'
grep -qx 'root;prog;slow 300' users.folded
export_to folded logs.folded --by log,image
grep -qx 'first.samples;prog 350' logs.folded

echo "speedscope: weights are seconds, and add up; every frame that a stack names is there"
export_to speedscope all.json --by line
python3 - <<'END'
import json
j = json.load(open("all.json"))
frames, p = j["shared"]["frames"], j["profiles"][0]
assert j["$schema"] == "https://www.speedscope.app/file-format-schema.json"
assert p["type"] == "sampled" and p["unit"] == "seconds" and p["startValue"] == 0
assert abs(p["endValue"] - 11.0) < 1e-9 and abs(sum(p["weights"]) - 11.0) < 1e-9
assert len(p["samples"]) == len(p["weights"]) and all(0 <= i < len(frames) for s in p["samples"] for i in s)
names = [[frames[i]["name"].split("/")[-1] for i in s] for s in p["samples"]]
assert ["prog", "slow"] in names and ["[kernel]"] in names
slow = [w for s, w in zip(names, p["weights"]) if s == ["prog", "slow"]]
assert abs(sum(slow) - 3.0) < 1e-9
lines = {(f["name"], f["file"].split("/")[-1], f["line"]) for f in frames if "file" in f}
assert ("slow", "prog.c", 1) in lines and ("quick", "prog.c", 2) in lines
assert "\x1b" not in open("all.json").read()
END

echo "script: a sample for each place, which stackcollapse-perf.pl's pattern takes, with its address"
export_to script all.script
python3 - "$(nm prog | awk '$3 == "slow" { print $1 }')" <<'END'
import re, sys
seen = {}
for block in open("all.script").read().strip().split("\n\n"):
    head, *stack = block.split("\n")
    m = re.fullmatch(r"(\S.+?)\s+(\d+)/(\d+)\s+\[(\d+)\]\s+([\d.]+):\s+(\d+) (\S+):\s*", head)
    assert m, head
    assert len(stack) == 1
    f = re.fullmatch(r"\s*([0-9a-f]+)\s+(\S+) \((\S+)\)", stack[0])
    assert f, stack
    seen[f[2]] = (int(m[6]), int(f[1], 16))
slow = int(sys.argv[1], 16)
assert seen["slow+0x0"] == (200, slow) and seen["slow+0x4"] == (100, slow + 4), seen
assert seen["main+0x0"][0] == 4000
END

echo "pprof: the tool itself shows functions, lines and users; the mapping is the file with its build ID"
export_to pprof all.pb.gz --by user,line
gzip -t all.pb.gz
if [ -x /usr/bin/go ]; then
	pprof() { HOME=$work /usr/bin/go tool pprof -symbolize=none "$@" all.pb.gz 2>/dev/null; }
	pprof -top >top.txt
	says ' 4000ms 36.36% .* main$' <top.txt
	says ' 3000ms 27.27% .* slow$' <top.txt
	says 'Duration: 40s, Total samples = 11000ms' <top.txt
	pprof -sample_index=samples -top | says ' 4000 .* main$'
	pprof -lines -top | says 'slow .*prog.c:1$'
	pprof -tags | says 'root'
	pprof -raw >raw.txt
	says "$work/prog $id" <raw.txt
	says "0x$(nm prog | awk '$3 == "slow" { sub("^0*", "", $1); print $1 }') M=" <raw.txt
else
	echo "not tried: there is no go"
fi
"$morph" report --format pprof --output again.pb.gz --by user,line first.samples second.samples
cmp all.pb.gz again.pb.gz

echo "otlp: the same as pprof's, decoded; nothing stands twice, and two runs give the same bytes"
same_as_pprof() { # ARGUMENT...: of `morph report`
	"$morph" report --format otlp --output x.otlp "$@"
	"$morph" report --format pprof --output x.pb.gz "$@"
	"$MORPH_SOURCE/tests/otlp_check.py" x.otlp x.pb.gz
}
if [ -x /usr/bin/protoc ]; then
	same_as_pprof first.samples second.samples | says '^6 stacks cpu/nanoseconds 11000000000 samples/count 4700$'
	same_as_pprof --by user,line first.samples second.samples | says 'samples/count 4700$'
	same_as_pprof --by log,image --only 'image=*/prog' first.samples second.samples | says 'samples/count 4350$'
	mv x.otlp logs.otlp
	protoc -I "$MORPH_SOURCE/tests/profiles/export/data" --decode=otlp.ProfilesData otlp.proto <logs.otlp >logs.txt
	says '"second.samples"' <logs.txt
	says -F "\"$id\"" <logs.txt
	"$morph" report --format otlp --by log,image --only 'image=*/prog' first.samples second.samples | cmp logs.otlp
	# a message that says something else is told from it
	sed 's/second\.samples/zecond.samples/' logs.otlp >other.otlp
	! "$MORPH_SOURCE/tests/otlp_check.py" other.otlp x.pb.gz >check.txt 2>&1
	says 'zecond.samples' <check.txt
else
	echo "not tried: there is no protoc"
fi

echo "stacks: callers in front of callees, processes first; what has no stack is one place, and time adds up"
"$MORPH_TEST_BIN/sample-log-make" stacks.samples <<END
rate 100
time 1700000000000000000 20000000000
kernel 100
module file $work/prog = 0 0
in slow+0 300
stack 150 pro%1bg;x $work/prog@main+1 $work/prog@slow+0
stack 50 pro%1bg;x $work/prog@main+1 $work/prog@slow+4
stack 20 other !2 $work/prog@quick+0
stack 30 other !1 [jit]
END
"$morph" report --format folded stacks.samples first.samples | LC_ALL=C sort >sorted
diff - sorted <<'END'
[no stack] 700
other;[deeper than is kept];[jit] 30
other;[no frame pointer];quick 20
pro_g_x;main;slow 150
pro_g_x;main;slow 50
END
"$morph" report --format folded --by procedure stacks.samples | says '^prog;slow 300$'
"$morph" report --format script stacks.samples >stacks.script
python3 - <<'END'
blocks = [b.split("\n") for b in open("stacks.script").read().strip().split("\n\n")]
assert len(blocks) == 4, blocks
assert blocks[0][0].startswith("pro_g_x ") and [f.split()[1] for f in blocks[0][1:]] == ["slow+0x0", "main+0x1"], blocks[0]
END
"$morph" report --format speedscope stacks.samples >stacks.json
python3 - <<'END'
import json
j = json.load(open("stacks.json"))
names, p = [f["name"] for f in j["shared"]["frames"]], j["profiles"][0]
stacks = [(tuple(names[i] for i in s), w) for s, w in zip(p["samples"], p["weights"])]
assert abs(sum(p["weights"]) - 4.0) < 1e-9 and abs(p["endValue"] - 4.0) < 1e-9, p
assert [s[-2:] for s, _ in stacks if s[0].startswith("pro")] == [("main", "slow")] * 2, stacks
END
"$morph" report --format pprof --output stacks.pb.gz stacks.samples
if [ -x /usr/bin/go ]; then
	pprof() { HOME=$work /usr/bin/go tool pprof -symbolize=none "$@" stacks.pb.gz 2>/dev/null; }
	pprof -top -cum >cum.txt
	says ' 3200ms 80.00% .* main$' <cum.txt
	pprof -peek '^slow$' | says '3200ms .*main'
	pprof -tags | says 'other'
	pprof -sample_index=samples -top | says ' 200 .* slow$'
fi
[ ! -x /usr/bin/protoc ] || same_as_pprof stacks.samples first.samples | says '^5 stacks .* samples/count 950$'

echo "what has no clock has no seconds"
"$MORPH_TEST_BIN/sample-log-make" exact.samples <<END
source exact
module file $work/prog = - 0
in slow+0 30
END
"$morph" report --format speedscope exact.samples | says '"unit": "none"'
"$morph" report --format script exact.samples | says ' 30 instructions:'
[ ! -x /usr/bin/protoc ] || same_as_pprof exact.samples | says '^1 stacks samples/count 30$'

echo "usage"
# refused WORDS ARGUMENT...
refused() {
	local words=$1 status=0
	shift
	"$morph" report "$@" first.samples >out.txt 2>err.txt || status=$?
	[ $status -eq 2 ] && grep -qF -- "$words" err.txt || { cat err.txt >&2; return 1; }
}
refused 'no format "svg"; there are: pprof, otlp, folded, speedscope, script' --format svg
refused usage --output x
refused usage --format folded --json
refused usage --format folded --limit 3
refused usage --format folded --html x.html
status=0
export_to folded /nonexistent/x 2>err.txt || status=$?
[ $status = 1 ] && says /nonexistent/x <err.txt
