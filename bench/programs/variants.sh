# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # xargs' shell expands; workload_* come from the workload's file
#
# variants.sh - the same program, optimized in every way that is compared. Sourced after workload.sh.
#
# variant_make VARIANT makes $BENCH_BUILD/PROGRAM/VARIANT for the loaded workload:
#	prefix/		the program, run from there
#	commands	one line per command that made it, in order
#	failed		instead of prefix/: one sentence that says why there is none
#	complete	it need not be done again
# Every variant trains on the same training script and nothing else.

# name|what the tables call it; the order of the tables
VARIANTS=(
	"shipped|shipped: morph cc (ThinLTO)"
	"again|the shipped bytes again (A/A control)"
	"o2|clang -O2"
	"lto|clang -O2 -flto=thin"
	"morph|Morph, from clock samples"
	"morph-exact|Morph, from exact counts"
	"morph-few|Morph, from a tenth of the clock samples"
	"morph-portable|Morph, from clock samples, for the CPU as shipped"
	"morph-layout|Morph, from clock samples, layout only"
	"morph-tuned|Morph, the best of several by measuring the training"
	"bolt|ThinLTO + BOLT, from clock samples"
	"bolt-exact|ThinLTO + BOLT, from its own instrumentation"
	"pgo|clang PGO, instrumented"
	"lto-pgo|clang ThinLTO + PGO, instrumented"
	"lto-pgo-bolt|clang ThinLTO + PGO, instrumented, and BOLT, from its own instrumentation"
)
# By name only.
# shellcheck disable=SC2034 # bench/measure/measure.py reads what it is called
VARIANTS_NAMED=(
	"morph-copies|Morph, from clock samples, copies at a quarter of the price in four times the room"
)
# MORE_VARIANTS: names of others to be in the tables, too.
read -ra VARIANTS_QUICK <<<"shipped again o2 morph lto-pgo ${MORE_VARIANTS:-}"

# How much of the test, and of the training, is counted under callgrind.
COUNT_PERCENT=3 COUNT_PERCENT_QUICK=1
EXACT_PERCENT=5

LLVM_BIN=/usr/lib/llvm-22/bin
MORPH_BIN=${MORPH_BIN:-$MORPH_ROOT/build/release/bin}
# 20,000 samples for everyone who samples: training is repeated until it has had that much CPU time.
TRAIN_RATE_HZ=${TRAIN_RATE_HZ:-4000}
TRAIN_SECONDS=${TRAIN_SECONDS:-5}
LTO_LDFLAGS="-fuse-ld=lld -flto=thin -Wl,-q"
LTO_FLAGS=(AR="$LLVM_BIN/llvm-ar" RANLIB="$LLVM_BIN/llvm-ranlib" LDFLAGS="$LTO_LDFLAGS")
BOLT_OPTIONS=(-reorder-blocks=ext-tsp -reorder-functions=cdsort -split-functions -split-all-cold -split-eh
	-icf=1 -use-gnu-stack)

variant_dir()
{
	printf '%s\n' "$BENCH_BUILD/$workload_name/$1"
}

# variant_make VARIANT: never fails; a variant that cannot be made says why in its file `failed`. Variants are made side
# by side: who needs one that another is making waits for it.
variant_make()
{
	local lock

	mkdir -p "$BENCH_BUILD/$workload_name"
	exec {lock}>"$(variant_dir "$1").lock"
	flock "$lock"
	variant_make_locked "$1"
	exec {lock}>&-
}

