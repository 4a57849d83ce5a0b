#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# morph profile and its subcommands on a real program that was really sampled.
set -eu
. "$(dirname "$0")/../says.sh"
. "$(dirname "$0")/../holds.sh"
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND" >&2' ERR

here=$MORPH_SOURCE/tests/cli
morph=$MORPH_BIN/morph
work=$(mktemp -d /tmp/morph-profile-verb.XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work"

# get KEY: a number or text at the top level of the JSON on standard input
get() { python3 -c 'import json,sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
# refused CODE WORDS COMMAND...: it must exit with CODE, say WORDS, and leave no file out.x
refused() {
	local code=$1 words=$2 status=0
	shift 2
	"$@" >stdout.txt 2>stderr.txt || status=$?
	[ $status -eq "$code" ] || { echo "exit $status, not $code: $*" >&2; cat stderr.txt >&2; return 1; }
	grep -qF -- "$words" stderr.txt || { echo "does not say \"$words\":" >&2; cat stderr.txt >&2; return 1; }
	[ ! -e out.x ]
}

build() { # NAME BUILD [LINKER-OPTION...]
	"$MORPH_LLVM_DIR/bin/clang" -O2 -DBUILD="$2" -flto=thin -fuse-ld=lld -Wl,--build-id -o "$1" \
		"$here/profile_program.c" -Xlinker '--lto-newpm-passes=thinlto<O2>,pseudo-probe' \
		-Wl,--lto-basic-block-address-map -Wl,-mllvm,-pgo-analysis-map=br-prob "${@:3}"
}
build shipped 0
build generation 0 -Wl,-mllvm,-align-all-blocks=5
build upgraded 1
"$MORPH_TEST_BIN/sidecar" shipped side
"$MORPH_TEST_BIN/sidecar" generation side shipped
"$MORPH_TEST_BIN/sidecar" upgraded side

if ! "$morph" record -q -F 2000 -o a.samples ./shipped 2>record.txt; then
	echo "skipped: this machine cannot sample: $(cat record.txt)"
	exit 77
fi
"$morph" record -q -F 2000 -o b.samples ./generation
profile() { "$morph" profile --sidecar-dir side "$@"; }

echo "samples become a profile"
profile shipped a.samples -o a.prof --json >made.json
holds 'j["samples"] > 50 and j["coverage"] > 0.9 and j["functions"] >= 3' <made.json
profile shipped a.samples -o again.prof >said.txt
cmp a.prof again.prof
grep -q 'this profile is chance' said.txt

echo "show tells the hottest functions, confidence, coverage and a verdict"
"$morph" profile show a.prof --json >show.json
holds 'j["functions"][0]["name"] == "busy" and j["functions"][0]["share"] > 0.4' <show.json
holds 'j["verdict"] in ("enough", "usable", "too-few") and 0 < j["noise"] < 0.5' <show.json
holds 'j["blocks"][0]["executions"] >= j["blocks"][1]["executions"] > 0' <show.json
holds '0 < j["age_ns"] < 600e9 and j["activity_ns"] > 0 and j["carried"] == 0' <show.json
"$morph" profile show a.prof >show.txt
grep -q '^busy ' show.txt
"$morph" profile show a.prof --function busy --json >busy.json
holds 'len(j["blocks"]) == j["functions"][0]["blocks"]' <busy.json
refused 1 'nothing is known about a function "none"' "$morph" profile show a.prof --function none

echo "samples of a generation add to the shipped file's profile"
profile shipped a.samples b.samples --generation generation -o both.prof --json >both.json
[ "$(get samples <both.json)" = "$(profile shipped a.samples b.samples -o twice.prof --json \
	--generation generation --generation generation | get samples)" ]
profile generation b.samples -o b.prof --json >b.json
python3 - <<'PY'
import json
a, b, both = (json.load(open(f))["samples"] for f in ("made.json", "b.json", "both.json"))
assert b > 50 and abs(a + b - both) < 0.01, (a, b, both)
PY
[ "$("$morph" profile show b.prof --json | get build_id)" = "$(get build_id <show.json)" ]
"$morph" profile diff a.prof b.prof --json | holds 'j["function_overlap"] > 0.8'
refused 1 'was not made from the same shipped file' \
	profile shipped a.samples --generation upgraded -o out.x

echo "merging adds, and ages when it is told to"
"$morph" profile merge a.prof b.prof -o sum.prof --json | holds 'j["merged"] == 2'
"$morph" profile diff both.prof sum.prof --json | holds 'j["function_overlap"] > 0.999'
"$morph" profile merge a.prof b.prof --half-life 1s -o aged.prof
python3 - "$("$morph" profile show aged.prof --json | get samples)" <<'PY'
import json, sys
a, b = (json.load(open(f))["samples"] for f in ("made.json", "b.json"))
assert b < float(sys.argv[1]) < a + b, (a, b, sys.argv[1])
PY
profile shipped a.samples -o from.prof --from b.prof --half-life 0 --json |
	holds 'j["samples"] > j["new_samples"] > 0'
"$morph" profile diff from.prof sum.prof --json | holds 'j["function_overlap"] > 0.999'

echo "a new build takes over what did not change"
"$morph" profile carry a.prof upgraded --sidecar-dir side -o carried.prof --json >carry.json
holds 'j["functions_changed"] >= 1 and j["functions_gone"] == 1' <carry.json
holds '0.3 < j["carried_share"] < 0.95' <carry.json
"$morph" profile show carried.prof --json >carried.json
holds 'j["carried"] == 1 and j["dropped"] > 0' <carried.json
holds '[f["name"] for f in j["functions"]][0] == "busy"' <carried.json
"$morph" profile show carried.prof | says '^carried  *100.0 %'
refused 1 'different builds' "$morph" profile merge a.prof carried.prof -o out.x
refused 1 'nothing to carry over' "$morph" profile carry a.prof shipped --sidecar-dir side -o out.x

cp a.samples kept.samples
refused 2 'kept.samples: would be overwritten' "$morph" profile shipped kept.samples -o kept.samples
cmp a.samples kept.samples || fail "the samples were overwritten"

echo "what was seen adds up before counts are estimated: two machines are one with the samples of both"
"$morph" record -q -F 2000 -o c.samples ./shipped
profile shipped a.samples --seen -o seen-a.prof >seen.txt
grep -q 'kept as they were seen' seen.txt && grep -q '^no counts yet: .morph profile prior. ' seen.txt && ! grep -q ' 0 samples' seen.txt ||
	fail "--seen: $(cat seen.txt)"
profile shipped c.samples --seen -o seen-c.prof --json | holds 'j["seen_samples"] > 50 and j["samples"] == 0'
"$morph" profile merge seen-a.prof seen-c.prof -o seen.prof >merged.txt
grep -q 'functions, [0-9]* samples kept as they were seen$' merged.txt && grep -q '^no counts yet: ' merged.txt || fail "$(cat merged.txt)"
"$morph" profile show seen.prof | says 'no counts were estimated'
"$morph" profile prior seen.prof shipped --sidecar-dir side -o estimated.prof >/dev/null
profile shipped a.samples c.samples -o one.prof >/dev/null
"$morph" profile diff estimated.prof one.prof --json | holds 'j["block_overlap"] > 0.98'
profile shipped -o only.prof --prior seen.prof --json | holds 'j["samples"] > 100'
profile shipped a.samples b.samples --generation generation --seen -o mixed.prof --json |
	holds 'j["seen_samples"] > 50 and j["samples"] > 50'
"$morph" profile prior mixed.prof shipped --sidecar-dir side -o estimated.prof >/dev/null
"$morph" profile diff estimated.prof both.prof --json | holds 'j["block_overlap"] > 0.9'
for reader in "profile diff seen.prof a.prof" "profile export --format pprof seen.prof -o out.x" \
	"profile carry seen.prof upgraded --sidecar-dir side -o out.x" \
	"optimize ./shipped --sidecar-dir side --profile seen.prof -o out.x"; do
	# shellcheck disable=SC2086 # words
	refused 1 'no counts were estimated' "$morph" $reader
done
refused 1 'has samples of a build that' "$morph" profile prior seen.prof upgraded --sidecar-dir side -o out.x

echo "what others counted is a prior, as strong as the samples here let it be"
profile shipped a.samples -o prior.prof --prior a.prof --json |
	holds '0.95 < j["prior_samples"] / j["new_samples"] < 1.05 and abs(j["samples"] - j["new_samples"] - j["prior_samples"]) < 1'
profile shipped a.samples -o prior.prof --prior a.prof | says 'of them for what others counted'
"$morph" profile diff prior.prof a.prof --json | holds 'j["function_overlap"] > 0.99'
profile shipped -o only.prof --prior a.prof --json | holds 'j["new_samples"] == 0 and j["samples"] == j["prior_samples"] > 50'
"$morph" profile diff only.prof a.prof --json | holds 'j["function_overlap"] > 0.999'
profile shipped a.samples -o two.prof --prior a.prof --prior b.prof --json |
	holds 'len(j["priors"]) == 2 and all(0 < p["samples"] <= p["at_most"] for p in j["priors"])'
"$morph" profile prior a.prof shipped --sidecar-dir side -o same.prof --json |
	holds 'j["samples"] > 50 and j["functions"] >= 3 and j["functions_dropped"] == 0'
"$morph" profile prior a.prof upgraded --sidecar-dir side -o other.prof --json |
	holds 'j["functions_dropped"] >= 2 and j["samples_dropped"] > 0'
"$morph" profile prior a.prof upgraded --sidecar-dir side -o other.prof | says 'of what others counted'
grep -q busy a.prof && ! grep -q 'busy\|shipped' other.prof
profile upgraded -o only.prof --prior other.prof
refused 2 'usage: morph profile PROGRAM' profile shipped -o out.x
refused 1 'no samples of this build' profile upgraded a.samples --prior other.prof -o out.x
refused 1 '--prior: it is of another build' profile shipped a.samples --prior carried.prof -o out.x

echo "exports are read by the tools they are for"
"$morph" profile export --format llvm a.prof -o a.txt
"$MORPH_LLVM_DIR/bin/llvm-profdata" show --sample a.txt | says '^Function: busy: CFG checksum'
"$morph" profile export --format collapsed a.prof | says -E '^shipped;busy [0-9]+$'
"$morph" profile export --format pprof a.prof | zcat | says -a busy
if [ -x /usr/bin/protoc ]; then
	"$morph" profile export --format otlp a.prof -o a.otlp
	"$morph" profile export --format pprof a.prof -o a.pb.gz
	"$MORPH_SOURCE/tests/otlp_check.py" a.otlp a.pb.gz | says 'executions/count [0-9]* samples/count [0-9]*$'
fi
"$morph" profile export --format bolt shipped a.samples -o a.fdata
head -1 a.fdata | says '^no_lbr'
refused 1 'no samples of this build' "$morph" profile export --format bolt upgraded a.samples -o out.x

if perf record -q -e cpu-clock -F 2000 -o perf.data ./shipped >/dev/null 2>&1; then
	echo "what perf recorded can be imported"
	"$morph" profile import perf.data -o perf.samples --json >import.json
	holds 'j["event"] == "cpu-clock" and j["attributed"] > 50 and j["without_build_id"] == 0' <import.json
	profile shipped perf.samples -o perf.prof --json | holds 'j["coverage"] > 0.9'
	"$morph" profile diff a.prof perf.prof --json | holds 'j["function_overlap"] > 0.8'
	refused 1 'no event "cycles"' "$morph" profile import perf.data --event cycles -o out.x
fi

echo "bad input is told in one sentence and leaves nothing behind"
head -c 100 a.prof >short.prof
echo nonsense >nonsense.prof
refused 1 'short.prof: truncated' "$morph" profile show short.prof
refused 1 'nonsense.prof: not a file written by Morph' "$morph" profile show nonsense.prof
refused 1 'a sample log, not a profile' "$morph" profile show a.samples
refused 1 'a profile, not a sample log' profile shipped a.prof -o out.x
refused 1 '--from: nonsense.prof' profile shipped a.samples --from nonsense.prof -o out.x
refused 1 '--prior: nonsense.prof' profile shipped a.samples --prior nonsense.prof -o out.x
refused 1 'no samples of this build' profile upgraded a.samples -o out.x
refused 1 'holds samples, not execution counts' profile shipped a.samples -o out.x --estimator exact
refused 1 'No such file' profile shipped none.samples -o out.x
refused 1 '/bin/true' profile /bin/true a.samples -o out.x
refused 1 'nothing that can be imported; what can: perf.data' "$morph" profile import a.prof -o out.x
refused 1 'none/out.prof' profile shipped a.samples -o none/out.prof
refused 2 'usage: morph profile PROGRAM' profile shipped a.samples
refused 2 'no estimator "magic"; there are: length, flow,' profile shipped a.samples -o out.x --estimator magic
refused 2 'not usable' profile shipped a.samples -o out.x --half-life soon
refused 2 'only what --from names is aged' profile shipped a.samples -o out.x --half-life 1d
refused 2 'usage: morph profile merge' "$morph" profile merge a.prof
refused 2 'no format "gcov"; there are: llvm, pprof,' "$morph" profile export --format gcov a.prof
refused 2 'usage: morph profile export' "$morph" profile export --format llvm a.prof b.prof
refused 2 'usage: morph profile show' "$morph" profile show a.prof b.prof
for verb in show diff merge carry prior export import; do
	"$morph" profile $verb --help | says "usage: morph profile $verb"
done
echo "all done"
