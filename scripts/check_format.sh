#!/usr/bin/env bash
# Fails when clang-format would change a C++ file and names each. --fix formats in place.
# The version is pinned: another one formats otherwise.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t files < <(git ls-files --cached --others --exclude-standard '*.cpp' '*.h' | while read -r file; do
  [ -f "$file" ] && echo "$file"
done)
if [ "${1:-}" = --fix ]; then
  clang-format-14 -i "${files[@]}"
  echo "format: ${#files[@]} files formatted"
  exit
fi

if messages=$(clang-format-14 --dry-run -Werror "${files[@]}" 2>&1); then
  echo "format: ${#files[@]} files"
  exit
fi
# The first place of each file is enough to find it; the cure is the same for all.
grep -E '^[^ ]+:[0-9]+:[0-9]+: error' <<<"$messages" | sort -t: -k1,1 -u || echo "$messages"
echo "format: run scripts/check_format.sh --fix"
exit 1
