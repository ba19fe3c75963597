// Any bytes as tokenizer.json: a refusal, or everything holds of it that holds of tokenizers.
#include <cstdint>
#include <string_view>

#include "fuzz/check_tokenizer.h"
#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vitrine;
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto opened = tokenizer::Tokenizer::from_tokenizer_json(json, "");
  if (opened) fuzz::check_tokenizer(**opened, "ab c<x>\xE2\x96\x81 12\n\xFF");
  return 0;
}
