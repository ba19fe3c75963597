#include "vitrine/model_or_prompt.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace vitrine::cli {
namespace {

base::Error given_twice(std::string_view what, std::string_view flag) {
  return base::usage_error(std::string(what) + ": given by " + std::string(flag) +
                           " and as an argument; keep one of them");
}

}  // namespace

bool names_model(std::string_view word, std::span<const std::string> catalog_names) {
  if (word.starts_with("hf:") || word.starts_with("tok:")) return true;
  if (std::find(catalog_names.begin(), catalog_names.end(), word) != catalog_names.end()) return true;
  std::error_code ignored;  // a prompt too long for a path is "not there"
  return !word.empty() && std::filesystem::exists(std::filesystem::path(word), ignored);
}

base::Result<ModelAndPrompt> sort_positionals(std::span<const std::string> words, ModelAndPrompt flags,
                                              std::span<const std::string> catalog_names) {
  if (words.size() > 2) {
    return base::usage_error("prompt: more than one argument; put the whole prompt in quotes");
  }
  if (words.empty()) return flags;
  if (flags.model && flags.prompt) return given_twice("prompt", "-p");
  if (words.size() == 2) {
    if (flags.model) return given_twice("model", "-m");
    if (flags.prompt) return given_twice("prompt", "-p");
    return ModelAndPrompt{words[0], words[1]};
  }
  const bool is_model = flags.prompt || (!flags.model && names_model(words[0], catalog_names));
  (is_model ? flags.model : flags.prompt) = words[0];
  return flags;
}

}  // namespace vitrine::cli
