# The book in two commands: `make book` and `make test`. Needs Python 3.11 or newer and git; everything else goes to .venv.
PYTHON ?= python3
CHAPTER ?=
CLAIM ?=
NAME ?=
URL ?=
ONLY ?=
UPGRADE ?=
SET ?=
SUBMISSIONS ?=
SHIELD ?= on
AGAIN ?=
FILE ?=
FOR ?= zip
ROSTER ?=
COLUMN ?=
JOBS ?= 2
SEED ?= 1
COUNT ?= 6
SIZE ?= 200
CHAPTERS ?=
EXAM ?= midterm
PAPERS ?= 4
WEEK ?=
PORT ?= 0
# On Linux with an x86 processor pip takes torch with CUDA, some gigabytes more. TORCH_INDEX=, set to the address that the
# "Get Started" page of pytorch.org shows for Linux, Pip and CPU, takes the small build of the same version.
TORCH_INDEX ?=

BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help book test lab report pdf pins tremble plan notebooks text notebook lint mutate mutants sweep assignments rehearse rehearse-class variants quiz exam slides grade read export check-submission address clean

help: ## this list
	@echo "Usage: make TARGET [CHAPTER=splines/breakpoints] ..."; echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-24s %s\n", $$1, $$2 }'

book: $(READY) ## build the site from the stored outputs and print the address of its first page
	@$(BIN)/python -m tools.site

test: $(READY) ## everything: style, package, notebooks, mutations, course, print, site, browser, install (ONLY="style package" for some of it)
	@$(BIN)/python -m tools.check --jobs $(JOBS) $(ONLY)

lab: $(READY) ## open the book in JupyterLab, in the same environment; the first time installs it there
	@$(BIN)/python -m tools.install lab
	@$(BIN)/jupyter lab --notebook-dir=book

report: $(READY) ## set the report that can be cited, as a PDF in _build/print; the first time installs Typst and pandoc
	@$(BIN)/python -m tools.install print
	@$(BIN)/python -m tools.print report

pdf: $(READY) ## set the print edition of the stories, as a PDF in _build/print
	@$(BIN)/python -m tools.install print
	@$(BIN)/python -m tools.print book

pins: $(READY) ## make the requirements*.txt again from what the requirements*.in ask for (UPGRADE=1 takes newer versions)
	@$(BIN)/python -m tools.pins $(if $(UPGRADE),--upgrade)

tremble: $(READY) ## which printed lines of CHAPTER=... hang on the last digit of a number
	@$(BIN)/python -m tools.tremble $(CHAPTER)

plan: $(READY) ## write the table of contents and the README's map again, from book/plan.yml
	@$(BIN)/python -m tools.plan

notebooks: $(READY) ## run all chapters, or CHAPTER=..., and store their outputs
	@$(BIN)/python -m tools.notebooks run $(CHAPTER)

text: $(READY) ## write CHAPTER=... as markdown, to edit it as text
	@$(BIN)/python -m tools.notebooks text $(CHAPTER)

notebook: $(READY) ## bring the edited text of CHAPTER=... back into its notebook
	@$(BIN)/python -m tools.notebooks back $(CHAPTER)

lint: $(READY) ## what the rules of the house say about all chapters, or CHAPTER=...
	@$(BIN)/python -m tools.lint $(CHAPTER)

mutate: $(READY) ## break the package under each check, or those of CHAPTER=... or CLAIM=id, and see it turn
	@$(BIN)/python -m tools.mutate $(CHAPTER) $(if $(CLAIM),--claim $(CLAIM)) --jobs $(JOBS)

mutants: $(READY) ## break the package at random, COUNT=... times, and see which changes no test notices
	@$(BIN)/python -m tools.mutants --count $(COUNT) --seed $(SEED)

sweep: $(READY) ## repeat the large run NAME=... (without a name: the runs there are; OPTIONS="--dry-run" tells what it takes)
	@$(BIN)/python -m experiments $(NAME) $(OPTIONS)

