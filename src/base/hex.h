#pragma once

#include <string>
#include <string_view>

namespace vitrine::base {

// Lower-case hexadecimal digits, two a byte.
std::string to_hex(std::string_view bytes);

}  // namespace vitrine::base
