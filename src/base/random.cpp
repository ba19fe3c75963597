#include "base/random.h"

#include <sys/random.h>

#include <vector>

#include "base/check.h"

namespace vitrine::base {

void fill_random(std::span<std::uint8_t> bytes) {
  // Up to 256 bytes the call gives all that is asked for.
  VT_CHECK(bytes.size() <= 256, "fill_random: too many bytes");
  VT_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "getrandom failed");
}

std::string random_hex(std::size_t num_bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::vector<std::uint8_t> bytes(num_bytes);
  fill_random(bytes);
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

}  // namespace vitrine::base
