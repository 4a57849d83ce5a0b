#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# morph report: sample logs of which everything is known, real programs, and what is not what it seems.
set -eu
. "$(dirname "$0")/../says.sh"
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND" >&2' ERR

export TZ=UTC
morph=$MORPH_BIN/morph
work=$(mktemp -d /tmp/morph-report.XXXXXX)
busy=
trap 'kill $busy 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"

make() { "$MORPH_TEST_BIN/sample-log-make" "$1"; }
# holds EXPRESSION ARGUMENT...: true of the report's JSON; j is all of it, rows its rows, share the shares by first cell, added up
holds() {
	local expression=$1
	shift
	"$morph" report --json "$@" >out.json
	python3 -c 'import json,sys
j=json.load(open("out.json")); rows=j["rows"]
share={}
for r in rows: share[next(iter(r.values()))] = round(share.get(next(iter(r.values())), 0) + r["share_percent"], 6)
sys.exit(not eval(sys.argv[1]))' "$expression" || { echo "not true of $*: $expression" >&2; cat out.json >&2; return 1; }
}
# refused CODE WORDS ARGUMENT...
refused() {
	local code=$1 words=$2 status=0
	shift 2
	"$morph" report "$@" >out.txt 2>err.txt || status=$?
	[ $status -eq "$code" ] || { echo "exit $status, not $code: $*" >&2; cat err.txt >&2; return 1; }
	grep -qF -- "$words" err.txt || { echo "does not say \"$words\":" >&2; cat err.txt >&2; return 1; }
}

cat >prog.c <<'END'
static int __attribute__((noinline)) slow(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * i ^ s; return s; }
int __attribute__((noinline)) quick(int n) { return n * 3 + 1; }
int main(int argc, char **argv) { (void)argv; return (slow(argc * 1000) + quick(argc)) & 1; }
END
gcc -O1 -g -fno-inline -Wl,--build-id -o prog prog.c

# Half of the time at 100 Hz, half at 1000 Hz: shares are of time.
make first.samples <<END
rate 100
time 1000000000000000000 10000000000
kernel 100
lost 50
module file $work/prog = 0 0
in slow+0 200
in slow+4 100
in quick+0 50
module file /lib/libnothing.so 1122334455667788 1000 0
at 64 250
module anonymous [anonymous:java] - - 0
at 0 250
END
make second.samples <<END
rate 1000
time 1000000100000000000 10000000000
module file $work/prog = 1000 0
in main+0 10000
END

echo "images: shares are of time, and add up with kernel, generated code and what is not known"
holds 'j["samples"] == 11000 and abs(j["cpu_s"] - 20) < 1e-9 and j["logs"] == 2' --by image first.samples second.samples
holds 'share == {"'"$work"'/prog": 67.5, "/lib/libnothing.so": 12.5, "[anonymous:java]": 12.5, "[kernel]": 5, "[unknown]": 2.5}' \
	--by image first.samples second.samples
holds 'abs(rows[-1]["sum_percent"] - 100) < 1e-9 and [r["share_percent"] for r in rows] == sorted([r["share_percent"] for r in rows], reverse=True)' \
	--by image first.samples second.samples
holds 'share == {"user": 92.5, "kernel": 5, "unknown": 2.5}' --by mode first.samples second.samples

echo "procedures, lines, users, logs; and several of them together"
holds 'share["slow"] == 30 and share["quick"] == 5 and share["?"] == 25 and share["-"] == 40 and j["unnamed"][0]["image"] == "/lib/libnothing.so"' \
	first.samples
holds 'sum(r["samples"] for r in rows if r["line"].endswith("prog.c:1") and r["procedure"] == "slow") == 300 and all(r["image"] for r in rows)' --by line first.samples
holds 'sorted((r["address"], r["samples"]) for r in rows if r["procedure"] == "slow") == [("0x%x" % (a + d), n) for a in [0x'"$(nm prog | awk '$3 == "slow" { print $1 }')"'] for d, n in ((0, 200), (4, 100))]' \
	--by address first.samples
holds '[(r["user"], r["samples"]) for r in rows if r["image"].endswith("prog")] == [("'"$(getent passwd 1000 | cut -d: -f1 | grep . || echo 1000)"'", 10000), ("root", 350)]' \
	--by user,image first.samples second.samples
holds 'share == {"first.samples": 50, "second.samples": 50}' --by log first.samples second.samples

echo "filters, order, pages"
holds 'len(rows) == 3 and {r["procedure"] for r in rows} == {"slow", "quick", "main"}' --only 'image=*/prog' first.samples second.samples
holds '[r["procedure"] for r in rows] == ["main"]' --only 'image=*/prog' --only 'procedure=m*' first.samples second.samples
holds 'len(rows) == 1' --by image --least 25.1 first.samples
holds '[r["image"] for r in rows] == sorted(r["image"] for r in rows) and len(rows) == 5' --by image --sort name first.samples
holds 'len(rows) == 2 and j["n_rows"] == 5 and rows[0]["image"] != "'"$work"'/prog" and rows[0]["sum_percent"] > 50' --by image --skip 1 --limit 2 first.samples
holds 'rows == []' --by image --skip 99 first.samples
"$morph" report --by image --limit 2 first.samples | says '^3 more; --skip 2 shows the next ones'

