#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace vitrine::base {

using Sha256Digest = std::array<std::uint8_t, 32>;
std::string hex_of(const Sha256Digest& digest);  // 64 lower-case digits

// SHA-256 (FIPS 180-4), fed in pieces of any size. A value: no allocation, cannot fail.
class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  // The digest of everything fed so far; the object must not be used afterwards.
  Sha256Digest finish();

 private:
  void compress(const std::uint8_t* chunk);

  std::array<std::uint32_t, 8> state_ = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                         0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
  std::array<std::uint8_t, 64> pending_ = {};
  std::size_t num_pending_ = 0;
  std::uint64_t num_bytes_ = 0;
};

}  // namespace vitrine::base
