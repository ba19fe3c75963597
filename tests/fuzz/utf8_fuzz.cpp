#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/utf8.h"

// Any bytes: decoding makes progress, never leaves the text, and its code points encode back to the bytes they came
// from.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vitrine;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string replaced;
  bool all_valid = true;
  for (std::size_t pos = 0; pos < size;) {
    const base::CodePoint code_point = base::decode_utf8(text.substr(pos));
    if (code_point.length == 0 || code_point.length > size - pos) std::abort();
    std::string encoded;
    base::append_utf8(encoded, code_point.value);
    if (code_point.valid && encoded != text.substr(pos, code_point.length)) std::abort();
    replaced += encoded;
    all_valid = all_valid && code_point.valid;
    pos += code_point.length;
  }
  if (base::is_valid_utf8(text) != all_valid || !base::is_valid_utf8(replaced)) std::abort();
  return 0;
}
