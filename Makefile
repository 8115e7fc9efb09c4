# A thin front: CMake builds, tools/ installs and checks. `make help` lists the targets.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
TOOLS := $(shell tools/setup prefix)
export PATH := $(TOOLS)/bin:$(PATH)
# The sanitizers of gcc 12 fail now and then where the kernel spreads addresses over 32 bits.
PLAIN_ADDRESSES := $(shell setarch -R true 2>/dev/null && echo setarch -R)

release: ## Build build/werkbank
	cmake --preset release --log-level=WARNING
	cmake --build --preset release -j $(JOBS)

run: ## Install what is needed, build, and run the tour on this checkout
	tools/setup run
	$(MAKE) release
	build/werkbank tour

dev: ## Build with AddressSanitizer and UndefinedBehaviorSanitizer into build/dev
	cmake --preset dev --log-level=WARNING
	cmake --build --preset dev -j $(JOBS)

test: ## Install what tests need, build and run all of them
	tools/setup test
	$(MAKE) dev
	@# Real servers on a busy machine: what fails is run once more, and must pass then.
	$(PLAIN_ADDRESSES) ctest --preset dev -j 2 --repeat until-pass:2

tsan: ## Build with ThreadSanitizer and run the threaded unit tests
	tools/setup test
	cmake --preset tsan --log-level=WARNING
	cmake --build --preset tsan -j $(JOBS)
	$(PLAIN_ADDRESSES) ctest --preset tsan -j 2 --no-tests=error

clang: ## Build with clang 14, warnings as errors
	tools/setup test
	cmake --preset clang --log-level=WARNING
	cmake --build --preset clang -j $(JOBS)

bench: ## Each claim's benchmark beside its peers
	tools/setup bench
	$(MAKE) release
	bench/run

differential: ## ast_grep's matches beside ast-grep's, on real code
	tools/setup bench
	$(MAKE) release
	bench/ast_differential.py

fuzz: ## Run every fuzzer for FUZZ_SECONDS (60)
	tools/setup test
	tools/fuzz

format: ## Let clang-format lay out every file
	tools/check-format --fix

install: release ## Install below PREFIX (/usr/local)
	cmake --install build --prefix $(PREFIX)

deb: release ## Make a Debian package in build/
	cd build && cpack

clean: ## Delete what was built
	rm -rf build

help: ## This list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 12

.PHONY: release run dev test tsan clang bench differential fuzz format install deb clean help
.DEFAULT_GOAL := release
