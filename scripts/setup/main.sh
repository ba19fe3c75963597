# What ./vitrine does when it does more than call the binary. Sourced by it; $root, $binary and $stamp are set.
# shellcheck shell=bash disable=SC2154

# shellcheck source=scripts/setup/progress.sh
. "$root/scripts/setup/progress.sh"
# shellcheck source=scripts/setup/system.sh
. "$root/scripts/setup/system.sh"
# shellcheck source=scripts/setup/test.sh
. "$root/scripts/setup/test.sh"

short_help() {
  cat <<'HELP'
Vitrine: an LLM inference engine that shows every stage of its own work. This checkout is not built yet.

  ./vitrine chat "Explain the KV cache in three sentences."   installs what is missing, builds, fetches a model, answers
  ./vitrine build          only install and build (about five minutes on two cores)
  ./vitrine test           build and run all checks and tests

Once it is built, ./vitrine --help lists every command. --yes answers every question with yes.
HELP
}

# One call at a time changes build/; a second one waits and then finds the work done.
take_lock() {
  mkdir -p "$root/build"
  exec 9>"$root/build/.lock"
  flock --nonblock 9 && return
  say "vitrine: waiting for another ./vitrine that is building"
  flock 9
}

# find_missing_tools LIST...: sets `packages` to what is missing and `need_rust`, for the count of steps and the installation.
find_missing_tools() {
  packages=()
  need_rust=
  if command -v dpkg-query >/dev/null; then mapfile -t packages < <(missing_packages "$@"); fi
  export PATH="$PATH:$HOME/.cargo/bin"
  has_cargo || use_rustup_toolchain || need_rust=yes
  # A recent cargo-web comes with the other packages, in one go.
  if [ -n "$need_rust" ] && [ "${#packages[@]}" -gt 0 ] && ! command -v rustup >/dev/null && apt_cargo_is_recent; then
    packages+=(cargo-web)
    need_rust=
  fi
  [ "${#packages[@]}" -gt 0 ] && num_steps=$((num_steps + 1))
  [ -n "$need_rust" ] && num_steps=$((num_steps + 1))
  return 0
}

install_missing_tools() {
  [ "${#packages[@]}" -gt 0 ] && install_packages "${packages[@]}"
  if [ -n "$need_rust" ]; then install_rust; fi
}

configure() {
  cd "$root" && cmake --preset "$1"
}

# Both presets share build/release; once tests are configured there they stay, so that objects and targets do not flip.
binary_preset() {
  if grep -qs '^VITRINE_BUILD_TESTS:BOOL=ON' "$root/build/release/CMakeCache.txt"; then echo release; else echo app; fi
}

# CCACHE_BASEDIR: another checkout of the same sources finds what this one compiled.
run_ninja() {
  local folder=$1
  shift
  CCACHE_BASEDIR=$root NINJA_STATUS='[%f/%t] ' ninja -C "$root/build/$folder" "$@"
}

# The stamp takes the time from before the build: what is saved while it runs makes the next call build again.
build_binary() {
  step configure "Configuring" counted_progress configure "$(binary_preset)" || return
  touch "$stamp.next"
  step build "Building" counted_progress run_ninja release vitrine || return
  mv "$stamp.next" "$stamp"
}

# command_build [LIST...]: installs also what those lists name.
command_build() {
  num_steps=$((num_steps + 2))
  find_missing_tools build "$@"
  install_missing_tools
  build_binary || exit 70
}

main() {
  local command=${1:-} argument
  trap on_interrupt INT TERM
  for argument in "$@"; do
    if [ "$argument" = --yes ]; then export VITRINE_YES=1; fi
  done
  case $command in
    '' | --help | -h | help)
      if [ ! -x "$binary" ]; then
        short_help
        exit
      fi
      ;;
  esac
  if [ "$command ${2:-}" = 'bench corpus' ]; then
    shift 2
    exec python3 "$root/bench/corpus.py" "$@"
  fi
  check_system
  take_lock
  if [ "$command ${2:-}" = 'bench peers' ]; then
    command_build peers bench
    exec 9>&-
    shift 2
    exec python3 "$root/bench/peers" "$@"
  fi
  case $command in
    build) command_build ;;
    test)
      shift
      command_test "$@"
      ;;
    fuzz)
      shift
      num_steps=0
      find_missing_tools build fuzz
      install_missing_tools
      exec "$root/scripts/fuzz.sh" "$@"
      ;;
    *)
      command_build
      exec 9>&-
      exec "$binary" "$@"
      ;;
  esac
}
