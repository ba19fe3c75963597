#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace vitrine::cli {

// What a command was asked to work on. An absent member was not given.
struct ModelAndPrompt {
  std::optional<std::string> model;
  std::optional<std::string> prompt;
};

// Sorts the positionals of `vitrine run` and `vitrine chat`. Two are MODEL and PROMPT. One is a MODEL if it is a
// catalog name, an existing path or begins with "hf:" or "tok:"; otherwise it is the prompt. `flags` holds -m and -p,
// which are always clear and make a lone positional the other one. Fails (kUsage) where something is given twice.
base::Result<ModelAndPrompt> sort_positionals(std::span<const std::string> words, ModelAndPrompt flags,
                                              std::span<const std::string> catalog_names);

// The rule for one word.
bool names_model(std::string_view word, std::span<const std::string> catalog_names);

}  // namespace vitrine::cli
