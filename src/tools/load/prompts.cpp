#include "tools/load/prompts.h"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>

namespace vitrine::tools {
namespace {

constexpr std::array kWords = std::to_array<std::string_view>(
    {"the",   "of",   "and",   "to",     "in",   "is",   "you",   "that", "it",    "he",   "was",   "for",
     "on",    "are",  "as",    "with",   "his",  "they", "at",    "be",   "this",  "have", "from",  "or",
     "one",   "had",  "by",    "word",   "but",  "not",  "what",  "all",  "were",  "we",   "when",  "your",
     "can",   "said", "there", "use",    "an",   "each", "which", "she",  "do",    "how",  "their", "if",
     "will",  "up",   "other", "about",  "out",  "many", "then",  "them", "these", "so",   "some",  "her",
     "would", "make", "like",  "him",    "into", "time", "has",   "look", "two",   "more", "go",    "see",
     "no",    "way",  "could", "people", "my",   "than", "first", "been", "call",  "who",  "its",   "now",
     "find",  "long", "down",  "day",    "did",  "get",  "come",  "made", "may",   "part"});

void append_words(std::string& text, std::size_t count, std::mt19937_64& random) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!text.empty()) text += ' ';
    text += kWords[random() % kWords.size()];
  }
}

}  // namespace

std::vector<std::string> synthetic_prompts(std::size_t count, std::size_t num_words, std::size_t num_shared_words,
                                           std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::size_t num_shared = std::min(num_words, num_shared_words);
  std::string shared;
  append_words(shared, num_shared, random);
  std::vector<std::string> prompts;
  for (std::size_t i = 0; i < count; ++i) {
    prompts.push_back(shared);
    append_words(prompts.back(), num_words - num_shared, random);
  }
  return prompts;
}

}  // namespace vitrine::tools
