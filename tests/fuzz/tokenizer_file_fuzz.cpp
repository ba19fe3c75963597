#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

// The first byte says as which kind of tokenizer file the others are read: an error or a tokenizer, which then must
// encode without a fault and decode to UTF-8.
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
  if (!opened) return 0;
  const auto ids = (*opened)->encode("ab c<x>\xE2\x96\x81 12\n\xFF", {.parse_special = true, .add_special = true});
  if (ids && !vitrine::base::is_valid_utf8((*opened)->decode(*ids))) std::abort();
  return 0;
}
