#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# morph bisect: which function makes a command fail, or slower; by commands that look at the code that they are given.
set -euo pipefail
. "$(dirname "$0")/../editor/work.sh"
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND" >&2' ERR

# holds EXPRESSION: true of the JSON in out.txt: j; sets: names of the functions of each
holds() {
	python3 -c 'import json,sys
j=json.load(open("out.txt"))
sets=[[f["name"] for f in s] for s in j["sets"]]
keep=[f["name"] for s in j["sets"] for f in s if f["keep_as_shipped"]]
if not eval(sys.argv[1]): sys.exit(json.dumps(j, indent=1))' "$1" || fail "not true: $1"
}
# bisect STATUS ARGUMENT...
bisect() {
	local wanted=$1 status=0
	shift
	morph bisect --profile twins.prof "$@" >out.txt 2>err.txt || status=$?
	[ $status -eq "$wanted" ] || fail "$*: exit status $status, not $wanted: $(cat err.txt)"
}
says() { grep -qF -- "$1" err.txt || fail "does not say \"$1\": $(cat err.txt)"; }

morph cc -O2 -o twins "$MORPH_SOURCE/tests/programs/twins/twins.c"
cp twins shipped
exact_samples twins twins.samples 20000
morph profile twins twins.samples --estimator exact -o twins.prof >/dev/null
before=$(sha256sum twins)

# changed FUNCTION...: has the program other code than the shipped one in all of these?
cat >changed <<END
#!/bin/bash
code() { objdump -d --no-show-raw-insn "\$1" | sed -n "/^[0-9a-f]* <\$2>:/,/^\\\$/p" | cut -f 2 -s |
	sed 's/ *[0-9a-f]* <[^>]*>.*//; s/0x[0-9a-f]*(%rip).*//'; }
for f; do cmp -s <(code $PWD/twins \$f) <(code $PWD/shipped \$f) && exit 1; done
exit 0
END
chmod 755 changed

echo "the function that must have its shipped code is found, and told of"
bisect 0 twins --json --report report -- ./twins 1000
holds 'sets == [["runs"]] and keep == ["runs"] and j["good_with_these_as_shipped"] and not j["kept"]'
holds 'j["passes_known"] and j["passes"] == [] and j["shipped_failed"] == 0 and j["generation_failed"] == 5'
holds 'j["how"] == "exit status 3" and len(j["sets"][0][0]["cfg_hash"]) == 16 and j["unmade"] == 0'
grep -q '^define .*@runs(' report/1-runs/shipped.ll || fail "no IR: $(cat report/1-runs/shipped.ll)"
! grep -q '^define .*@\(other\|main\)(' report/1-runs/shipped.ll || fail "IR of other functions"
"$MORPH_LLVM_DIR/bin/opt" -passes=verify -disable-output report/1-runs/shipped.ll || fail "no IR that opt reads"
grep -q '^block 1 executions 1 ' report/1-runs/counts || fail "counts: $(cat report/1-runs/counts)"
grep -q '^runs:' report/1-runs/shipped.s && grep -qx 'runs\(\.m0\)\?:' report/1-runs/generation.s || fail "no code"
! cmp -s report/1-runs/shipped.s report/1-runs/generation.s || fail "the same code twice"
grep -qF 'The command: ./twins 1000' report/README || fail "$(cat report/README)"
bisect 1 twins --report report -- ./twins 1000
says "report: is there already"
bisect 1 twins --report none/report -- sh -c 'touch ran; exit 1'
says "none/report: cannot create a file beside it: No such file"
[ ! -e ran ] || fail "the command ran for a report that cannot be"

echo "the program itself is never touched, and nothing is left behind"
[ "$before" = "$(sha256sum twins)" ] || fail "the program was changed"
! compgen -G '/var/tmp/morph-repeat.*/variant' >/dev/null || fail "a variant was left"
! grep -q "$PWD" /proc/self/mounts || fail "a mount was left"

echo "two that do it only together; two that do it each"
bisect 0 twins --json -- sh -c '! ./changed runs other'
holds 'sorted(sum(sets, [])) == ["other", "runs"] and len(sets) == 1 and len(keep) == 1 and j["good_with_these_as_shipped"]'
bisect 0 twins --json -- sh -c '! ./changed runs && ! ./changed other'
holds 'sorted(map(tuple, sets)) == [("other",), ("runs",)] and sorted(keep) == ["other", "runs"]'
bisect 0 twins -- sh -c '! ./changed other'
grep -q '^good with the shipped code of other$' out.txt || fail "$(cat out.txt)"

