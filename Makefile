# Thin doors; CMake does the work (CMakePresets.json).
#
#   make run         sets up, builds, and draws a picture from a text
#   make test        sets up, builds, and runs every test, with sanitizers
#   make test-quick  of these the rules of the tree and the tests of a release build
#   make test-full   all with the full numbers of random cases
#   make bench       programs that measure
#   make clean       removes what was built

PROMPT ?= smiling cat
OUT    ?= cat.png

.PHONY: run test test-quick test-full bench clean

run:
	@tools/setup run
	@cmake --preset release -DTENON_BUILD_TESTS=OFF -DTENON_BUILD_BENCH=OFF > build/release-configure.log 2>&1 || { cat build/release-configure.log; exit 1; }
	@cmake --build --preset release --target tenon
	@build/release/tools/tenon/tenon draw "$(PROMPT)" -o $(OUT)

test:
	@tools/setup test
	@tests/run-all

test-quick:
	@tools/setup test
	@tests/run-all quick

test-full:
	@tools/setup test
	@TENON_FULL=1 tests/run-all

bench:
	@tools/setup test
	@cmake --preset release -DTENON_BUILD_BENCH=ON
	@cmake --build --preset release
	@bench/run

clean:
	rm -rf build
