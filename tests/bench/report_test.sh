#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The counting of callgrind's files, what a command costs, and both reports from a small table.

set -eu
bench=$MORPH_SOURCE/bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1

fail()
{
	echo "FAILED: $*"
	exit 1
}

# ---- callgrind: taken branches are jump= and the first number of jcnd=; a callee's cost is not the caller's
cat >"$work/callgrind" <<'END'
positions: instr line
events: Ir I1mr
ob=(1) /bin/prog
fn=(1) main
0x1000 0 5 1
jump=7 0x1040 0
0x1004 0
jcnd=3/9 0x1080 0
0x1008 0
cob=(2) /lib/c.so
calls=2 0x20 0
0x100c 0 900 90
0x1040 0 10
ob=(2)
0x20 0 85
totals: 100 1
END
/usr/bin/python3 "$bench/measure/callgrind_sum.py" --heat "$work/heat" / 0 "$work/callgrind" >"$work/sum"
[[ $(jq -c '[.instructions, .i1_misses, .taken_branches, .calls, .code_lines]' "$work/sum") == "[100,1,10,2,3]" ]] ||
	fail "counts: $(cat "$work/sum")"
[[ $(tr '\n' ';' <"$work/heat") == "/bin/prog 64 5;/bin/prog 65 10;/lib/c.so 0 85;" ]] ||
	fail "heat: $(cat "$work/heat")"
: >"$work/empty"
! /usr/bin/python3 "$bench/measure/callgrind_sum.py" / 0 "$work/empty" >/dev/null 2>&1 || fail "nothing counted is no result"

# ---- code outside of .text has no object's name: it is the program's where the program's segments are
# LOAD 0x002000 0x0000000000002000 0x0000000000002000 0x002431 0x002431 R E 0x1000
read -r at size < <(readelf -lW /usr/bin/true | awk '$1 == "LOAD" && / R E / { print $3, $6 }')
cat >"$work/callgrind" <<END
cmd: bin/true now
positions: instr line
events: Ir
ob=(1) ???
fn=(1) ???
$(printf '0x%x 0 5\n0x%x 0 6' $((at + 0x108000)) $((at + size + 0x108000)))
totals: 11
END
/usr/bin/python3 "$bench/measure/callgrind_sum.py" --heat "$work/heat" /usr 0x108000 "$work/callgrind" >/dev/null
[[ $(cat "$work/heat") == "/usr/bin/true $((at / 64)) 5"*"??? $(((at + size + 0x108000) / 64)) 6" ]] ||
	fail "code in no named object: $(cat "$work/heat")"

# ---- what valgrind calls a call is a jump where the instruction is one
call=$(objdump -d /usr/bin/true | awk '$0 ~ /\tcall/ && $2 == "e8" { sub(":", "", $1); print $1; exit }')
jump=$(objdump -d /usr/bin/true | awk '$0 ~ /\tjmp/ && $2 == "e9" { sub(":", "", $1); print $1; exit }')
cat >"$work/callgrind" <<END
positions: instr line
events: Ir
ob=(1) /usr/bin/true
fn=(1) f
calls=3 0x20 0
0x$call 0 9
calls=4 0x20 0
0x$jump 0 9
totals: 18
END
[[ $(/usr/bin/python3 "$bench/measure/callgrind_sum.py" / 0 "$work/callgrind" | jq -c '[.taken_branches, .calls]') == "[4,3]" ]] ||
	fail "jumps into another symbol"

