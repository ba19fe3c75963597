#pragma once

#include <cstddef>
#include <string>

namespace vitrine::base {

// Bytes of the operating system's randomness as lower-case hexadecimal digits, two a byte: for names that must not
// meet, such as the ids of requests.
std::string random_hex(std::size_t num_bytes);

}  // namespace vitrine::base
