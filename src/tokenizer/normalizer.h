#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/pattern.h"

namespace vitrine::tokenizer {

// One step of text normalization. Immutable; any thread.
class NormalizerStep {
 public:
  virtual ~NormalizerStep() = default;
  virtual base::Result<AlignedText> apply(const AlignedText& text) const = 0;
};

// The steps of a tokenizer's normalizer, in order. Without steps the text stays as it is.
class Normalizer {
 public:
  void add(std::unique_ptr<NormalizerStep> step) { steps_.push_back(std::move(step)); }
  bool empty() const { return steps_.empty(); }
  base::Result<AlignedText> apply(AlignedText text) const;

 private:
  std::vector<std::unique_ptr<NormalizerStep>> steps_;
};

enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

std::unique_ptr<NormalizerStep> make_replace(std::unique_ptr<Pattern> pattern, std::string content);
// Puts `prefix` before a text that is not empty.
std::unique_ptr<NormalizerStep> make_prepend(std::string prefix);
// Puts `suffix` behind one.
std::unique_ptr<NormalizerStep> make_append(std::string suffix);
std::unique_ptr<NormalizerStep> make_unicode_form(UnicodeForm form);
std::unique_ptr<NormalizerStep> make_lowercase();
// Takes white space off the ends.
std::unique_ptr<NormalizerStep> make_strip(bool left, bool right);
// Drops combining marks.
std::unique_ptr<NormalizerStep> make_strip_accents();
// What BERT does before anything else: control characters and U+FFFD go, white space becomes spaces.
std::unique_ptr<NormalizerStep> make_clean_text();
// A space before and behind every Chinese character.
std::unique_ptr<NormalizerStep> make_set_chinese_apart();
// Drops the combining marks that take no room of their own (category Mn).
std::unique_ptr<NormalizerStep> make_drop_nonspacing_marks();
// The rules of neural machine translation (Nmt): some control characters go, line ends, tabs, joiners, marks of
// direction and U+FFFD become spaces.
std::unique_ptr<NormalizerStep> make_nmt();
// The text spelled in the byte alphabet.
std::unique_ptr<NormalizerStep> make_spell_bytes();
// Runs of spaces become one, none stands at the ends, nor a U+2581 at the end (SentencePiece's
// remove_extra_whitespaces).
std::unique_ptr<NormalizerStep> make_collapse_spaces();

}  // namespace vitrine::tokenizer
