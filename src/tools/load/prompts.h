#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vitrine::tools {

// Texts of common English words, each of which is one token to nearly every tokenizer: `num_words` words long, the
// first `num_shared_words` the same in all of them, the rest different in each. The same for the same seed.
std::vector<std::string> synthetic_prompts(std::size_t count, std::size_t num_words, std::size_t num_shared_words,
                                           std::uint64_t seed);

}  // namespace vitrine::tools
