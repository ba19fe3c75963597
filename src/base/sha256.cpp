#include "base/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/hex.h"

namespace vitrine::base {
namespace {

constexpr std::size_t kChunkBytes = 64;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2).
constexpr std::array<std::uint32_t, 64> kRoundConstants = {
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2};

std::uint32_t load_big_endian(const std::uint8_t* bytes) {
  return static_cast<std::uint32_t>(bytes[0]) << 24U | static_cast<std::uint32_t>(bytes[1]) << 16U |
         static_cast<std::uint32_t>(bytes[2]) << 8U | static_cast<std::uint32_t>(bytes[3]);
}

template <typename T>
void store_big_endian(std::uint8_t* bytes, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes[i] = static_cast<std::uint8_t>(value >> (8 * (sizeof(T) - 1 - i)));
  }
}

std::array<std::uint32_t, 64> message_schedule(const std::uint8_t* chunk) {
  std::array<std::uint32_t, 64> words;
  for (std::size_t i = 0; i < 16; ++i) {
    words[i] = load_big_endian(chunk + 4 * i);
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t low = words[i - 15];
    const std::uint32_t high = words[i - 2];
    const std::uint32_t sigma0 = std::rotr(low, 7) ^ std::rotr(low, 18) ^ (low >> 3U);
    const std::uint32_t sigma1 = std::rotr(high, 17) ^ std::rotr(high, 19) ^ (high >> 10U);
    words[i] = words[i - 16] + sigma0 + words[i - 7] + sigma1;
  }
  return words;
}

}  // namespace

void Sha256::compress(const std::uint8_t* chunk) {
  const auto words = message_schedule(chunk);
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t choice = (e & f) ^ (~e & g);
    const std::uint32_t first = h + sum1 + choice + kRoundConstants[i] + words[i];
    const std::uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + sum0 + majority;
  }
  const std::array<std::uint32_t, 8> working = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state_.size(); ++i) {
    state_[i] += working[i];
  }
}

void Sha256::update(std::span<const std::byte> bytes) {
  num_bytes_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t taken = std::min(kChunkBytes - num_pending_, bytes.size());
    std::memcpy(pending_.data() + num_pending_, bytes.data(), taken);
    num_pending_ += taken;
    bytes = bytes.subspan(taken);
    if (num_pending_ < kChunkBytes) return;
    compress(pending_.data());
    num_pending_ = 0;
  }
}

Sha256Digest Sha256::finish() {
  const std::uint64_t num_bits = num_bytes_ * 8;
  constexpr std::byte kEndMark{0x80};
  constexpr std::byte kZero{0};
  update({&kEndMark, 1});
  while (num_pending_ != kChunkBytes - sizeof(num_bits)) {
    update({&kZero, 1});
  }
  std::array<std::uint8_t, sizeof(num_bits)> length;
  store_big_endian(length.data(), num_bits);
  update(std::as_bytes(std::span(length)));
  Sha256Digest digest;
  for (std::size_t i = 0; i < state_.size(); ++i) {
    store_big_endian(digest.data() + 4 * i, state_[i]);
  }
  return digest;
}

std::string hex_of(const Sha256Digest& digest) {
  return to_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace vitrine::base