assignments: $(READY) ## make the student versions of all problem sets, or of SET=ps2, from the instructors' sources
	@$(BIN)/python -m course.make $(SET)

rehearse: $(READY) ## run the solution and the distractors of all problem sets, or of SET=ps2 (VARIANT=7: with the numbers of that seed)
	@$(BIN)/python -m course.rehearse $(SET) $(if $(VARIANT),--seed $(VARIANT))

rehearse-class: $(READY) ## make a class of SIZE=200 for PS2, right, wrong and hostile, grade it into _class and compare every row with what it deserves
	@$(BIN)/python -m course.tests.classroom _class --size $(SIZE) --jobs $(JOBS) --shield $(SHIELD)

variants: $(READY) ## numbers of their own for everybody: a notebook of SET=ps2 for each line of ROSTER=class.csv
	@$(BIN)/python -m course.variants $(SET) --roster "$(ROSTER)"

quiz: $(READY) ## a short test on paper and its key, with numbers of its own: SEED=1 COUNT=6 CHAPTERS="splines/depth ..."
	@$(BIN)/python -m course.quiz --seed $(SEED) --count $(COUNT) $(CHAPTERS)

exam: $(READY) ## EXAM=midterm or final on paper, PAPERS=4 with other numbers in each, and one key
	@$(BIN)/python -m course.quiz --exam $(EXAM) --papers $(PAPERS) --seed $(SEED)

slides: $(READY) ## ten figures to show in a class, one file for the stories of WEEK=3 or of CHAPTERS="splines/depth ..."
	@test -n "$(WEEK)$(CHAPTERS)" || { echo "make: which week? Say make slides WEEK=3"; exit 1; }
	@$(BIN)/python -m course.slides $(WEEK) $(CHAPTERS)

grade: $(READY) ## grade SET=ps2 SUBMISSIONS=folder [ROSTER=class.csv]; without a folder, enter what was graded by hand
	@test -n "$(SET)" || { echo "make: which set? Say make grade SET=ps2 SUBMISSIONS=folder"; exit 1; }
	@$(BIN)/python -m course.grade $(SET) $(if $(SUBMISSIONS),"$(SUBMISSIONS)") --shield $(SHIELD) --jobs $(JOBS) $(if $(AGAIN),--again) $(if $(ROSTER),--roster "$(ROSTER)")

read: $(READY) ## read the texts of SET=ps2 in a browser: text, rubric and score side by side, saved as you go (PORT=8123 for ssh -L)
	@$(BIN)/python -m course.reading $(SET) --port $(PORT)

export: $(READY) ## hand the points of SET=ps2 on: FOR=moodle, canvas or roster (ROSTER=file.csv: theirs, filled in), zip or nbgrader
	@$(BIN)/python -m course.export $(SET) $(FOR) $(if $(ROSTER),--roster "$(ROSTER)") $(if $(COLUMN),--column "$(COLUMN)")

check-submission: $(READY) ## try FILE=ps2.ipynb as the judge will, without the hidden tests
	@$(BIN)/python -m course.look "$(FILE)" $(if $(SET),--set $(SET)) $(if $(GIVEN),--given "$(GIVEN)")

address: $(READY) ## the repository moves to URL=https://github.com/OWNER/NAME: rewrite what follows from it
	@$(BIN)/python -m tools.address $(URL)

clean: ## remove what was built: the site, the environment, the caches (never the large runs under _sweeps and the grades under _grades)
	rm -rf .venv _build dist .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +

$(READY): requirements.txt pyproject.toml tools/install.py
	@command -v $(PYTHON) > /dev/null || { echo "make: there is no $(PYTHON) here; install Python 3.11 or newer, or say make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "make: the book needs Python 3.11 or newer and $(PYTHON) is $$($(PYTHON) -V 2>&1); say make PYTHON=python3.12, or what yours is called"; exit 1; }
	@TORCH_INDEX=$(TORCH_INDEX) $(PYTHON) -m tools.install
