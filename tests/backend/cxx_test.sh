# SPDX-License-Identifier: Apache-2.0
# morph c++, and build systems: exceptions, templates, plain make, CMake.
. "$MORPH_SOURCE/tests/backend/common.sh"

cat >shape.h <<'END'
#include <cstdio>
#include <stdexcept>
#include <string>
struct shape { virtual ~shape() {} virtual double area() const = 0; };
struct square : shape { double a; explicit square(double a) : a(a) {} double area() const override; };
template <class T> struct total { T sum{}; void add(T x) { sum += x; } };
double parse(const std::string &s);
END
cat >shape.cc <<'END'
#include "shape.h"
double square::area() const { return a * a; }
double parse(const std::string &s) {
	if (s.empty()) throw std::invalid_argument("empty");
	return std::stod(s);
}
END
cat >main.cc <<'END'
#include "shape.h"
#include <memory>
static std::string early = "early";
int main(int argc, char **argv) {
	total<double> t;
	for (int i = 1; i < argc; i++) {
		try {
			std::unique_ptr<shape> s(new square(parse(argv[i])));
			t.add(s->area());
		} catch (const std::invalid_argument &e) {
			printf("bad: %s\n", e.what());
		}
	}
	printf("%s %g\n", early.c_str(), t.sum);
}
END
wanted=$(printf 'bad: empty\nearly 13')

case_of "exceptions, virtual calls, static constructors"
must morph c++ -O2 main.cc shape.cc -o prog && same "$(./prog 2 '' 3)" "$wanted" "output" && carries prog
same "$(field prog unplaced_probes)" 0 "unplaced probes"
relinks prog
same "$(relink/out 2 '' 3)" "$wanted" "the relink's output"
must morph-c++ -O2 -g main.cc shape.cc -static-libstdc++ -static-libgcc -o prog && same "$(./prog 2 '' 3)" "$wanted" "static"
carries prog
relinks prog
same "$(relink/out 2 '' 3)" "$wanted" "the relink's output"

case_of "a static program: several names of one function that is chosen at start"
cat >threads.cc <<'END'
#include <iostream>
#include <locale>
#include <thread>
int main(int argc, char **argv)
{
	std::thread worker([&] { std::wcout << argc << std::locale("C").name().c_str() << argv[argc - 1] << std::endl; });
	worker.join();
	return 0;
}
END
must morph c++ -O2 threads.cc -static -o m && carries m && same "$(./m x)" "2Cx" "static"
must morph optimize --check m

case_of "a destructor of the IR that GCC has in a group of another name"
cat >one.h <<'END'
extern int ended;
struct one { int n; __attribute__((noinline)) ~one() { ended += n; } };
int other();
END
printf '#include "one.h"\nint ended;\nint main(int argc, char **) { { one a{argc}; } return other(); }\n' >one.cc
printf '#include "one.h"\nint other() { { one a{40}; } return ended; }\n' >other.cc
must g++ -O2 -c other.cc
for order in "one.cc other.o" "other.o one.cc"; do
	must morph c++ -O2 $order -o m && carries m && must morph optimize --check m
	./m; same $? 41 "$order"
done

case_of "the same build again, wherever the compiler's memory was"
{
	echo '#include <cstdlib>'
	echo '#include <string>'
	for i in $(seq 40); do echo "static std::string s$i(getenv(\"HOME\") ? \"a\" : \"b\");"; done
	echo 'int main() { return s1 == s2 ? 0 : 1; }'
} >early.cc
must morph c++ -O2 early.cc -o early && mv early first
for again in 1 2 3 4 5; do must morph c++ -O2 early.cc -o early && must cmp first early; done
id() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
for style in fast md5 sha1 0xc0ffee00c0ffee00; do
	must morph c++ -O2 -Wl,--build-id=$style main.cc shape.cc -o prog && carries prog
	same "$(./prog 2 '' 3)" "$wanted" "--build-id=$style"
	relinks prog
done
same "$(id prog)" c0ffee00c0ffee00 "the caller's own build ID"
morph c++ -O2 -Wl,--build-id=0xc0ffee00 main.cc shape.cc -o short 2>short.log
same "$(id short)" c0ffee00 "a short build ID is the caller's business"
must grep -q "carries no Morph data: .* no build ID of 8 to 32 bytes" short.log

case_of "plain make with an unmodified makefile"
cat >Makefile <<'END'
OBJS = main.o b.o c.o
m: libbc.a main.o ; $(CC) $(CFLAGS) $(LDFLAGS) main.o -L. -lbc -o m
libbc.a: b.o c.o ; $(AR) rcs $@ $^
END
must make CC="morph cc" CFLAGS=-O2 LDFLAGS="-Wl,-z,relro -Wl,-z,now" m && carries m && same "$(./m)" 4 "make"

case_of "CMake: both spellings of the compiler"
command -v cmake >/dev/null || { echo "skipped: cmake is not installed"; end; }
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(small C CXX)
add_library(bc STATIC b.c c.c)
add_library(lib SHARED shape.cc)
add_executable(m main.c)
target_link_libraries(m bc)
add_executable(prog main.cc)
target_link_libraries(prog lib)
END
CC="morph cc" CXX=morph-c++ must cmake -S . -B one -DCMAKE_BUILD_TYPE=Release
must cmake --build one
carries one/m && carries one/prog && carries one/liblib.so
same "$(one/m)" 4 "one/m"
same "$(one/prog 2 '' 3)" "$wanted" "one/prog"
end