echo "whatever is compiled anew: then no function is named as a remedy"
bisect 0 twins --json -- cmp twins shipped
holds 'not j["good_with_these_as_shipped"] and j["nothing_left_to_optimize"]'

if grep -q ' bmi2 ' /proc/cpuinfo; then
	echo "an optimization: instructions that only this CPU has"
	bisect 0 twins --json -- sh -c '! objdump -d twins | grep -q shlx'
	holds 'sets == [["runs"]] and j["passes"] == ["cpu"]'
	bisect 1 twins --cpu shipped -- sh -c '! objdump -d twins | grep -q shlx'
	says "the command does not fail"
fi
echo "a pass: by the generation's own note, which says what was left out"
cat >note <<'END'
#!/bin/bash
note=$(readelf -p .note.morph twins 2>/dev/null)
[[ $note != *Morph* || $note = *"without "*$1* ]]
END
chmod 755 note
bisect 0 twins --json -- ./note loops
holds 'j["passes"] == ["loops"]'

echo "a command that fails now and then is run often enough; one that fails anyway says nothing"
# with a generator of its own: every third run fails
cat >seldom <<'END'
#!/bin/bash
./changed other || exit 0
n=$(($(cat n.txt) + 1))
echo $n >n.txt
exit $((n % 3 == 0))
END
chmod 755 seldom
echo 0 >n.txt
bisect 0 twins --json -- ./seldom
holds 'sets == [["other"]] and 0 < j["generation_failed"] < j["generation_runs"] == 25 and j["runs_each"] >= 30'
bisect 1 twins -- false
says "the command fails with the shipped file, too (exit status 1)"
echo 0 >n.txt
bisect 1 twins -- sh -c 'n=$(($(cat n.txt) + 1)); echo $n >n.txt; exit $((n % 3 == 0))'
says "flaky: the command fails 1 of 5 times with the shipped file"
bisect 1 twins -- true
says "in 5 runs with the generation the command does not fail"

echo "125 says nothing; what does not end is ended, with all that it has started; other output counts if that is asked for"
bisect 1 twins -- sh -c 'exit 125'
says "exit status 125: it cannot tell"
bisect 0 twins --json --runs 2 --timeout 2 -- sh -c '! ./changed runs || { sleep 1234.5 & sleep 1234.5; }'
holds 'sets == [["runs"]] and j["how"] == "stopped after 2 s"'
! pgrep -f 'sleep 1234.5' >/dev/null || fail "processes are left"
bisect 1 twins -- sh -c './changed runs; echo $?'
bisect 0 twins --json --compare-output -- sh -c './changed runs; echo $?'
holds 'sets == [["runs"]] and j["how"].startswith("other output")'

echo "slower: by user and system time, in rounds"
cat >work <<'END'
#!/bin/bash
n=20000
! ./changed other || n=40000
for ((i = 0; i < n; i++)); do :; done
END
chmod 755 work
bisect 0 twins --json --slower --rounds 40 -- ./work
holds 'sets == [["other"]] and j["mode"] == "slower" and j["ratio"]["low"] > 1 and 1 < j["threshold"] < j["ratio"]["median"]'
bisect 1 twins --slower --rounds 12 -- sh -c 'for i in $(seq 20000); do :; done'
grep -q "not slower by this command\|too noisy" err.txt || fail "$(cat err.txt)"

echo "without root, in a user namespace; a copy at {}"
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups unshare -Um true 2>/dev/null; then
	mkdir -m 777 user
	chmod 755 twins
	(cd user && TMPDIR=$work/user setpriv --reuid=65534 --regid=65534 --clear-groups \
		morph bisect ../twins --profile ../twins.prof --json -- ../twins 1000 >../out.txt 2>../err.txt) ||
		fail "without root: $(cat err.txt)"
	holds 'sets == [["runs"]]'
fi
bisect 0 twins --json -- sh -c '"$1" 1000' sh {}
holds 'sets == [["runs"]]'

echo "bad input is refused, in a sentence"
bisect 1 nothing -- true
says "nothing: No such file"
bisect 1 twins -- ./not-there
says "./not-there: cannot be run: No such file"
bisect 2 twins
bisect 2 twins --runs 1 -- true
bisect 2 twins --rounds many -- true
bisect 1 shipped -- sh -c 'exit 0'
cp twins.prof bad.prof
printf 'x' | dd of=bad.prof bs=1 seek=40 conv=notrunc status=none
morph bisect twins --profile bad.prof -- true 2>err.txt && fail "a damaged profile was taken"
says "bad.prof"
