# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/programs/workload.sh says what these are

workload_title="mpeg2dec, a video decoder (for the paper's mpeg_play)"
workload_source=mpeg2dec
workload_packages=(ffmpeg)
workload_binaries=(bin/mpeg2dec)

workload_build()
{
	./configure --prefix="$1" --disable-shared --disable-sdl --without-x
	make -j "$JOBS"
	install -D src/mpeg2dec "$1/bin/mpeg2dec"
}

# video SEED WIDTH QUANTIZER GOP B-FRAMES TIMES: 24 pictures of MPEG-2 video, over and over
video()
{
	bench_input frames "$1" 24 "$2" >"$data/$1.y4m"
	ffmpeg -v error -y -f yuv4mpegpipe -i "$data/$1.y4m" -threads 1 -flags bitexact -fflags bitexact \
		-c:v mpeg2video -q:v "$3" -g "$4" -bf "$5" -f mpeg2video "$data/$1.once"
	for ((i = 0; i < $6; i++)); do cat "$data/$1.once"; done
	rm -f "$data/$1.y4m" "$data/$1.once"
}

# Training decodes one stream, usual settings; the test others: a fine one without B frames, a coarse one with many, each
# mostly without writing pictures, which would cost more than decoding them.
workload_script()
{
	local kind=$1 percent=$2 data=$3 i name

	if [[ $kind == train ]]; then
		data_make "$data/train-$percent.m2v" video 31 640 5 12 2 $((percent * 2))
		printf '$RUN bin/mpeg2dec -o null %s\n' "$data/train-$percent.m2v"
		return
	fi
	data_make "$data/fine-$percent.m2v" video 32 480 3 15 0 $((percent * 2))
	data_make "$data/coarse-$percent.m2v" video 33 720 9 9 3 $((percent * 2))
	data_make "$data/fine.m2v" video 32 480 3 15 0 1
	data_make "$data/coarse.m2v" video 33 720 9 9 3 1
	for name in fine coarse; do
		printf '$RUN bin/mpeg2dec -o null %s\n' "$data/$name-$percent.m2v"
		printf '$RUN bin/mpeg2dec -o md5 %s\n' "$data/$name.m2v"
	done
}