variant_make_locked()
{
	local variant=$1 dir
	dir=$(variant_dir "$variant")

	case $variant in
	shipped) outdated "$dir" "$MORPH_BIN/morph-cc" "$MORPH_BIN/morph-ld" ;;
	morph*) outdated "$dir" "$MORPH_BIN/morph" "$MORPH_BIN/morph-edit" ;;
	esac
	case $variant in
	again | morph*) [[ ! $(variant_dir shipped)/complete -nt $dir/complete ]] || rm -f "$dir/complete" ;;
	esac
	[[ ! -e $dir/complete ]] || return 0
	rm -rf "$dir/prefix"
	mkdir -p "$dir"
	rm -f "$dir/failed" "$dir/commands" "$dir/costs"
	say "$workload_name: making $variant"
	# A shell of its own, so that `set -e` holds inside; its last words are the reason.
	if bash "$MORPH_ROOT/bench/programs/variant" "$workload_name" "$variant" >"$dir/log" 2>&1; then
		rm -f "$dir/why"
		return 0
	fi
	rm -rf "$dir/prefix"
	{ cat "$dir/why" 2>/dev/null || grep -v '^$' "$dir/log" | tail -n 1; } | head -c 400 >"$dir/failed"
	say "$workload_name: no $variant: $(cat "$dir/failed")"
}

# variants_of TABLE quick|full: what that table compares or measures
variants_of()
{
	case $1 in
	speedup)
		if [[ $2 == quick ]]; then
			printf '%s\n' "${VARIANTS_QUICK[@]}"
		else
			# shellcheck disable=SC2086 # words
			printf '%s\n' "${VARIANTS[@]%%|*}" ${MORE_VARIANTS:-} | awk '!seen[$0]++'
		fi
		;;
	cost) printf '%s\n' o2 lto shipped morph bolt lto-pgo ;;
	size) printf '%s\n' shipped morph bolt ;;
	faults) printf '%s\n' shipped again morph ;;
	accuracy) printf '%s\n' shipped ;;
	layout) printf '%s\n' lto-pgo ;;
	facts) printf '%s\n' shipped morph morph-trusting ;;
	gain) printf '%s\n' shipped morph ;;
	esac
}

# variants_together TABLE...: all that these tables need of $programs in $mode, side by side, since nothing is timed: of all
# programs what configure finds out, what others start from, what starts from that and is started from, then the rest:
# nobody waits for another's lock while it has a place among the jobs. The largest programs come first, and what counts
# under callgrind, so that nothing long is left to the end; one line per program and variant, so that a terminal shows
# how far it is.
variants_together()
{
	local table wanted sorted program variants variant first=() second=()

	# What is measured while it is made is made alone.
	mapfile -t wanted < <(for table in "$@"; do variants_of "$table" "$mode"; done | grep -vx morph-tuned |
		sed 's/^morph-exact$/ &/' | sort -u | tr -d ' ')
	[[ " ${wanted[*]} " != *" "@(shipped|again|morph)* ]] || first+=(shipped)
	[[ " ${wanted[*]} " != *" "@(lto |bolt)* ]] || first+=(lto)
	[[ " ${wanted[*]} " != *pgo* ]] || first+=(instrumented)
	[[ " ${wanted[*]} " != *lto-pgo-bolt* ]] || second+=(lto-pgo)
	mapfile -t sorted < <(programs_by_size)
	for program in "${sorted[@]}"; do
		job "$program" config_site >/dev/null
	done
	for variants in "${first[*]}" "${second[*]}" "${wanted[*]}"; do
		for program in "${sorted[@]}"; do
			for variant in $variants; do
				job "$program" variant_make "$variant"
			done
		done
	done
	wait
}

# job PROGRAM FUNCTION [ARGUMENT...]: in the background, as many as there are CPUs; many a program compiles on one CPU
job()
{
	while (($(jobs -rp | wc -l) >= JOBS)); do
		wait -n || true # what failed says so in its own file
	done
	(workload_load "$1" && "${@:2}") &
}

programs_by_size()
{
	local program

	for program in "${programs[@]}"; do
		workload_load "$program"
		(source_fetch "$workload_source") || true # who builds it says what is wrong
		printf '%s %s\n' "$(du -s "$MORPH_CACHE/src/$workload_source" | cut -f 1)" "$program"
	done | sort -rn | cut -d ' ' -f 2
}

