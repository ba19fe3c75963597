#include "base/random.h"

#include <sys/random.h>

#include <vector>

#include "base/check.h"
#include "base/hex.h"

namespace vitrine::base {

void fill_random(std::span<std::uint8_t> bytes) {
  // Up to 256 bytes the call gives all that is asked for.
  VT_CHECK(bytes.size() <= 256, "fill_random: too many bytes");
  VT_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "getrandom failed");
}

std::string random_hex(std::size_t num_bytes) {
  std::vector<std::uint8_t> bytes(num_bytes);
  fill_random(bytes);
  return to_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace vitrine::base
