#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace vitrine::loader {

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Expects an error of this kind, in one line, with a message that contains `reason`.
template <typename T>
void expect_error(const base::Result<T>& result, base::ErrorKind kind, std::string_view reason) {
  ASSERT_FALSE(result.has_value()) << "no error; wanted: " << reason;
  EXPECT_EQ(result.error().kind, kind) << result.error().message;
  EXPECT_THAT(result.error().message, ::testing::HasSubstr(std::string(reason)));
  EXPECT_EQ(result.error().message.find('\n'), std::string::npos) << result.error().message;
}

// The result of a parser that throws base::Exception, as a Result.
template <typename Function>
auto catch_result(Function&& parse) -> base::Result<decltype(parse())> {
  try {
    return parse();
  } catch (const base::Exception& exception) {
    return exception.error();
  }
}

}  // namespace vitrine::loader
