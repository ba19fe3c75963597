#!/usr/bin/env bash
# Fails when a kernel object holds a weak symbol. A kernel file is compiled for a newer CPU than the rest; an inline
# function that it emits weakly could win at link time and then run on a CPU that lacks those instructions.
# Usage: check_kernel_symbols.sh BUILD_DIR
set -euo pipefail

build_dir=${1:?usage: check_kernel_symbols.sh BUILD_DIR}
mapfile -t objects < <(find "$build_dir/src" -path '*/kernels/*' -name '*.o' 2>/dev/null | sort)
if [ "${#objects[@]}" -eq 0 ]; then
  echo "kernel symbols: no kernel object below $build_dir/src" >&2
  exit 1
fi

# V and W: weak object and weak function, defined (lower case: undefined references, which are harmless);
# u: unique global, which templates with static data give.
num_weak=0
for object in "${objects[@]}"; do
  while read -r line; do
    echo "$(basename "$object"): weak symbol $line"
    num_weak=$((num_weak + 1))
  done < <(nm -C --defined-only "$object" | awk '$2 == "W" || $2 == "V" || $2 == "u"' | cut -d' ' -f2-)
done
echo "kernel symbols: ${#objects[@]} objects, $num_weak weak symbols"
[ "$num_weak" -eq 0 ]
