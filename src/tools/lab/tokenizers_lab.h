#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tools/lab/report.h"
#include "tools/lab/workbench.h"

namespace vitrine::lab {

// The same few sentences in several languages, as the tokenizers on disk cut them.
struct LabText {
  std::string_view language;
  std::string_view text;
};
std::span<const LabText> lab_texts();

struct TokenizersRow {
  std::string tokenizer;
  std::string_view language;
  std::size_t num_tokens = 0;
  std::size_t num_chars = 0;  // code points
  std::size_t num_bytes = 0;
  double to_english = 1.0;  // tokens to those of the English text, by the same tokenizer

  double chars_per_token() const { return static_cast<double>(num_chars) / static_cast<double>(num_tokens); }
};

Conclusion conclude_tokenizers(std::span<const TokenizersRow> rows);
Report tokenizers_report(std::span<const TokenizersRow> rows);
// Throws base::Exception (kMissing) where there is no tokenizer.
Report run_tokenizers(const Workbench& bench);

}  // namespace vitrine::lab
