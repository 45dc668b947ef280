# SPDX-License-Identifier: Apache-2.0
#
# The front door. Each target installs the Debian packages that it needs and that are missing (scripts/packages
# lists them), then calls Meson. The meson.build files say how things are built.
#
# Variables: BUILD, the build directory; PREFIX, DESTDIR and MODULE, for install; MESON_OPTIONS, for the first
# configuration of a build directory; PACKAGES=present, on systems that name their packages differently.

BUILD         ?= build
PREFIX        ?= /usr/local
MESON_OPTIONS ?=
export PACKAGES
export MAKECMDGOALS # for what install-packages says

need = @scripts/install-packages

.PHONY: help demo check check-long bench bench-all install format lint clean

help:
	@echo 'make demo        build, then run the main job: 20 million IDs, 10 million lookups'
	@echo 'make demo-server  run the module for Redis and Valkey in a server: reserve, add, restart, look up'
	@echo 'make check       build, then run every quick test (a minute or two)'
	@echo 'make check-long  run all tests: also those that only CI runs, and the long ones'
	@echo 'make bench       run the benchmarks (minutes); make bench-all: all sizes, and write the pages'
	@echo 'make bench-corpora  compare dedupe of documents with its peers (two GB, minutes)'
	@echo 'make bench-python   compare the Python package with a set (half a minute)'
	@echo 'make bench-npm      compare the npm package with two others (a minute)'
	@echo 'make web         build the explorer, a page in one file: $(BUILD)-web/explorer.html'
	@echo 'make check-web   build it, then run its tests in a browser without a window'
	@echo 'make check-valkey run the tests of the module in Valkey'
	@echo 'make install     install library, header and command (PREFIX=$(PREFIX), DESTDIR);'
	@echo '                 with MODULE=yes also the module for Redis and Valkey'
	@echo 'make uninstall   remove what make install has installed'
	@echo 'make format      format every C file'
	@echo 'make lint        run the formatter and the analysers, as CI does'
	@echo 'make clean       remove $(BUILD)/'

# A build directory is configured once; ninja does it again when a meson.build changes.
$(BUILD)/build.ninja:
	@echo 'configuring $(BUILD)/'
	@output=$$(meson setup $(BUILD) --prefix $(PREFIX) $(MESON_OPTIONS) 2>&1) || \
	    { echo "$$output"; exit 1; }

demo:
	$(need) demo
	@$(MAKE) --silent --no-print-directory $(BUILD)/build.ninja
	@ninja --quiet -C $(BUILD) tool/bloomery lineage/bloomery-experiment
	@$(BUILD)/lineage/bloomery-experiment

# The module in a server that this target starts and ends. Only this machine can reach it.
.PHONY: demo-server
demo-server:
	$(need) server
	@$(MAKE) --silent --no-print-directory $(BUILD)/build.ninja
	@grep -q '^build module/bloomery.so:' $(BUILD)/build.ninja || \
	    { output=$$(meson setup --reconfigure $(BUILD) -Dmodule=enabled 2>&1) || { echo "$$output"; exit 1; }; }
	@ninja --quiet -C $(BUILD) tool/bloomery module/bloomery.so
	@module/demo.py $(BUILD)

# In Redis the same tests are part of make check-long. scripts/valkey unpacks Valkey from Debian's backports and
# installs nothing.
.PHONY: check-valkey
check-valkey: build-tests
	$(need) server
	@scripts/check-valkey $(BUILD)

# Enables the tests, once, in a directory that was configured before cmocka was installed.
$(BUILD)/tests-enabled: $(BUILD)/build.ninja
	@meson configure $(BUILD) -Dtests=enabled
	@touch $@

.PHONY: build-tests
build-tests:
	$(need) check
	@$(MAKE) --silent --no-print-directory $(BUILD)/tests-enabled
	@ninja --quiet -C $(BUILD)

check: build-tests
	@scripts/run-tests $(BUILD) --suite quick $(if $(COUNTS),--counts $(COUNTS))

check-long: build-tests
	@scripts/run-tests $(BUILD) --suite quick --suite full --suite long

