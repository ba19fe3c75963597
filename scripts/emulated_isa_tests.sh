#!/usr/bin/env bash
# Runs test binaries on an emulated processor with AVX-512 and VNNI: Bochs boots a Debian kernel whose initial file system
# holds the tests and their data. Needs the packages of packages-emulator.txt and a finished build; no rights of root.
# usage: emulated_isa_tests.sh [--cpu MODEL] [--build-dir DIR] [--kernel FILE] [NAME=FILTER...]
#   --cpu        a model of `bochs --help cpu` (default tigerlake)
#   --build-dir  where the tests lie (default build/release)
#   --kernel     a Linux image (default: Debian's for cloud machines, fetched once)
#   NAME=FILTER  a folder of tests/ and a GoogleTest filter; default: what compares instruction sets, in emulated minutes
# BOCHS names another Bochs (one with a terminal display). What the tests said ends up in DIR/emulated/MODEL.log.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD cpu=tigerlake build=build/release kernel='' tests=()

usage() {
  sed -n '4,9s/^# //p' "$root/scripts/emulated_isa_tests.sh" >&2
  exit 64
}

while [ $# -gt 0 ]; do
  case $1 in
    --cpu) cpu=${2:?} && shift ;;
    --build-dir) build=${2:?} && shift ;;
    --kernel) kernel=${2:?} && shift ;;
    *=*) tests+=("$1") ;;
    *) usage ;;
  esac
  shift
done
# Left out: what takes many minutes for no new loop, or does not depend on the instruction set.
[ ${#tests[@]} -gt 0 ] || tests=('backends=-*PartsTiles*:WeightMemory*' 'models=*TinyModel*:*ExpertModel*:DenseModels*')

# shellcheck source=scripts/setup/system.sh
. "$root/scripts/setup/system.sh"
mapfile -t missing < <(missing_packages emulator)
if [ ${#missing[@]} -gt 0 ]; then
  echo "missing packages; run: apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 78
fi

work=$(mkdir -p "$build/emulated" && cd "$build/emulated" && pwd)
log=$work/$cpu.log
stage=$(mktemp -d "$work/stage.XXXXXX")
trap 'rm -rf "$stage"' EXIT

# Sets `kernel` to Debian's, fetched and unpacked unless it was before.
find_kernel() {
  if ! compgen -G "$work/kernel/boot/vmlinuz-*" >/dev/null; then
    local package
    package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: //p')
    (cd "$stage" && apt-get download "${package:?no kernel known to apt; run: apt-get update}") >&2
    dpkg-deb -x "$stage/$package"_*.deb "$work/kernel"
  fi
  kernel=$(compgen -G "$work/kernel/boot/vmlinuz-*")
}

# The programs, their libraries and the data at the paths where the tests look for them.
fill_guest() {
  local guest=$stage/guest test name file
  mkdir -p "$guest"/{bin,dev,proc,sys,tmp,tests} "$guest$root/tests/data"
  cp /bin/busybox "$guest/bin/"
  cp -r tests/data/models "$guest$root/tests/data/"
  for test in "${tests[@]}"; do
    name=${test%%=*}
    file=$build/tests/$name/${name}_test
    [ -x "$file" ] || { echo "$file is missing; build it first" >&2 && exit 66; }
    strip -o "$guest/tests/$name" "$file"
    ldd "$file" | grep -o '/[^ ]*' | xargs -I{} cp -L --parents {} "$guest"
  done
  write_init >"$guest/init"
  chmod +x "$guest/init"
}

write_init() {
  cat <<'EOF'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp VITRINE_TEST_COUNTS=/tmp/counts
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
grep -m1 'model name' /proc/cpuinfo
echo "avx: $(grep -m1 ^flags /proc/cpuinfo | tr ' ' '\n' | grep -E '^(avx|amx)' | tr '\n' ' ')"
EOF
  local test
  for test in "${tests[@]}"; do
    printf "/tests/%s --gtest_brief=1 --gtest_color=no --gtest_filter='%s'\n" "${test%%=*}" "${test#*=}"
    printf 'echo "exit status of %s: $?"\n' "${test%%=*}"
  done
  printf '%s\n' 'cut -f 1,2 /tmp/counts | sort | uniq -c' 'sleep 9' 'poweroff -f'
}

# CPU features that Linux has to do without:
# - 580 (FSRM): with fast strings off, as the firmware leaves them, memmove() of Linux 6.1 runs astray on it.
# - 515, 321, 323 (PKU, XSAVEC, XSAVES): Bochs 2 gives sizes for them over which Linux would turn AVX off.
cleared_features() {
  if [[ $bochs_help == *"Emulator 2."* ]]; then echo 580,515,321,323; else echo 580; fi
}

make_image() {
  mkdir "$stage/iso"
  (cd "$stage/guest" && find . | cpio -o -H newc --quiet | gzip -1) >"$stage/iso/initrd"
  cp "$kernel" "$stage/iso/vmlinuz"
  cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$stage/iso/"
  cat >"$stage/iso/isolinux.cfg" <<EOF
DEFAULT tests
LABEL tests
  KERNEL /vmlinuz
  INITRD /initrd
  APPEND console=ttyS0,115200 loglevel=3 nokaslr mitigations=off reboot=triple panic=1 rdinit=/init clearcpuid=$(cleared_features)
EOF
  xorriso -as mkisofs -quiet -o "$stage/tests.iso" -b isolinux.bin -c boot.cat -no-emul-boot -boot-load-size 4 \
    -boot-info-table "$stage/iso" 2>/dev/null
}

emulate() {
  # With 57-bit addresses this firmware's return from system management fails.
  local without=''
  [ "$cpu" != sapphire_rapids ] || without=', exclude_features="la57"'
  cat >"$stage/bochsrc" <<EOF
display_library: term
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
cpu: model=$cpu, ips=50000000, reset_on_triple_fault=0$without
memory: guest=1024, host=1024
ata0-master: type=cdrom, path="$stage/tests.iso", status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev="$log"
log: $stage/bochs.log
clock: sync=none
EOF
  local command=("$bochs" -q -f "$stage/bochsrc")
  # Debian's Bochs starts in its debugger.
  printf 'c\nq\n' >"$stage/commands"
  [[ $bochs_help != *"-rc filename"* ]] || command+=(-rc "$stage/commands")
  rm -f "$log"
  # The display wants a terminal. Powering off counts as an error to Bochs; what came of the tests stands in the log.
  TERM=xterm python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "${command[@]}" </dev/null >"$stage/terminal" || true
  [ -s "$log" ] || { tail -n 3 "$stage/bochs.log" "$stage/terminal" >&2 && exit 70; }
}

bochs=${BOCHS:-bochs}
bochs_help=$("$bochs" --help 2>&1)
[ -n "$kernel" ] || find_kernel
fill_guest
make_image
emulate
sed -n '/^model name/,$p' "$log"
[ "$(grep -c '^exit status of .*: 0' "$log")" -eq ${#tests[@]} ]
