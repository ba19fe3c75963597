#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace vitrine::base {

// The candidate that a person most likely meant by `word`: the least number of typed mistakes (a wrong, missing, extra
// or swapped letter), at most one mistake per three letters; the beginning of a word counts as one mistake. nullopt
// where nothing is near.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

// The number of single-letter insertions, deletions, replacements and swaps of neighbours between two words.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace vitrine::base