# Benchmarks have a build of their own: without asserts, as an installed one, but with the switch of the kernels,
# since lesser processors are measured too. BENCH='--steps filters' runs a part; bench/run.py lists the steps.
.PHONY: build-bench
build-bench:
	$(need) bench
	@test -f $(BUILD)-bench/build.ninja || \
		meson setup $(BUILD)-bench -Db_ndebug=true -Dbenchmarks=true -Dtests=disabled -Dmodule=enabled $(MESON_OPTIONS)
	@ninja --quiet -C $(BUILD)-bench

bench: build-bench
	@bench/run.py $(BUILD)-bench $(BENCH)

bench-all: build-bench
	@meson test -C $(BUILD)-bench --benchmark --verbose
	@bench/run.py $(BUILD)-bench --full --docs docs $(BENCH)

# Two gigabytes of documents, for which the peers take minutes. BENCH='--bytes 200M' uses fewer.
.PHONY: bench-corpora
bench-corpora: build-bench
	@bench/corpora.py $(BUILD)-bench $(BENCH)

# The explorer: the library as WebAssembly, and the page around it. npm fetches the tools that build the page.
.PHONY: need-node web check-web
need-node:
	@command -v npm >/dev/null || test "$(PACKAGES)" = present || scripts/install-packages node

web: need-node
	$(need) wasm-page
	@$(MAKE) --silent --no-print-directory $(BUILD)/build.ninja
	@ninja --quiet -C $(BUILD) tool/bloomery
	@scripts/build-web $(BUILD)-web $(BUILD)/tool/bloomery

check-web: need-node
	$(need) web
	@$(MAKE) --silent --no-print-directory $(BUILD)/build.ninja
	@ninja --quiet -C $(BUILD) tool/bloomery
	@scripts/check-web $(BUILD)-web $(BUILD)/tool/bloomery

# The npm package beside two others, which npm fetches.
.PHONY: bench-npm
bench-npm: web
	@npm install --silent --no-audit --no-fund --prefix $(BUILD)-web/peers bloom-filters@3.0.4 bloomfilter@1.1.0
	@node bench/npm_keys.mjs $(BUILD)-web $(BUILD)-web/peers $(BENCH)

# What is installed has a build of its own: type release, without asserts and without the switches that only
# tests need. The explorer is installed too if `make web` has built it. The cache of the dynamic linker is
# renewed if the directories are the system's own.
install:
	$(need) demo
	@test -f $(BUILD)-release/build.ninja || \
		meson setup $(BUILD)-release --buildtype=release -Dtests=disabled $(MESON_OPTIONS)
	@meson configure $(BUILD)-release --prefix $(PREFIX) -Dexplorer=$(abspath $(wildcard $(BUILD)-web/explorer.html)) \
		$(if $(MODULE),-Dmodule=enabled)
	@ninja --quiet -C $(BUILD)-release
	@meson install -C $(BUILD)-release --no-rebuild
	@module=$$(grep '/bloomery/bloomery\.so$$' $(BUILD)-release/meson-logs/install-log.txt) || \
		{ echo 'The module for Redis and Valkey was not installed. To install it too: make install MODULE=yes'; exit 0; }; \
	module=$${module#$(DESTDIR)}; \
	echo "To load the module, write into the server's configuration: loadmodule $$module"; \
	case $$module in /usr/lib/*) ;; *) echo "Debian's own services load modules from /usr/lib alone: docs/server.md";; esac
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

# Removes only what the last `make install` of this folder installed.
.PHONY: uninstall
uninstall:
	@test -f $(BUILD)-release/meson-logs/install-log.txt || { echo 'nothing was installed from here' >&2; exit 2; }
	@ninja --quiet -C $(BUILD)-release uninstall >/dev/null
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

# The Python package beside a set and a filter in plain Python; half a minute.
.PHONY: bench-python
bench-python: build-bench
	@PYTHONPATH=$(BUILD)-bench/python /usr/bin/python3 bench/python_keys.py $(BUILD)-bench $(BENCH)

format:
	$(need) lint
	@scripts/lint --fix

lint:
	$(need) lint
	@$(MAKE) --silent --no-print-directory $(BUILD)/tests-enabled
	@scripts/lint $(BUILD)

clean:
	rm -rf $(BUILD) $(BUILD)-release $(BUILD)-bench $(BUILD)-web
