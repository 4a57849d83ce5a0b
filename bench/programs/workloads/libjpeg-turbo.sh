# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # bench/programs/workload.sh says what these are

workload_title="libjpeg-turbo: djpeg and cjpeg (the paper's ijpeg)"
workload_source=libjpeg-turbo
workload_binaries=(bin/djpeg bin/cjpeg)

# Without the hand-written vector assembly: what is compared here is compilers' work.
workload_build()
{
	cmake -S . -B build -G "Unix Makefiles" -DCMAKE_BUILD_TYPE=None -DCMAKE_INSTALL_PREFIX="$1" \
		-DCMAKE_C_FLAGS="$CFLAGS" -DCMAKE_EXE_LINKER_FLAGS="$LDFLAGS" -DCMAKE_AR="$(command -v "$AR")" \
		-DCMAKE_RANLIB="$(command -v "$RANLIB")" -DENABLE_SHARED=0 -DWITH_SIMD=0 -DWITH_TURBOJPEG=0
	make -C build -j "$JOBS"
	install -D build/djpeg-static "$1/bin/djpeg"
	install -D build/cjpeg-static "$1/bin/cjpeg"
}

# Training knows one picture and the usual settings; the test others: progressive, 4:4:4, grey, scaled.
workload_script()
{
	local kind=$1 percent=$2 data=$3 i

	if [[ $kind == train ]]; then
		data_make "$data/train.ppm" bench_input image 31 480 720
		for ((i = 0; i < (percent * 7 + 1) / 2; i++)); do
			printf '$RUN bin/cjpeg -quality 75 -outfile %s %s\n' /dev/null "$data/train.ppm"
			printf '$RUN bin/djpeg -outfile /dev/null %s\n' "$data/train.jpg"
		done
		data_make "$data/train.jpg" cjpeg_any -quality 80 "$data/train.ppm"
		return
	fi
	data_make "$data/test.ppm" bench_input image 32 600 800
	data_make "$data/test.jpg" cjpeg_any -quality 90 -sample 1x1 "$data/test.ppm"
	data_make "$data/progressive.jpg" cjpeg_any -quality 60 -progressive "$data/test.ppm"
	for ((i = 0; i < (percent * 3 + 3) / 4; i++)); do
		printf '$RUN bin/cjpeg -quality %d -sample 1x1 %s\n' $((40 + i % 50)) "$data/test.ppm"
		printf '$RUN bin/cjpeg -quality %d -progressive %s\n' $((50 + i % 40)) "$data/test.ppm"
		printf '$RUN bin/djpeg %s\n' "$data/test.jpg" "$data/progressive.jpg" \
			"-scale 1/2 -nosmooth $data/progressive.jpg" "-grayscale -dct fast $data/test.jpg"
	done
}

# Inputs come from the first variant that was built; all give the same bytes.
cjpeg_any()
{
	local cjpeg

	for cjpeg in "$BENCH_BUILD/$workload_name"/*/prefix/bin/cjpeg; do
		"$cjpeg" "$@" && return
	done
	return 1
}