# counts_make DIRECTORY PERCENT VARIANT...: DIRECTORY/VARIANT.counts and .heat (see bench/measure/counts) of the test at PERCENT,
# unless they are newer than the variant; as many at a time as there are CPUs
counts_make()
{
	local to=$1 variant file script
	script=$(script_make test "$2")

	shift 2
	say "$workload_name: counting instructions, cache misses and branches"
	for variant in "$@"; do
		file=$to/$variant.counts
		[[ $variant != again && -e $(variant_dir "$variant")/complete ]] || continue
		[[ ! -s $file || $(variant_dir "$variant")/complete -nt $file ]] || continue
		printf '%s\0' "$(variant_dir "$variant")/prefix" "$script" "$file"
	done | xargs -0 -r -n 3 -P "$JOBS" bash -c \
		'"$0" "$1" "$2" "${3%.counts}.heat" >"$3.new" 2>"$3.log" && mv "$3.new" "$3" || rm -f "$3.new"' \
		"$MORPH_ROOT/bench/measure/counts"
}

# ---- for the functions below ----

# run COMMAND...: record it in `commands`, run it, record its CPU time and memory in `costs`
run()
{
	printf '%s\n' "${*//"$BENCH_BUILD/$workload_name/"/}" >>"$dir/commands"
	/usr/bin/python3 "$MORPH_ROOT/bench/measure/rusage.py" "$dir/costs" "$@"
}

# build_into [VARIABLE=VALUE...]: what configure finds out about the system is found out once, and no build pays for it
build_into()
{
	program_build "$workload_name" "$dir" CONFIG_SITE="$(config_site)" "$@" ||
		why "the build failed: $(grep -iE '(error|cannot|not found)' "$dir/build.log" | tail -n 1)"
	rm -f "$dir/complete" # the variant is not until its function returns
	printf '%s\n' "$(cat "$dir/flags")" >>"$dir/commands"
}

why()
{
	printf '%s\n' "$*" >"$dir/why"
	exit 1
}

# need VARIANT: make sure that one is there
need()
{
	variant_make "$1"
	[[ ! -e $(variant_dir "$1")/failed ]] || why "it needs \"$1\": $(cat "$(variant_dir "$1")/failed")"
}

# train DIRECTORY: the training script in DIRECTORY/prefix, output dropped
train()
{
	(cd "$1/prefix" && sh "$(script_make train 25)" >/dev/null)
}

# train_loop FILE: a script that repeats the training until it has had TRAIN_SECONDS of CPU time; the second line of
# `times` is that of children: "0m9.870s 0m0.120s"
train_loop()
{
	cat >"$1" <<-LOOP
		while
			times >$1.times
			awk -F '[ms ]+' 'NR == 2 { exit \$1 * 60 + \$2 + \$3 * 60 + \$4 >= $TRAIN_SECONDS }' $1.times
		do
			sh $(script_make train 25) >/dev/null || exit 1
		done
	LOOP
}

# ---- shipped, and compilers without a profile ----

variant_shipped()
{
	build_into CC="$MORPH_BIN/morph cc" CXX="$MORPH_BIN/morph c++"
}

variant_again()
{
	need shipped
	cp -a "$(variant_dir shipped)/prefix" "$dir/prefix"
	printf 'cp -a shipped/prefix again/prefix\n' >>"$dir/commands"
}

variant_o2()
{
	build_into
}

variant_lto()
{
	build_into "CFLAGS=-O2 -flto=thin" "${LTO_FLAGS[@]}"
}

# ---- Morph ----

