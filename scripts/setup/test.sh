# `./vitrine test`: checks of the sources, the build, the inputs, then every test. Sourced by ./vitrine.
# shellcheck shell=bash disable=SC2154

test_usage() {
  cat >&2 <<'HELP'
usage: ./vitrine test [FILTER] [--asan | --tsan | --ubsan] [--yes]
  without FILTER: all checks and all tests; with it: the test binaries whose name holds FILTER, else the cases whose name does
  --asan, --tsan, --ubsan: the tests alone, in a build with that sanitizer
HELP
  exit 64
}

parse_test_arguments() {
  filter='' preset=release
  local argument
  for argument in "$@"; do
    case $argument in
      --asan | --tsan | --ubsan) preset=${argument#--} ;;
      --yes) ;;
      -*) test_usage ;;
      *)
        [ -z "$filter" ] || test_usage
        filter=$argument
        ;;
    esac
  done
}

# check NAME TITLE COMMAND...: a step whose failure is remembered and does not stop the others.
check() {
  local name=$1 title=$2 result=ok log_lines=80
  shift 2
  step "$name" "$title" counted_progress "$@" || result=failed
  printf '%s\t%s\t%s\n' "$name" "$result" "$step_seconds" >>"$checks"
}

# Nothing can be run without a build, but the closing line stands at the end of every run.
stop_without_build() {
  printf '0 passed, 1 failed, 0 skipped\n'
  exit 1
}

test_targets() {
  [ -n "$filter" ] || return 0
  ninja -C "$root/build/$preset" -t targets all 2>/dev/null |
    sed -nE 's/^([a-z0-9_]+_(test|fuzz)): phony$/\1/p' | grep -F -- "${filter#fuzz_corpus_}"
}

build_tests() {
  local targets
  step configure "Configuring" counted_progress configure "$preset" || stop_without_build
  mapfile -t targets < <(test_targets)
  [ "$preset" = release ] && touch "$stamp.next"
  step build "Building ${filter:+what matches $filter}" counted_progress run_ninja "$preset" "${targets[@]}" || stop_without_build
  if [ "$preset" = release ] && [ -z "$filter" ]; then mv "$stamp.next" "$stamp"; fi
}

check_sources() {
  check format "Format (clang-format)" "$root/scripts/check_format.sh"
  check layers "Folders and what they include" python3 "$root/scripts/check_layers.py"
  check hygiene "Files that belong here" python3 "$root/scripts/check_hygiene.py"
  check faults "Tests that the fault ledger names" python3 "$root/scripts/check_faults.py"
  check links "Links of the pages of documentation" python3 "$root/scripts/check_links.py"
}

check_objects() {
  check kernel_symbols "Weak symbols in kernels" "$root/scripts/check_kernel_symbols.sh" "$root/build/release"
  check lint "Names and habits (clang-tidy)" python3 "$root/scripts/lint.py" --build-dir "$root/build/release"
}

fetch_models() {
  local name
  for name in smollm2-135m-instruct gemma-3-270m; do
    "$binary" pull "$name" --yes || return
  done
}

fetch_tokenizers() { "$root/scripts/fetch_tokenizers.sh" "$root/build/tokenizer-files"; }

# The official API clients, as the lock files of tests/api name them.
fetch_clients() {
  local wanted=$root/tests/api packages=$root/build/api-clients
  cat "$wanted/requirements.txt" "$wanted/node/package-lock.json" | cmp -s - "$packages/lock" && return
  rm -rf "$packages"
  mkdir -p "$packages/node"
  pip3 install --quiet --disable-pip-version-check --no-deps --target "$packages/python" -r "$wanted/requirements.txt" &&
    cp "$wanted/node/package.json" "$wanted/node/package-lock.json" "$packages/node" &&
    npm ci --silent --prefix "$packages/node" &&
    cat "$wanted/requirements.txt" "$wanted/node/package-lock.json" >"$packages/lock"
}

# What builds and drives the pages, as their lock file names it.
fetch_page_tools() {
  cmp -s "$root/web/package-lock.json" "$root/build/web-tools.lock" && [ -d "$root/web/node_modules" ] && return
  npm ci --silent --prefix "$root/web" && cp "$root/web/package-lock.json" "$root/build/web-tools.lock"
}

# Without a network the tests that need these files skip and say so; under CI=true absence is a failure.
fetch_inputs() {
  step models "Fetching test models" counted_progress fetch_models || missing_input models
  step tokenizers "Fetching tokenizer files" counted_progress fetch_tokenizers || missing_input tokenizers
  export PYTHONPATH=$root/build/api-clients/python VITRINE_NODE_CLIENT=$root/build/api-clients/node
  step clients "Fetching API clients" counted_progress fetch_clients || missing_input clients
  step page_tools "Fetching what builds the pages" counted_progress fetch_page_tools || missing_input page_tools
}

# The pages in the repository are those of their sources.
check_pages() {
  [ -d "$root/web/node_modules" ] && check pages "Pages (TypeScript, Vite)" "$root/scripts/check_web.sh"
}

missing_input() {
  [ "${CI:-}" = true ] && printf '%s\tfailed\t%s\n' "fetch_$1" "$step_seconds" >>"$checks"
  say "    the tests that need these $1 will be skipped"
}

# Where a stored model lies; nothing where it is not on disk.
model_path() {
  "$binary" list --json | python3 -c 'import json, sys
for model in json.load(sys.stdin)["models"]:
    if model["name"] == sys.argv[1]: print(model["path"])' "$1"
}

# Two tests take a whole model, one as the file of its tokenizer.
name_models() {
  VITRINE_TEST_MODEL=$(model_path smollm2-135m-instruct)
  if [ -n "$VITRINE_TEST_MODEL" ]; then export VITRINE_TEST_MODEL; else unset VITRINE_TEST_MODEL; fi
  local gemma
  gemma=$(model_path gemma-3-270m)
  [ -z "$gemma" ] || ln -sf "$gemma" "$root/build/tokenizer-files/gemma3_gguf.gguf"
}

run_tests() {
  local options=(--build-dir "$root/build/$preset" --checks "$checks" --seconds-before "$SECONDS")
  [ -n "$filter" ] && options+=(--filter "$filter")
  if [ -n "$whole" ]; then
    options+=(--cargo "$root/bridge" --pytest "$root/tests/api" --pytest "$root/tests/bench" --node "$root/tests/web")
  fi
  step_idx=$((step_idx + 1))
  say "[$step_idx/$num_steps] Tests"
  python3 "$root/scripts/run_tests.py" "${options[@]}" 2>&1 | tee "$root/build/logs/tests.log"
  return "${PIPESTATUS[0]}"
}

command_test() {
  local filter preset checks whole=
  parse_test_arguments "$@"
  [ -z "$filter" ] && [ "$preset" = release ] && whole=yes
  checks=$root/build/checks.tsv
  : >"$checks"
  # configure, build, tests; and for a whole run three checks of sources, two of objects, four kinds of inputs, the pages
  num_steps=3
  [ -n "$whole" ] && num_steps=13
  find_missing_tools build test
  install_missing_tools
  [ -n "$whole" ] && check_sources
  build_tests
  if [ -n "$whole" ]; then
    check_objects
    fetch_inputs
    check_pages
  fi
  [ ! -x "$binary" ] || name_models
  run_tests
  exit
}
