# What the machine must have: the distribution, Debian's packages, a recent cargo. Sourced by ./vitrine.
# shellcheck shell=bash

check_system() {
  local id='' version='' name='an unknown system' machine
  machine=$(uname -m)
  if [ -r /etc/os-release ]; then
    # shellcheck source=/dev/null
    read -r id version name < <(. /etc/os-release && echo "${ID:-} ${VERSION_ID:-} ${PRETTY_NAME:-${ID:-}}")
  fi
  [ "$id $version $machine" = "debian 12 x86_64" ] && return
  if [ -n "${VITRINE_SKIP_SYSTEM_CHECK:-}" ]; then
    say "vitrine: trying on $name, $machine, which is not supported"
    return
  fi
  die 78 "this is $name on $machine; only Debian 12 on x86-64 is supported;" \
    "set VITRINE_SKIP_SYSTEM_CHECK=1 to try anyway"
}

# The missing packages of the lists named. A line is "PACKAGE" or "PACKAGE COMMAND": then the command is enough.
missing_packages() {
  local list package command
  for list in "$@"; do
    while read -r package command; do
      case $package in '' | '#'*) continue ;; esac
      [ -n "$command" ] && command -v "$command" >/dev/null && continue
      [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
    done <"$root/scripts/packages-$list.txt"
  done
}

ask() {
  [ -n "${VITRINE_YES:-}" ] && return 0
  [ -t 0 ] || return 1
  local answer
  read -r -p "$1 [Y/n] " answer
  case $answer in '' | [Yy]*) return 0 ;; *) return 1 ;; esac
}

# sudo drops the environment; the proxy settings must reach apt all the same.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
    return
  fi
  local name settings=()
  for name in http_proxy https_proxy ftp_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [ -n "${!name:-}" ] && settings+=("$name=${!name}")
  done
  sudo env "${settings[@]}" "$@"
}

apt_install() {
  as_root apt-get update &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

install_packages() {
  local packages=("$@")
  local command="apt-get install -y --no-install-recommends ${packages[*]}"
  command -v apt-get >/dev/null || die 78 "these Debian packages, or their like, are missing: ${packages[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die 77 "missing packages and no sudo; as root run: $command"
    say "These Debian packages are missing: ${packages[*]}"
    ask "Install them with sudo apt-get?" || die 78 "not installed; do it yourself with: sudo $command"
    # Asked for here, in the foreground: the step below has no terminal to ask on.
    sudo -v || die 77 "sudo refused; as root run: $command"
  fi
  local title="Installing ${#packages[@]} Debian packages"
  [ "${#packages[@]}" -eq 1 ] && title="Installing Debian's ${packages[0]}"
  step packages "$title" apt_progress apt_install "${packages[@]}" ||
    die 69 "the packages could not be installed; by hand: $command"
}

# ---- cargo: Debian's own is too old for bridge/; Debian's security updates carry a recent one as cargo-web. ----

needed_rust() { sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/bridge/Cargo.toml"; }

# is_at_least 1.96.0 1.87
is_at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]; }

has_cargo() {
  local version
  version=$(cargo --version 2>/dev/null | cut -d' ' -f2) && [ -n "$version" ] && is_at_least "$version" "$(needed_rust)"
}

# A rustup that is already here may hold a recent toolchain that is not its default.
use_rustup_toolchain() {
  command -v rustup >/dev/null || return 1
  RUSTUP_TOOLCHAIN=stable has_cargo && export RUSTUP_TOOLCHAIN=stable
}

apt_cargo_is_recent() {
  local version
  version=$(apt-cache policy cargo-web 2>/dev/null | sed -n 's/^ *Candidate: //p')
  [ -n "$version" ] && is_at_least "${version%%+*}" "$(needed_rust)"
}

install_rust() {
  if command -v rustup >/dev/null; then
    ask "Rust $(needed_rust) or later is needed. Install the stable toolchain with rustup?" ||
      die 78 "Rust $(needed_rust) or later is missing; run: rustup toolchain install stable"
    step rust "Installing Rust with rustup" counted_progress rustup toolchain install stable --profile minimal ||
      die 69 "rustup could not install the stable toolchain"
    export RUSTUP_TOOLCHAIN=stable
  elif apt_cargo_is_recent || { step apt-update "Updating Debian's package lists" counted_progress as_root apt-get update &&
    apt_cargo_is_recent; }; then
    install_packages cargo-web
  else
    die 78 "Rust $(needed_rust) or later is missing and this system offers none;" \
      "install it as https://rustup.rs says, then call again"
  fi
  hash -r
  has_cargo || die 78 "cargo is still older than $(needed_rust): $(command -v cargo) is $(cargo --version 2>&1)"
}