# morph_samples NAME HZ: the training's samples at that rate, in shipped/NAME.samples, made once for all who start from
# them, and again by a recorder that is newer
morph_samples()
{
	local shipped log loop lock
	shipped=$(variant_dir shipped)
	log=$shipped/$1.samples
	loop=$shipped/$1-loop.sh

	exec {lock}>"$shipped/samples.lock" # variants are made side by side
	flock "$lock"
	[[ $MORPH_BIN/morph -nt $log ]] || { exec {lock}>&-; return 0; }
	train_loop "$loop"
	(cd "$shipped/prefix" && run "$MORPH_BIN/morph" record -F "$2" -o "$log.new" -- sh "$loop")
	mv "$log.new" "$log"
	exec {lock}>&-
}

# morph_optimize_one BINARY SAMPLES [OPTION...]
morph_optimize_one()
{
	local binary=$1 samples=$2 shipped profile
	shipped=$(variant_dir shipped)/prefix/$1
	profile=$dir/${binary##*/}.prof

	shift 2
	run "$MORPH_BIN/morph" profile "$shipped" "$samples" -o "$profile"
	run "$MORPH_BIN/morph" optimize "$shipped" --force --profile "$profile" "$@" \
		--report "$dir/report-${binary##*/}.json" -o "$dir/prefix/$binary"
}

# morph_optimize NAME HZ [OPTION...]: every binary of the workload, from shipped/NAME.samples (morph_samples)
morph_optimize()
{
	local samples binary
	samples=$(variant_dir shipped)/$1.samples

	need shipped
	morph_samples "$1" "$2"
	shift 2
	cp -a "$(variant_dir shipped)/prefix" "$dir/prefix"
	for binary in "${workload_binaries[@]}"; do
		morph_optimize_one "$binary" "$samples" "$@"
	done
}

variant_morph()
{
	morph_optimize train "$TRAIN_RATE_HZ" "$@"
}

variant_morph_few()
{
	morph_optimize few $((TRAIN_RATE_HZ / 10))
}

# The counts of a training run, instruction by instruction, at a small scale: callgrind's files in
# shipped/callgrind, made once. The accuracy table has them for truth.
exact_counts()
{
	local shipped to lock
	shipped=$(variant_dir shipped)
	to=$shipped/callgrind

	packages_need valgrind
	exec {lock}>"$to.lock"
	flock "$lock"
	if [[ ! -e $to ]]; then
		rm -rf "$to.new"
		run "$MORPH_ROOT/bench/measure/counts" --keep "$to.new" "$shipped/prefix" "$(script_make train "$EXACT_PERCENT")" &&
			mv "$to.new" "$to"
	fi
	exec {lock}>&-
	[[ -e $to ]]
}

variant_morph_exact()
{
	local shipped binary
	shipped=$(variant_dir shipped)

	need shipped
	exact_counts
	cp -a "$shipped/prefix" "$dir/prefix"
	for binary in "${workload_binaries[@]}"; do
		run "$MORPH_BIN/bench-exact" "$shipped/prefix/$binary" "$dir/exact-${binary##*/}.samples" \
			"$shipped"/callgrind/*
		morph_optimize_one "$binary" "$dir/exact-${binary##*/}.samples"
	done
}

variant_morph_copies()
{
	variant_morph --copies 4
}

variant_morph_portable()
{
	variant_morph --cpu shipped
}

# What is best on the training script, or as shipped. It is measured, so nothing else should run (bench/speedup/speedup).
variant_morph_tuned()
{
	local shipped binary script
	shipped=$(variant_dir shipped)/prefix

	need morph
	script=$(script_make train 25)
	cp -a "$shipped" "$dir/prefix"
	for binary in "${workload_binaries[@]}"; do
		(cd "$dir/prefix" && RUN='' run "$MORPH_BIN/morph" tune "$binary" --profile "$(variant_dir morph)/${binary##*/}.prof" \
			--minutes "${TUNE_MINUTES:-4}" --json -o "$binary" -- sh "$script" >"$dir/tune-${binary##*/}.json")
	done
}

# Of the table facts only.
variant_morph_trusting()
{
	variant_morph --trust-facts
}