# ---- a difference needs six rounds, and all of them on one side of 1
found=$(PYTHONPATH=$bench/measure /usr/bin/python3 -c 'import measure
for ratios in ([1.1, 1.2, 1.1], [1.1, 1.2] * 3, [1.1, 0.9] * 3):
    print(measure.ratio_interval(ratios)["verdict"], end=";")')
[[ $found == "no difference seen;more;no difference seen;" ]] || fail "verdicts: $found"

# ---- rusage passes the exit status on and records it
status=0
/usr/bin/python3 "$bench/measure/rusage.py" "$work/costs" sh -c 'exit 3' || status=$?
[[ $status == 3 && $(jq .exit "$work/costs") == 3 ]] || fail "rusage: exit status $status"

# ---- a table that the report does not know is shown as it is; markup in it stays text
mkdir "$work/tables" "$work/out"
cat >"$work/tables/layout.json" <<'END'
{"table": "layout", "meaning": "What <b>breaks</b>.", "trials": 4,
 "rows": [{"fault": "kill | 9", "ratio": {"value": 0.9, "low": 0.8, "high": 1.1, "verdict": "no difference seen"}}]}
END
/usr/bin/python3 "$bench/report/report.py" "$work/tables" "$work/out"
grep -q '^| kill \\| 9 | 0.900 (0.800 .. 1.100) = |$' "$work/out/RESULTS.md" || fail "RESULTS.md: $(cat "$work/out/RESULTS.md")"
grep -q 'What &lt;b&gt;breaks&lt;/b&gt;.' "$work/out/results.html" || fail "markup is not escaped"

# ---- test suites of packages: what passed before and after, which binaries were refused, what did not build
cat >"$work/tables/packages.json" <<'END'
{"table": "packages", "packages": [
 {"name": "tool", "version": "1.2-3", "binaries": [{"name": "bin/tool"}, {"name": "lib/tool.so"}],
  "tests_shipped": {"passed": 1040, "failed": 2, "skipped": 3}, "tests_optimized": {"passed": 1040, "failed": 2, "skipped": 3},
  "instruction_ratio": 0.91},
 {"name": "half", "version": "4", "binaries": [{"name": "bin/a"}, {"name": "bin/b", "refused": "no IR"}],
  "tests_shipped": {"passed": 8, "failed": 0, "skipped": 0}, "tests_optimized": {"passed": 8, "failed": 0, "skipped": 0},
  "instruction_ratio": null},
 {"name": "worse", "version": "5", "binaries": [{"name": "bin/c"}],
  "tests_shipped": {"passed": 8, "failed": 0, "skipped": 0}, "tests_optimized": {"passed": 7, "failed": 1, "skipped": 0},
  "suite": "its quick tests", "instruction_ratio": 1.0},
 {"name": "none", "failed": "the build failed: no compiler"}]}
END
/usr/bin/python3 "$bench/report/report.py" "$work/tables" "$work/out"
for line in '1 of 4 packages pass with all their binaries re-optimized what they passed before: 1,040 tests.' \
	'| tool | 1.2-3 | bin/tool, lib/tool.so | 1,045 | 1,040 | 1,040 | 3 | 0.910 |' \
	'| half | 4 | 1 of 2: bin/a | 8 | 8 | 8 | 0 | - |' '| worse | 5 | bin/c | 8 | 8 | 7 | 0 | 1.000 |' \
	'half: bin/b was refused: no IR' 'worse: of its suite, its quick tests.' 'none: the build failed: no compiler'; do
	grep -qxF "$line" "$work/out/RESULTS.md" || fail "RESULTS.md has no \"$line\": $(cat "$work/out/RESULTS.md")"
done

# ---- Debian's packages: how many were built and carry IR, and what that IR adds
cat >"$work/tables/archive.json" <<'END'
{"table": "archive", "packages": [
 {"name": "good", "version": "1", "kind": "tool", "run": "now", "built": true, "checked": false, "elf": 3, "with_ir": 2, "regenerate": 1,
  "without": ["/lib32/a.so"], "differ": [{"path": "/bin/b", "said": "f differs"}]},
 {"name": "bad", "version": "2", "kind": "shell", "run": "now", "built": false, "checked": false, "cause": "the build failed", "said": "no cc",
  "elf": 0, "with_ir": 0, "regenerate": 0, "without": [], "differ": []}]}
END
cat >"$work/tables/archive-sizes.json" <<'END'
{"files": 2, "text_bytes": 2000, "morph_bytes": 2100, "morph_to_text": 1.05, "morph_to_text_geomean": 1.12, "morph_to_text_worst": 2.5,
 "worst": "/bin/tiny", "above_2": 1, "morph_to_deb": 0.98, "morph_to_deb_geomean": 0.91,
 "packages": [{"morph_to_deb": 0.91}, {"morph_to_deb": null}]}
END
/usr/bin/python3 "$bench/report/report.py" "$work/tables" "$work/out"
tr '\n' ' ' <"$work/out/RESULTS.md" >"$work/line"
for text in '1 of 2 packages were built; of their 3 programs and libraries 2 carry IR, and 1 of these regenerate. In 0 packages every file carries IR' \
	'| bad | 2 | shell | now | - | - | - |' 'good: /lib32/a.so carries no IR.' 'good: /bin/b does not regenerate: f differs' \
	'bad: not built: the build failed. no cc' '2 files, each once): 2,100 bytes to 2,000 of text, 1.05 x; geometric mean 1.12 x; 1 have' \
	'/bin/tiny most, 2.50 x.' '0.98 x, geometric mean of 1 packages 0.91 x.'; do
	grep -qF "$text" "$work/line" || fail "RESULTS.md has no \"$text\": $(cat "$work/out/RESULTS.md")"
done
echo "reports: all as expected"
