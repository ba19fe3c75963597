#include "base/random_hex.h"

#include <sys/random.h>

#include <vector>

#include "base/check.h"

namespace vitrine::base {

std::string random_hex(std::size_t num_bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::vector<unsigned char> bytes(num_bytes);
  // Up to 256 bytes the call gives all that is asked for.
  VT_CHECK(num_bytes <= 256, "random_hex: too many bytes");
  VT_CHECK(::getrandom(bytes.data(), num_bytes, 0) == static_cast<ssize_t>(num_bytes), "getrandom failed");
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

}  // namespace vitrine::base