echo "times: a log is taken when it touches them; of one that reaches beyond that is said"
holds 'j["logs"] == 1 and j["logs_outside"] == 1 and j["samples"] == 10000' --since @1000000050 first.samples second.samples
holds 'j["logs"] == 1 and j["samples"] == 1000 and j["logs_beyond"] == 0' --until '2001-09-09 01:47:30' first.samples second.samples
holds 'j["logs"] == 1 and j["logs_beyond"] == 1' --since '2001-09-09T01:46:45' --until '2001-09-09 01:46:50' first.samples second.samples
"$morph" report --since @1000000005 first.samples | says 'taken whole'
refused 1 'no sample log is of the time asked for' --since yesterday first.samples
refused 2 'lies before' --since today --until yesterday first.samples

echo "a directory of logs, in which one is damaged"
mkdir spool
cp first.samples second.samples spool
head -c 100 first.samples >spool/third.samples
cp first.samples spool/.unfinished.samples
echo 'morph-events 2' >spool/x.events
holds 'j["logs"] == 2 and j["damaged_files"] == 1 and j["samples"] == 11000' --by image spool
"$morph" report spool | says '1 file was left out: spool/third.samples'
refused 1 third.samples spool/third.samples

echo "a file that was replaced, one that is gone, one without symbols, one whose debug file has them"
mkdir replaced
sed 's/\* 3/* 5/' prog.c >other.c
gcc -O1 -g -fno-inline -Wl,--build-id -o replaced/prog other.c
id=$(readelf -n prog | awk '/Build ID/ { print $3 }')
moved() { make "$1.samples" <<END
rate 100
module file $work/$1/prog $id 0 0
at 4096 10
at $((0x$(nm prog | awk '$3 == "slow" { print $1 }'))) 90
END
}
moved replaced
moved gone
"$morph" report replaced.samples | says 'replaced/prog (100.0 %) was replaced since it was sampled'
holds 'share == {"?": 100}' replaced.samples
"$morph" report gone.samples | says 'gone/prog (100.0 %) cannot be read any more'
mkdir stripped
strip -o stripped/prog prog
moved stripped
holds 'share["0x'"$(nm prog | awk '$3 == "slow" { sub("^0*", "", $1); print $1 }')"'"] == 90 and "debug package" in j["unnamed"][0]["why"]' \
	stripped.samples
mkdir -p "debug/.build-id/${id:0:2}"
objcopy --only-keep-debug prog "debug/.build-id/${id:0:2}/${id:2}.debug"
holds 'share["slow"] == 90 and j["unnamed"] == []' --debug-dir "$work/debug" stripped.samples
holds '[r["samples"] for r in rows if r["line"].endswith("prog.c:1")] == [90]' --by line --debug-dir "$work/debug" stripped.samples

echo "a path of another mount namespace is not one of ours, and without a build ID no name of ours is told"
make space.samples <<END
rate 100
module file $work/prog = 0 4026531999
in slow+0 10
module file $work/prog - 0 4026531998
at 4096 30
END
holds '{r["procedure"] for r in rows if "4026531998" in r["image"]} == {"?"} and share["slow"] == 25' space.samples
holds '{r["namespace"]: r["samples"] for r in rows} == {"4026531999": 10, "4026531998": 30}' --by namespace space.samples

echo "names that a file or a log chose do not reach the terminal as they are"
objcopy --redefine-sym "slow=$(printf 'sl\033[2Jow')" --redefine-sym "quick=<script>alert(1)</script>" prog hostile
make hostile.samples <<END
rate 100
module file $work/hostile = 0 0
at $((0x$(nm prog | awk '$3 == "slow" { print $1 }'))) 10
module file /tmp/%1b]0;owned%07%0aevil 00112233445566778899 0 0
at 16 10
END
"$morph" report hostile.samples >hostile.txt
says 'sl\\x1b\[2Jow' <hostile.txt
says 'x1b\]0;owned\\x07\\x0aevil' <hostile.txt
! grep -q "$(printf '\033')" hostile.txt
"$morph" report --json hostile.samples >hostile.json
! grep -q "$(printf '\033')" hostile.json

echo "what a log names is opened only where that does no harm: no device, no pipe is waited for"
mkfifo pipe
make devices.samples <<END
rate 100
module file $work/pipe 00112233445566778899 0 0
at 16 10
module file /dev/zero 00112233445566778898 0 0
at 16 10
module file relative/../path 00112233445566778897 0 0
at 16 10
END
timeout 20 "$morph" report devices.samples | says 'pipe .* cannot be read any more'