variant_morph_layout()
{
	variant_morph --layout-only
}

# ---- BOLT ----

variant_bolt()
{
	local lto binary

	packages_need bolt-22 linux-perf
	need lto
	lto=$(variant_dir lto)
	train_loop "$dir/train-loop.sh"
	(cd "$lto/prefix" && run perf record -q -e cpu-clock:u -F "$TRAIN_RATE_HZ" -o "$dir/perf.data" -- \
		sh "$dir/train-loop.sh")
	cp -a "$lto/prefix" "$dir/prefix"
	for binary in "${workload_binaries[@]}"; do
		run perf2bolt-22 -ba -p "$dir/perf.data" -o "$dir/fdata" "$lto/prefix/$binary"
		bolt_apply "$lto" "$binary"
	done
	stat -c %s "$dir/perf.data" >"$dir/perf-data-bytes"
	rm -f "$dir/perf.data"
}

variant_bolt_exact()
{
	bolt_exact lto
}

# What the best-optimized programs of today are made with.
variant_lto_pgo_bolt()
{
	bolt_exact lto-pgo
}

# bolt_exact VARIANT: that, by the counts of BOLT's own instrumentation
bolt_exact()
{
	local from binary

	packages_need bolt-22
	need "$1"
	from=$(variant_dir "$1")
	rm -rf "$dir/instrumented" "$dir"/fdata*
	mkdir "$dir/instrumented"
	cp -a "$from/prefix" "$dir/instrumented/prefix"
	for binary in "${workload_binaries[@]}"; do
		run llvm-bolt-22 "$from/prefix/$binary" -instrument -instrumentation-file-append-pid \
			-instrumentation-file="$dir/fdata-${binary##*/}" -o "$dir/instrumented/prefix/$binary"
	done
	train "$dir/instrumented"
	cp -a "$from/prefix" "$dir/prefix"
	for binary in "${workload_binaries[@]}"; do
		run "$LLVM_BIN/merge-fdata" "$dir/fdata-${binary##*/}."* -o "$dir/fdata"
		bolt_apply "$from" "$binary"
	done
	rm -rf "$dir/instrumented"
}

# bolt_apply DIRECTORY BINARY: that variant's, with the counts in $dir/fdata
bolt_apply()
{
	run llvm-bolt-22 "$1/prefix/$2" -data="$dir/fdata" "${BOLT_OPTIONS[@]}" -o "$dir/prefix/$2"
}

# ---- clang's own PGO ----

# One instrumented build serves both: counters go in before LTO begins.
variant_instrumented()
{
	packages_need libclang-rt-22-dev
	build_into "CFLAGS=-O2 -fprofile-generate -fprofile-update=atomic" LDFLAGS=-fprofile-generate
	rm -rf "$dir/raw"
	export LLVM_PROFILE_FILE=$dir/raw/%p.profraw
	train "$dir"
	run "$LLVM_BIN/llvm-profdata" merge -o "$dir/profile" "$dir"/raw/*.profraw
	rm -rf "$dir/raw"
}

PROFILE_USE="-Wno-profile-instr-unprofiled -Wno-profile-instr-out-of-date -Wno-backend-plugin"

variant_pgo()
{
	need instrumented
	build_into "CFLAGS=-O2 -fprofile-use=$(variant_dir instrumented)/profile $PROFILE_USE"
}

# With block frequencies and branch probabilities beside the code, which is the same with and without: for bench/layout/layout.
variant_lto_pgo()
{
	need instrumented
	build_into "CFLAGS=-O2 -flto=thin -fprofile-use=$(variant_dir instrumented)/profile $PROFILE_USE" \
		"${LTO_FLAGS[@]}" LDFLAGS="$LTO_LDFLAGS -Wl,--lto-basic-block-address-map -Wl,-mllvm,-pgo-analysis-map=all"
}
