#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

// Any bytes as tokenizer.json: an error or a tokenizer, which then must encode without a fault and decode to UTF-8.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vitrine;
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto opened = tokenizer::Tokenizer::from_tokenizer_json(json, "");
  if (!opened) return 0;
  const tokenizer::Tokenizer& tokens = **opened;
  const auto ids = tokens.encode("ab c<x>\xE2\x96\x81 12\n\xFF", {.parse_special = true, .add_special = true});
  if (ids && !base::is_valid_utf8(tokens.decode(*ids))) std::abort();
  return 0;
}
