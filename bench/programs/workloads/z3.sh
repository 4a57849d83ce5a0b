# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/programs/workload.sh says what these are

workload_title="Z3: a theorem prover in C++ of hundreds of modules, exceptions, virtual calls, 20 MB text; and its tests with all of it inside"
workload_source=z3
workload_tables=no
workload_packages=(cmake g++ python3)
workload_binaries=(bin/z3 bin/test-z3)
workload_suite="the tests of test-z3 /a, each in a process of its own"

workload_build()
{
	# Templates that are never made into code name members that do not exist, which clang 22 does not accept.
	sed -i '/return m_A.get_elem(m_row, j)/d' src/math/lp/tail_matrix.h
	sed -i 's/v.m_matrix.get(v/v.m_matrix.get_elem(v/' src/math/lp/static_matrix.h
	sed -i 's/A.get_value_of_column_cell(col)/A.get_val(col)/' src/math/lp/static_matrix_def.h
	sed -i 's/== c.m_low_bound/== c.m_lower_bound/' src/math/lp/column_info.h
	cmake -S . -B build -G "Unix Makefiles" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-DNDEBUG \
		-DCMAKE_INSTALL_PREFIX="$1" -DCMAKE_CXX_FLAGS="$CXXFLAGS -g0" -DCMAKE_EXE_LINKER_FLAGS="$LDFLAGS" \
		-DZ3_BUILD_LIBZ3_SHARED=OFF -DPYTHON_EXECUTABLE=/usr/bin/python3
	make -C build -j "$JOBS" shell
	make -C build -j "$JOBS" test-z3
	mkdir -p "$1/bin"
	cp build/z3 build/test-z3 "$1/bin/"
}

# A test that passes says so and ends with 0; one that fails ends the process. Those behind zstring are not of /a: some run
# for ten minutes and more.
workload_tests()
{
	local name names passed=0 failed=0

	names=$(build/test-z3 /h | sed -n 's/^    \([a-z0-9_]*\)$/\1/p; /^zstring$/q')
	for name in $names; do
		if timeout 300 build/test-z3 "$name" >test.log 2>&1 && grep -q '^PASS$' test.log; then
			passed=$((passed + 1))
		else
			failed=$((failed + 1))
			printf 'FAILED: %s\n' "$name"
			tail -n 3 test.log
		fi
	done
	printf '%d %d 0\n' "$passed" "$failed"
}

# Training: a timetable (differences of integers), a product (bit vectors), a memory (arrays), and some unit tests. The test: a
# Latin square (integers), a sum of bits (bit vectors), a blend (reals), a graph (Horn clauses), and other unit tests.
workload_script()
{
	local kind=$1 percent=$2 data=$3

	if [[ $kind == train ]]; then
		data_make "$data/timetable-$percent.smt2" z3_timetable $((4 + percent / 20))
		data_make "$data/product-$percent.smt2" z3_product $((4 + percent / 50))
		data_make "$data/memory-$percent.smt2" z3_memory $((10 + percent / 2))
		printf '$RUN bin/z3 %s\n' "$data"/{timetable,product,memory}-"$percent".smt2
		printf '$RUN bin/test-z3 %s | sed "s/(test.*//"\n' bit_blaster rational smt_context polynomial
		return
	fi
	data_make "$data/square-$percent.smt2" z3_square $((4 + percent / 25))
	data_make "$data/bits-$percent.smt2" z3_bits $((8 + percent / 10))
	data_make "$data/blend-$percent.smt2" z3_blend $((10 + percent))
	data_make "$data/graph-$percent.smt2" z3_graph $((10 + percent))
	printf '$RUN bin/z3 %s\n' "$data"/{square,bits,blend,graph}-"$percent".smt2
	printf '$RUN bin/test-z3 %s | sed "s/(test.*//"\n' upolynomial mpq egraph
}

# N jobs of N steps on N machines, each step on another machine: all done in time?
z3_timetable()
{
	awk -v n="$1" 'BEGIN {
		print "(set-logic QF_IDL)"
		for (i = 0; i < n; i++) for (j = 0; j < n; j++) {
			printf "(declare-fun s%d_%d () Int)\n", i, j
			length_[i "," j] = 2 + (i * 7 + j * 5 + i * j) % 6
			machine[i "," j] = (i * (j % 3 + 1) + j) % n
			printf "(assert (>= s%d_%d 0))\n(assert (<= s%d_%d %d))\n", i, j, i, j, n * 6 - length_[i "," j]
			if (j) printf "(assert (>= (- s%d_%d s%d_%d) %d))\n", i, j, i, j - 1, length_[i "," j - 1]
		}
		for (i = 0; i < n; i++) for (k = i + 1; k < n; k++) for (j = 0; j < n; j++) for (l = 0; l < n; l++)
			if (machine[i "," j] == machine[k "," l])
				printf "(assert (or (>= (- s%d_%d s%d_%d) %d) (>= (- s%d_%d s%d_%d) %d)))\n",
					i, j, k, l, length_[k "," l], k, l, i, j, length_[i "," j]
		print "(check-sat)"
	}'
}

