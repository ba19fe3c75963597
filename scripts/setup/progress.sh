# Steps with a title, a log and a line that shows how far each is. Sourced by ./vitrine.
# shellcheck shell=bash

step_idx=0
num_steps=0
child=

say() { printf '%s\n' "$*" >&2; }
die() {
  local status=$1
  shift
  say "vitrine: $*"
  exit "$status"
}

on_interrupt() {
  trap - INT TERM
  if [ -n "$child" ]; then
    kill -TERM -- "-$child" 2>/dev/null
    wait "$child" 2>/dev/null
  fi
  printf '\n' >&2
  exit 130
}

clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# The newest "[done/total]" in a log, as ninja and scripts/lint.py print it; nothing where there is none.
counted_progress() { tail -c 2000 "$1" | tr '\r' '\n' | grep -oE '\[[0-9]+/[0-9]+\]' | tail -n 1; }

# apt names every package three times: when it is fetched, unpacked and set up.
apt_progress() {
  local total done
  total=$(grep -oE '[0-9]+ newly installed' "$1" | head -n 1 | grep -oE '[0-9]+') || return 0
  done=$(grep -cE '^(Get:|Unpacking |Setting up )' "$1")
  [ "$total" -gt 0 ] && printf '[%d/%d]' $((done < total * 3 ? done : total * 3)) $((total * 3))
}

time_left() {
  local seconds=$1 counts=$2 done total
  [[ $counts =~ \[([0-9]+)/([0-9]+)\] ]] || return 0
  done=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
  # The first few units say little about the rest.
  [ "$done" -ge 3 ] && [ "$seconds" -ge 3 ] && [ "$done" -lt "$total" ] || return 0
  printf ', about %s left' "$(clock $((seconds * (total - done) / done)))"
}

# On a terminal one line that is rewritten; elsewhere a line every 20 seconds, so that a log stays short.
show_progress() {
  local head=$1 log=$2 progress=$3 start=$4 seconds counts line
  seconds=$((SECONDS - start))
  counts=$("$progress" "$log")
  line="$head ${counts:+$counts }$(clock "$seconds")$(time_left "$seconds" "$counts")"
  if [ -t 2 ]; then
    printf '\r\033[K%s' "$line" >&2
  elif [ "$seconds" -ge "$next_report" ]; then
    next_report=$((seconds + 20))
    [ "$seconds" -gt 0 ] && say "$line"
  fi
}

# step NAME TITLE PROGRESS COMMAND...: runs the command with its output in build/logs/NAME.log.
# Its status is returned; after a failure the end of the log has been shown.
step() {
  local name=$1 title=$2 progress=$3 log start status head next_report=0
  shift 3
  step_idx=$((step_idx + 1))
  head="[$step_idx/$num_steps] $title"
  log=$root/build/logs/$name.log
  mkdir -p "$root/build/logs"
  start=$SECONDS
  # A process group of its own, so that an interrupt ends the whole step.
  set -m
  "$@" >"$log" 2>&1 </dev/null &
  set +m
  child=$!
  while kill -0 "$child" 2>/dev/null; do
    show_progress "$head" "$log" "$progress" "$start"
    sleep 0.2
  done
  wait "$child"
  status=$?
  child=
  step_seconds=$((SECONDS - start))
  [ -t 2 ] && printf '\r\033[K' >&2
  if [ "$status" -eq 0 ]; then
    say "$head: done in $(clock "$step_seconds")"
    return 0
  fi
  say "$head: FAILED after $(clock "$step_seconds"); the end of ${log#"$root"/}:"
  tail -n "${log_lines:-30}" "$log" | sed 's/^/    /' >&2
  return "$status"
}
