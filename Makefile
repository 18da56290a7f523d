# Relock. `make help` lists the targets.

GO ?= go
# Without paths, what was compiled for the linter is not compiled again for the tests, nor in another checkout.
export GOFLAGS := -trimpath $(filter-out -trimpath,$(GOFLAGS))
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
TYPESCRIPT := typescript@5.9.3
GOFUMPT := mvdan.cc/gofumpt@v0.12.0
GOTESTSUM := gotest.tools/gotestsum@v1.13.0
ESBUILD := github.com/evanw/esbuild/cmd/esbuild@v0.28.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.8.0

# What passed and has not changed need not run again: Go's cache knows it. `make soak` runs all of it afresh.
AFRESH :=
# Without what takes long and seldom finds what the others do not.
SHORT := -short
# What fails is run once more. No test has a deadline of its own under a minute, and no package one under half an
# hour: a machine may be busy.
export GO GOTESTSUM
# The linter has vetted the same code; here vet would go through the standard library again. Without symbols a binary
# is linked in half the time.
FLAGS = -timeout 30m -vet=off -ldflags=-s $(SHORT) $(AFRESH)

# Tests on the wall's clock (package clocktest): they run at the end, while nothing else does. They wait nearly all the
# time, so packages are side by side; the race detector meets the same code in their other tests.
TIMED := ^TestTimed

# Without what a race binary waits for when it is done: a second in each of sixty packages.
RACE := GORACE=atexit_sleep_ms=50 GOGC=400

# The browser of the tests: Debian's, without a window, or what people have.
OPENS := chromium-headless-shell
FUZZ ?= 20s

.DEFAULT_GOAL := help
.PHONY: help run test browsed raced unraced timed soak image check checks lint types dead vulns generated tidy generate fmt bench chaos libraries module deps

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## Serve the playground on the embedded Redis: http://127.0.0.1:8080
	@echo "compiling, a minute or two the first time; a line for each package that is done:"
	@$(GO) run -v ./cmd/playground

test: deps ## Install what the tests need, and run them, with the race detector where it can find something
	@if command -v node >/dev/null; then node --test --test-reporter=dot web/static/test/*.test.js; \
	else echo "without node the page's scripts are tested in the browser alone"; [ -z "$(CI)" ]; fi
	@FLAKY=$$(mktemp) RAN=$$(mktemp -d); export FLAKY RAN; code=0; \
	$(MAKE) --no-print-directory -j 3 --output-sync=target browsed raced unraced && $(MAKE) --no-print-directory timed && .ci/lanes count $$RAN || code=1; \
	if [ -s $$FLAKY ]; then echo "== flaky: they failed, and passed when they were run again:"; cat $$FLAKY; fi; \
	rm -rf $$FLAKY $$RAN; exit $$code

# Each test is in one lane, as its own code says (package racetest). Most of the time one of the three waits: for a browser, for a
# server that restarts. What takes longest is first.
browsed:
	GOGC=400 E2E_BROWSER=$(OPENS) .ci/gotest browsed "$$(.ci/lanes browsed)" $(FLAGS) -parallel 2 -skip '$(TIMED)'

raced:
	$(RACE) .ci/gotest raced "$$(.ci/lanes raced)" $(FLAGS) -race -skip '$(TIMED)'

unraced:
	GOGC=400 .ci/gotest unraced "$$(.ci/lanes unraced)" $(FLAGS) -skip '$(TIMED)'
	GOGC=400 .ci/gotest unraced "$$(.ci/lanes marked)" $(FLAGS) -run "$$(.ci/lanes names)"
	cd engine/lock/otel && $(GO) vet . && $(GO) test $(FLAGS) .

timed:
	E2E_BROWSER=$(OPENS) .ci/gotest timed "$$(.ci/lanes timed)" $(FLAGS) -p 4 -parallel 1 -run '$(TIMED)'

soak: ## All tests again, whatever passed before, the long ones too, in the full browser; and then each fuzzer, and a bad network
	$(MAKE) test SHORT= AFRESH='-count 1' OPENS=chromium
	@for f in $$(git grep -lE '^func Fuzz' -- '*_test.go'); do \
	  for name in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\).*/\1/p' $$f); do \
	    echo "== $$name"; $(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZ) -fuzzminimizetime 1x ./$$(dirname $$f) || exit 1; \
	  done; \
	done
	$(MAKE) chaos

image: ## Build the container image, where podman or docker answers
	@.ci/image

check: lint checks ## Everything but the tests: lint, types, dead code, known vulnerabilities, generated files, go.mod

