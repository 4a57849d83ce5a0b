# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/programs/workload.sh says what these are

workload_title="Phalanx, a chess program (for the paper's go)"
workload_source=phalanx
workload_cflags="-std=gnu89 -D_GNU_SOURCE"
workload_binaries=(bin/phalanx)

workload_build()
{
	mkdir -p .o
	make -j "$JOBS" CC="$CC" CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS" phalanx
	install -D phalanx "$1/bin/phalanx"
}

# The best move at a fixed depth, no book, no learning, no clock. Training sees openings and middle
# games; the test other middle games and endings.
workload_script()
{
	local kind=$1 percent=$2 data=$3

	if [[ $kind == train ]]; then
		data_make "$data/train-$percent" chess_positions "$percent" 9 \
			"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1" \
			"r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3" \
			"r2q1rk1/ppp2ppp/2n1bn2/2bpp3/4P3/2PP1N2/PPBN1PPP/R1BQ1RK1 w - - 0 9"
	else
		data_make "$data/test-$percent" chess_positions "$percent" 9 \
			"r1bq1rk1/pp2bppp/2n1pn2/3p4/2PP4/2N2N2/PP2BPPP/R1BQ1RK1 w - - 0 9" \
			"2r2rk1/1b2qppp/p3pn2/1p6/3N4/1P2P1P1/PB1Q1PBP/2R2RK1 b - - 2 18" \
			"8/5pk1/4p1p1/1p1pP2p/1P1P1P1P/3K2P1/8/8 w - - 0 40" \
			"4r1k1/5ppp/p2b4/1p1p4/3P1B2/1P3P2/P4KPP/2R5 w - - 0 28"
	fi
	# What it took is not the same twice.
	printf '$RUN bin/phalanx -b- -l- -p- -o- -x+ -t 16384 <%s | grep -v "^Processor time\\|^Average NPS"\n' "$data/$kind-$percent"
}

# chess_positions PERCENT DEPTH FEN...: commands; deeper for every doubling of the scale would be too coarse,
# so a scale is how often the positions are searched, each time on a new game
chess_positions()
{
	local percent=$1 depth=$2 i position

	shift 2
	printf 'xboard\nnopost\n'
	for ((i = 0; i < percent; i++)); do
		position=$((i % $#))
		printf 'new\nforce\ndepth %d\nsetboard %s\ngo\n' "$depth" "${@:position + 1:1}"
	done
	printf 'quit\n'
}
