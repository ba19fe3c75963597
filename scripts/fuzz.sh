#!/usr/bin/env bash
# Builds the fuzz targets and runs each for a number of executions; prints one table row a target, in Markdown.
# Usage: fuzz.sh [TARGET] [--runs N] [--seconds N] [--jobs N]
#   --runs     executions of each target (default 10,000,000)
#   --seconds  no target runs longer than this (default 7200)
#   --jobs     targets at the same time (default: one a core)
# New inputs go to build/fuzz-corpus/TARGET, so that a later run goes on from there; a crash leaves its input in build/fuzz-crashes.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  sed -n '3,6s/^# //p' "$0" >&2
  exit 64
}

wanted='' runs=10000000 seconds=7200 jobs=$(nproc)
while [ $# -gt 0 ]; do
  case $1 in
    --runs | --seconds | --jobs)
      [[ ${2:-} =~ ^[0-9]+$ ]] || usage
      printf -v "${1#--}" '%s' "$2"
      shift
      ;;
    --yes) ;;
    -*) usage ;;
    *) wanted=$1 ;;
  esac
  shift
done

build=build/fuzz
cmake --preset fuzz >/dev/null
mapfile -t targets < <(sed -nE 's/^vitrine_fuzz\((\w+).*/\1/p' tests/fuzz/CMakeLists.txt)
if [ -n "$wanted" ]; then
  printf '%s\n' "${targets[@]}" | grep -qx -- "$wanted" || {
    echo "fuzz: no target $wanted; there are: ${targets[*]}" >&2
    exit 64
  }
  targets=("$wanted")
fi
NINJA_STATUS='[%f/%t] ' ninja -C "$build" "${targets[@]/%/_fuzz}"

# A statistic of libFuzzer's closing lines, "stat::NAME: value".
statistic() { sed -nE "s/^stat::$1: *([0-9]+)/\1/p" "$2"; }

run_target() {
  local target=$1 corpus=build/fuzz-corpus/$1 log=build/logs/fuzz-$1.log crashes=0 program
  program=$(find "$build" -type f -name "${target}_fuzz" -perm -u+x | head -n 1)
  mkdir -p "$corpus" build/fuzz-crashes build/logs
  "$program" -runs="$runs" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="build/fuzz-crashes/$target-" "$corpus" "tests/fuzz/corpus/$target" >"$log" 2>&1 || crashes=1
  printf '| %s | %s | %s | %s |\n' "$target" "$(statistic number_of_executed_units "$log")" \
    "$(statistic average_exec_per_sec "$log")" "$crashes"
  if [ "$crashes" -ne 0 ]; then
    grep -E 'ERROR|SUMMARY|Test unit written' "$log" | sed "s/^/fuzz: $target: /" >&2
    return 1
  fi
}

export build runs seconds
export -f run_target statistic
echo "| target | executions | executions/s | crashes |"
echo "|---|---:|---:|---:|"
# xargs gives 123 when any target failed.
printf '%s\n' "${targets[@]}" | xargs -P "$jobs" -I{} bash -c 'run_target {}'
