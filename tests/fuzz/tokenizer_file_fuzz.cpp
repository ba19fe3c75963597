// The first byte says as which kind of tokenizer file the others are read: a refusal, or everything holds of it that
// holds of tokenizers.
#include <cstdint>
#include <memory>
#include <string_view>

#include "fuzz/check_tokenizer.h"
#include "tokenizer/tokenizer.h"

namespace {

using vitrine::tokenizer::Tokenizer;

vitrine::base::Result<std::unique_ptr<Tokenizer>> open_as(unsigned kind, std::string_view content) {
  if (kind % 3 == 0) return Tokenizer::from_tiktoken(content, "cl100k_base");
  if (kind % 3 == 1) return Tokenizer::from_sentencepiece(content);
  return Tokenizer::from_tekken(content);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto opened = open_as(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  if (opened) vitrine::fuzz::check_tokenizer(**opened, "ab c<x>\xE2\x96\x81 12\n\xFF");
  return 0;
}