checks: types dead vulns generated tidy # which leave half of two cores idle, each: CI has them side by side

# The scripts of a film in a file of its own are one: such a file has no others.
BUNDLE := $(GO) run $(ESBUILD) web/static/js/file.js --bundle --minify --charset=utf8 --format=esm --target=es2022 --log-level=error --outfile=web/static/bundle/file.js

generate: ## Make *_templ.go from *.templ, the script of films in files, the schemas, what the course's and the lab's searches find, the locks' report cards, and the gallery's pictures (some minutes)
	$(GO) tool templ generate
	$(BUNDLE)
	$(GO) test ./engine/scenario -run Schema -count 1 -update
	$(GO) test ./engine/course -run Schema -count 1 -update-schema
	$(GO) test ./web/lesson -run Schema -count 1 -update-schema
	$(GO) test ./engine/course -run TestWhatIsKeptIsWhatIsFound -count 1 -update
	$(GO) test ./cmd/playground -run 'TestThe(Labs|Reviews)OfTheCourse' -count 1 -timeout 20m -update
	$(GO) test ./engine/explore/card -run TestBundledCards -count 1 -timeout 20m -update
	$(GO) test ./web/catalog -run TestTheGalleryIsWhatIsDrawn -count 1 -update

fmt: ## Format Go and templ files
	$(GO) run $(GOFUMPT) -w $$(git ls-files '*.go' | grep -v _templ.go)
	$(GO) tool templ fmt web

# A //nolint that names a linter that is off holds nothing back, and nolintlint does not see it.
lint: ## Format, vet and the linters of .golangci.yml; takes minutes the first time
	$(GO) run $(GOLANGCI) run --allow-serial-runners
	@off=$$(git grep -ohE '//nolint:[a-z,]+' -- '*.go' | sed 's/.*://' | tr , '\n' | sort -u | \
	  while read -r one; do grep -qE "^ +- $$one\b" .golangci.yml || echo "$$one"; done); \
	[ -z "$$off" ] || { echo "these linters are off, and are named after //nolint:" $$off; exit 1; }

types: ## Check the page's scripts by their JSDoc types (needs Node.js)
	@if command -v npx >/dev/null; then set -x; npx --yes --package $(TYPESCRIPT) -- tsc -p web/jsconfig.json; \
	else echo "without Node.js the scripts' types are not checked"; [ -z "$(CI)" ]; fi

dead: ## List functions that neither the program nor a test can reach, and fail if there are any
	@out=$$($(GO) tool deadcode -test ./...) || exit 1; [ -z "$$out" ] || { echo "$$out"; exit 1; }

vulns: ## List known vulnerabilities that the program can meet (needs vuln.go.dev)
	@.ci/vulns $(GO) run $(GOVULNCHECK) ./...

generated: ## Fail where *_templ.go and the bundle are not what they are made of, or some cells of the report cards not what a search finds (make soak looks at all)
	$(GO) tool templ generate -log-level error
	@$(BUNDLE)
	@git diff --exit-code --stat -- '*_templ.go' web/static/bundle || { echo "generated files are not up to date (make generate)"; exit 1; }
	GOGC=400 .ci/gotest generated ./engine/explore/card $(FLAGS)

tidy: ## Fail where go.mod is not tidy
	$(GO) mod tidy -diff

bench: deps ## Run the benchmarks, and those beside other libraries (ten minutes)
	$(GO) test -run '^$$' -bench . -benchtime 1s ./...
	cd engine/lock/bench && $(GO) vet . && $(GO) test -run '^$$' -bench . -benchtime 1x -timeout 60m .

module: ## Rename the module, to publish it: make module NAME=example.org/relock
	@GO=$(GO) .ci/rename '$(NAME)'

libraries: deps ## Search the locks that people use again, and keep what is seen (a quarter of an hour): ONLY=redsync,redis-py
	cd lessons/libraries && npm ci --no-audit --no-fund || echo "without their packages, the old figures of the Node libraries stay"
	$(GO) test ./lessons/libraries -run TestSearchAgain -count 1 -timeout 60m -v -update -only '$(ONLY)'

FOR ?= 30s
SEED ?= 1
chaos: deps ## Lock through a network that loses, repeats and cuts, FOR=30s each lock, SEED=1
	$(GO) test -race -count 1 -timeout 0 -v -run TestChaos ./engine/lock/locktest -chaos $(FOR) -seed $(SEED)

deps:
	@.ci/deps $(OPENS)
