#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

// How the parsers of this folder report a broken file: they throw base::Exception without the file's name, and the
// open_... function that called them catches it, adds the name and returns it as a Result.
namespace vitrine::loader {

[[noreturn]] void fail(std::string message);

// Text of a file as it may stand in a one-line message: in quotes, control bytes escaped, cut at 80 bytes.
std::string in_quotes(std::string_view text);

// The same error with "PATH: " in front.
base::Error with_path(const std::filesystem::path& path, const base::Error& error);

// Calls `parse` and turns a base::Exception into an Error that begins with the path.
template <typename Function>
auto catch_errors(const std::filesystem::path& path, Function&& parse) -> base::Result<decltype(parse())> {
  try {
    return parse();
  } catch (const base::Exception& exception) {
    return with_path(path, exception.error());
  }
}

}  // namespace vitrine::loader
