#pragma once

#include <source_location>
#include <string_view>

namespace vitrine::base {

// Prints "file:line: CHECK failed: ..." and aborts. For our own bugs only, never for anything a file or a client sent.
[[noreturn]] void check_failed(std::string_view condition, std::string_view message,
                               std::source_location where = std::source_location::current());

}  // namespace vitrine::base

#define VT_CHECK(condition, message)                                      \
  do {                                                                    \
    if (!(condition)) ::vitrine::base::check_failed(#condition, message); \
  } while (false)
