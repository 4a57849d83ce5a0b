# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # bench/programs/workload.sh says what these are

workload_title="libjpeg-turbo as shipped: two libraries with symbol versions, setjmp, vector code in separate assembly"
workload_source=libjpeg-turbo
workload_tables=no
workload_kind=library
workload_packages=(cmake nasm)
workload_binaries=(bin/djpeg bin/cjpeg bin/jpegtran lib/libjpeg.so.62.3.0 lib/libturbojpeg.so.0.2.0)

workload_build()
{
	cmake -S . -B build -G "Unix Makefiles" -DCMAKE_BUILD_TYPE=None -DCMAKE_INSTALL_PREFIX="$1" \
		-DCMAKE_C_FLAGS="$CFLAGS" -DCMAKE_EXE_LINKER_FLAGS="$LDFLAGS" -DCMAKE_SHARED_LINKER_FLAGS="$LDFLAGS" \
		-DCMAKE_POSITION_INDEPENDENT_CODE=ON -DENABLE_STATIC=0
	make -C build -j "$JOBS"
	mkdir -p "$1/bin" "$1/lib"
	cp build/djpeg build/cjpeg build/jpegtran "$1/bin/"
	cp build/libjpeg.so.62.3.0 build/libturbojpeg.so.0.2.0 "$1/lib/"
	ln -s libjpeg.so.62.3.0 "$1/lib/libjpeg.so.62"
	ln -s libturbojpeg.so.0.2.0 "$1/lib/libturbojpeg.so.0"
	cp build/tjbench "$1/bin/"
}

workload_tests()
{
	cd build || return
	tests_run ctest ctest -j "$JOBS"
}

# As the other libjpeg-turbo's, with the other library and a lossless rotation.
workload_script()
{
	local kind=$1 percent=$2 data=$3 i

	printf 'export LD_LIBRARY_PATH=lib\n'
	if [[ $kind == train ]]; then
		data_make "$data/train.ppm" bench_input image 31 480 720
		data_make "$data/train.jpg" cjpeg_any -quality 80 "$data/train.ppm"
		for ((i = 0; i < percent; i++)); do
			printf '$RUN bin/cjpeg -quality 75 -outfile /dev/null %s\n' "$data/train.ppm"
			printf '$RUN bin/djpeg -outfile /dev/null %s\n' "$data/train.jpg"
			printf '$RUN bin/jpegtran -rotate 90 -outfile /dev/null %s\n' "$data/train.jpg"
		done
		printf '$RUN bin/tjbench %s 80 -quiet -nowrite -benchtime 0.2 -warmup 0 >/dev/null\n' "$data/train.ppm"
		return
	fi
	data_make "$data/test.ppm" bench_input image 32 600 800
	data_make "$data/test.jpg" cjpeg_any -quality 90 -sample 1x1 "$data/test.ppm"
	data_make "$data/progressive.jpg" cjpeg_any -quality 60 -progressive "$data/test.ppm"
	for ((i = 0; i < (percent + 1) / 2; i++)); do
		printf '$RUN bin/cjpeg -quality %d -sample 1x1 %s\n' $((40 + i % 50)) "$data/test.ppm"
		printf '$RUN bin/cjpeg -quality %d -progressive %s\n' $((50 + i % 40)) "$data/test.ppm"
		printf '$RUN bin/djpeg %s\n' "$data/test.jpg" "$data/progressive.jpg" \
			"-scale 1/2 -nosmooth $data/progressive.jpg"
		printf '$RUN bin/jpegtran -flip horizontal %s\n' "$data/progressive.jpg"
	done
}

# Inputs come from the tool that was built.
cjpeg_any()
{
	local prefix=$BENCH_BUILD/$workload_name/prefix

	LD_LIBRARY_PATH=$prefix/lib "$prefix/bin/cjpeg" "$@"
}
