#!/usr/bin/env bash
# Builds the fuzz targets and runs each for a number of executions; prints one table row a target, in Markdown.
# Usage: fuzz.sh [TARGET...] [--runs N] [--seconds N] [--jobs N] [--resume]
#   --runs     executions of each target (default 10,000,000)
#   --seconds  no target runs longer than this (default 7200)
#   --jobs     targets at the same time (default: one a core)
#   --resume   go on from what build/fuzz-counts holds, up to the same number of executions; else the count begins at 0
# New inputs go to build/fuzz-corpus/TARGET, so that a later run goes on from there; a crash leaves its input in build/fuzz-crashes.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  sed -n '3,7s/^# //p' "$0" >&2
  exit 64
}

wanted=() runs=10000000 seconds=7200 jobs=$(nproc) resume=
while [ $# -gt 0 ]; do
  case $1 in
    --runs | --seconds | --jobs)
      [[ ${2:-} =~ ^[0-9]+$ ]] || usage
      printf -v "${1#--}" '%s' "$2"
      shift
      ;;
    --resume) resume=yes ;;
    --yes) ;;
    -*) usage ;;
    *) wanted+=("$1") ;;
  esac
  shift
done

build=build/fuzz
cmake --preset fuzz >/dev/null
mapfile -t targets < <(sed -nE 's/^vitrine_fuzz\((\w+).*/\1/p' tests/fuzz/CMakeLists.txt)
for name in "${wanted[@]}"; do
  printf '%s\n' "${targets[@]}" | grep -qx -- "$name" || {
    echo "fuzz: no target $name; there are: ${targets[*]}" >&2
    exit 64
  }
done
[ ${#wanted[@]} -eq 0 ] || targets=("${wanted[@]}")
NINJA_STATUS='[%f/%t] ' ninja -C "$build" "${targets[@]/%/_fuzz}"

# A statistic of libFuzzer's closing lines, "stat::NAME: value"; 0 where it is missing.
statistic() { sed -nE "s/^stat::$1: *([0-9]+)/\1/p" "$2" | grep . || echo 0; }

# Executions of one libFuzzer process: the count of a campaign that is cut off loses no more than this.
slice=1000000

# fuzz TARGET OPTIONS...: one libFuzzer process over the target's inputs. Its output goes to the target's log.
fuzz() {
  local target=$1 program length dictionary=tests/fuzz/$1.dict
  shift
  program=$(find "$build" -type f -name "${target}_fuzz" -perm -u+x | head -n 1)
  length=$(sed -nE "s/^vitrine_fuzz\($target .*MAX_LEN ([0-9]+).*/\1/p" tests/fuzz/CMakeLists.txt)
  [ -f "$dictionary" ] && set -- -dict="$dictionary" "$@"
  "$program" ${length:+-max_len="$length"} -timeout=100 -rss_limit_mb=2048 -print_final_stats=1 -entropic=0 "$@" \
    -artifact_prefix="build/fuzz-crashes/$target-" "build/fuzz-corpus/$target" "tests/fuzz/corpus/$target" \
    >"build/logs/fuzz-$target.log" 2>&1
}

# A frame on the heap for every call costs most of the time where exceptions unwind, so the campaign runs without the
# check for uses after return, and all inputs that it found are run once more with it.
replay() { ASAN_OPTIONS=detect_stack_use_after_return=1 fuzz "$1" -runs=0; }

run_target() {
  local target=$1 log=build/logs/fuzz-$1.log count=build/fuzz-counts/$1 executions=0 milliseconds=0 crashes=0 missing
  local times=build/logs/fuzz-$1.times deadline=$((SECONDS + seconds)) TIMEFORMAT='%U %S'
  mkdir -p build/fuzz-corpus/"$target" build/fuzz-crashes build/fuzz-counts build/logs
  [ -z "$resume" ] || [ ! -f "$count" ] || read -r executions milliseconds <"$count"
  while [ "$executions" -lt "$runs" ] && [ "$SECONDS" -lt "$deadline" ] && [ "$crashes" -eq 0 ]; do
    missing=$((runs - executions))
    { time fuzz "$target" -runs=$((missing < slice ? missing : slice)) -max_total_time=$((deadline - SECONDS)); } 2>"$times" ||
      crashes=1
    executions=$((executions + $(statistic number_of_executed_units "$log")))
    milliseconds=$((milliseconds + $(awk 'END { printf "%d", 1000 * ($1 + $2) }' "$times")))
    echo "$executions $milliseconds" >"$count"
  done
  [ "$crashes" -ne 0 ] || replay "$target" || crashes=1
  printf '| %s | %s | %s | %s |\n' "$target" "$executions" $((1000 * executions / (milliseconds + 1))) "$crashes"
  if [ "$crashes" -ne 0 ]; then
    grep -E 'ERROR|SUMMARY|Test unit written' "$log" | sed "s/^/fuzz: $target: /" >&2
    return 1
  fi
}

export build runs seconds resume slice
export ASAN_OPTIONS=detect_stack_use_after_return=0:malloc_context_size=4:quarantine_size_mb=16
export -f run_target fuzz replay statistic
echo "| target | executions | executions per CPU second | crashes |"
echo "|---|---:|---:|---:|"
# xargs gives 123 when any target failed.
printf '%s\n' "${targets[@]}" | xargs -P "$jobs" -I{} bash -c 'run_target {}'