# (a + b) (a - b) = a a - b b in N bits
z3_product()
{
	printf '(set-logic QF_BV)\n(declare-fun a () (_ BitVec %d))\n(declare-fun b () (_ BitVec %d))\n' "$1" "$1"
	printf '(assert (not (= (bvmul (bvadd a b) (bvsub a b)) (bvsub (bvmul a a) (bvmul b b)))))\n(check-sat)\n'
}

# N cells written in one order and in the other
z3_memory()
{
	awk -v n="$1" 'BEGIN {
		print "(set-logic QF_ALIA)\n(declare-fun m () (Array Int Int))\n(declare-fun x () Int)"
		for (i = 0; i < n; i++) a = i ? "(store " a " (+ x " i * 3 ") " i * i ")" : "(store m x 0)"
		for (i = n - 1; i >= 0; i--) b = i < n - 1 ? "(store " b " (+ x " i * 3 ") " i * i ")" : "(store m (+ x " i * 3 ") " i * i ")"
		print "(assert (not (= " a " " b ")))\n(check-sat)"
	}'
}

# A Latin square of N by N with a given diagonal, and its sums by other weights
z3_square()
{
	awk -v n="$1" 'BEGIN {
		print "(set-logic QF_LIA)"
		for (i = 0; i < n; i++) for (j = 0; j < n; j++)
			printf "(declare-fun q%d_%d () Int)\n(assert (and (> q%d_%d 0) (<= q%d_%d %d)))\n", i, j, i, j, i, j, n
		for (i = 0; i < n; i++) {
			row = column = sum = ""
			for (j = 0; j < n; j++) {
				row = row " q" i "_" j
				column = column " q" j "_" i
				sum = sum " (* " (j * 3 + i) % 5 + 1 " q" i "_" j ")"
			}
			printf "(assert (distinct%s))\n(assert (distinct%s))\n", row, column
			printf "(assert (> (+%s) %d))\n(assert (= q%d_%d %d))\n", sum, n * n, i, i, i + 1
		}
		print "(check-sat)"
	}'
}

# The bits of a word of N, counted one by one and by halves
z3_bits()
{
	awk -v n="$1" 'BEGIN {
		printf "(set-logic QF_BV)\n(declare-fun w () (_ BitVec %d))\n", n
		for (i = 0; i < n; i++) bit[i] = "((_ zero_extend 7) ((_ extract " i " " i ") w))"
		one = bit[0]
		for (i = 1; i < n; i++) one = "(bvadd " one " " bit[i] ")"
		for (m = n; m > 1; m = k)
			for (k = i = 0; i < m; i += 2) bit[k++] = i + 1 < m ? "(bvadd " bit[i] " " bit[i + 1] ")" : bit[i]
		print "(assert (not (= " one " " bit[0] ")))\n(check-sat)"
	}'
}

# Shares of N things, sums of which are bounded on both sides
z3_blend()
{
	awk -v n="$1" 'BEGIN {
		print "(set-logic QF_LRA)"
		for (i = 0; i < n; i++) printf "(declare-fun r%d () Real)\n(assert (>= r%d 0.0))\n", i, i
		for (k = 0; k < n; k++) {
			sum = ""
			for (i = k % 3; i < n; i += 3) sum = sum " (* " (i * 13 + k * 7) % 11 + 1 ".0 r" i ")"
			printf "(assert (or (<= (+%s) %d.0) (>= (+%s) %d.0)))\n", sum, 50 + k, sum, 90 + 2 * k
			printf "(assert (>= (+ r%d r%d r%d) %d.5))\n", k, (k + 1) % n, (k * 5 + 2) % n, k % 4
		}
		print "(check-sat)"
	}'
}

# What can be reached in a graph of N, by Horn clauses
z3_graph()
{
	awk -v n="$1" 'BEGIN {
		print "(set-logic HORN)\n(declare-fun reach (Int Int) Bool)"
		print "(assert (reach 0 0))"
		printf "(assert (forall ((a Int) (b Int)) (=> (and (reach a b) (< a %d)) (reach (+ a 1) (+ b 2)))))\n", n
		printf "(assert (forall ((a Int) (b Int)) (=> (and (reach a b) (> b %d)) (reach a (- b 3)))))\n", n
		printf "(assert (forall ((a Int) (b Int)) (=> (reach a b) (<= b (+ a a)))))\n"
		print "(check-sat)"
	}'
}
