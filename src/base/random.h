#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace vitrine::base {

// Fills at most 256 bytes with the operating system's randomness, good enough for secrets. Any thread.
void fill_random(std::span<std::uint8_t> bytes);

// Such bytes as lower-case hexadecimal digits, two a byte: for names that must not meet, such as the ids of requests.
std::string random_hex(std::size_t num_bytes);

}  // namespace vitrine::base