echo "counts of nobody's clock are counted as they are, and are not mixed with time"
make exact.samples <<END
source exact
module file $work/prog = - 0
in slow+0 30
in main+0 10
END
holds 'share == {"slow": 75, "main": 25} and j["cpu_s"] is None' exact.samples
refused 1 'cannot be added up' exact.samples first.samples

echo "numbers at their ends do not wrap around"
make huge.samples <<END
rate 1
module file /a 00112233445566778896 0 0
at 0 18446744073709551614
END
holds 'j["samples"] == 18446744073709551615 and share["/a"] == 100' --by image huge.samples huge.samples

echo "usage"
refused 2 'no dimension "colour"; there are: address, line, procedure' --by colour first.samples
refused 2 'not usable' --only image first.samples
refused 2 'not usable' --since sometime first.samples
refused 2 'not usable' --limit -1 first.samples
refused 2 usage --live 1 first.samples
refused 1 'none/page.html: ' --live 100 --html none/page.html
refused 2 usage -p 1 first.samples
refused 2 '--live samples now' --live 1 --since today
echo "whose time it was: by process, unit and user, of logs that tell; of others it is nobody's"
make owners.samples <<END
rate 100
time 1000000200000000000 10000000000
kernel 60
module file $work/prog = 0 0
in slow+0 140
owner 80 0 cron cron.service
owner 70 1000 ba%1bsh user@1000.service
owner 30 0 backup cron.service
END
holds 'share == {"cron.service": 55, "user@1000.service": 35, "?": 10} and j["samples"] == 200 and abs(j["cpu_s"] - 2) < 1e-9' --by unit owners.samples
holds 'share == {"cron": 40, "ba\x1bsh": 35, "backup": 15, "?": 10}' --by process owners.samples
holds '[(r["process"], r["unit"], r["user"]) for r in rows if r["samples"] == 80] == [("cron", "cron.service", "root")]' --by process,unit,user owners.samples
holds '{r["log"]: r["samples"] for r in rows if r["unit"] == "?"} == {"first.samples": 1000, "owners.samples": 20}' --by unit,log owners.samples first.samples
holds 'len(rows) == 2 and all(r["unit"] == "cron.service" for r in rows)' --by process --only 'unit=cron*' owners.samples
"$morph" report --by process owners.samples | says 'ba\\x1bsh'
refused 2 'or by image and what belongs to it, not by both' --by unit,image owners.samples
refused 2 'or by mode' --by unit,mode owners.samples
refused 1 'nothing.samples' nothing.samples
refused 1 'empty/state.db' --state "$work/empty"

echo "programs as they are: the hot function is on top, of a log and of the interval that begins now"
cat >busy.c <<'END'
#include <stdlib.h>
#include <time.h>
volatile unsigned sink;
__attribute__((noinline)) void spin(void) { for (unsigned i = 0; i < 1000000; i++) sink += i; }
int main(int n, char **v) { (void)n; for (time_t end = time(NULL) + atoi(v[1]); time(NULL) < end;) spin(); return 0; }
END
gcc -O1 -o busy busy.c
if ! "$morph" record -q -o busy.samples -- ./busy 2 2>record.txt; then
	echo "the rest is skipped: this machine cannot sample: $(cat record.txt)"
	exit 0
fi
holds 'rows[0]["procedure"] == "spin" and rows[0]["share_percent"] > 50' busy.samples
./busy 60 &
busy=$!
holds 'rows[0]["procedure"] == "spin" and j["logs"] == 1 and rows[0]["samples"] > 20' --live 1 -p $busy

echo "processes and units, of what is sampled now"
holds 'rows[0]["process"] == "busy" and rows[0]["procedure"] == "spin" and abs(sum(r["share_percent"] for r in rows) - 100) < 1e-6' \
	--live 1 -p $busy --by process,procedure
holds 'len(rows) == 1 and rows[0]["unit"] != "?" and all(part in open("/proc/self/cgroup").read() for part in rows[0]["unit"].split("/"))' \
	--live 1 -p $busy --by unit

kill $busy

if [ "$(id -u)" = 0 ] && awk '$3 == "_text" { exit $1 ~ /^0*$/ }' /proc/kallsyms; then
	echo "functions of the kernel have their names, of the one that runs alone"
	"$morph" record -q -F 5000 -o kernel.samples -- dd if=/dev/zero of=/dev/null bs=256k count=30000 2>/dev/null
	if "$morph" dump --json kernel.samples | says '"path": "\[kernel\]"'; then
		holds 'len({r["procedure"] for r in rows} - {"?", "-"}) > 0' --only 'image=\[kernel\]' kernel.samples
		make otherkernel.samples <<-END
			rate 100
			module kernel [kernel] 00112233445566778899 - 0
			at 4096 10
		END
		holds 'share == {"-": 100} and "not the kernel that runs" in j["unnamed"][0]["why"]' otherkernel.samples
	fi
fi
