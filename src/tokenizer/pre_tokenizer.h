#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/pattern.h"

namespace vitrine::tokenizer {

// What becomes of the matches of a splitting pattern.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// One step of cutting a text into the pieces that the model encodes one by one. Immutable; any thread.
class PreTokenizerStep {
 public:
  virtual ~PreTokenizerStep() = default;

  // Cuts `pieces` of `text` further; may rewrite the text, then with new ranges. `at_start`: the text begins the
  // caller's text.
  virtual base::Result<void> apply(AlignedText& text, std::vector<Range>& pieces, bool at_start) const = 0;
  virtual Cuts cuts() const { return Cuts::kUnknown; }
  // The known pattern whose matches, and what lies between them, are the pieces; else nullptr.
  virtual const KnownPattern* isolates() const { return nullptr; }
};

class PreTokenizer {
 public:
  void add(std::unique_ptr<PreTokenizerStep> step) { steps_.push_back(std::move(step)); }

  // Cuts the `pieces` of `text`, given as one, further; may rewrite the text unless cuts_between_words().
  base::Result<void> apply(AlignedText& text, std::vector<Range>& pieces, bool at_start) const;

  // Whether a text may be given part by part, the parts ending where is_certain_cut says.
  bool cuts_between_words() const;

  // What cuts a text as apply does, part by part as above, each step the pieces of the one before, where scanners do
  // all of it; else nothing.
  std::vector<ScanStep> scan_steps() const;

 private:
  std::vector<std::unique_ptr<PreTokenizerStep>> steps_;
};

// `invert`: the matches are what lies between the pattern's matches.
std::unique_ptr<PreTokenizerStep> make_split(std::unique_ptr<Pattern> pattern, SplitBehavior behavior, bool invert);
// A space before every piece that does not begin with one.
std::unique_ptr<PreTokenizerStep> make_prefix_space();
// Every piece spelled in the byte alphabet.
std::unique_ptr<PreTokenizerStep> make_byte_spelling();
// Pieces of so many characters, from the left; num_chars > 0.
std::unique_ptr<PreTokenizerStep> make_fixed_length(std::size_t num_chars);
// A piece begins where the script changes; kana counts as Han, and a character of no script, as the space, goes with
// what stands before it. Such at the beginning of a piece are dropped.
std::unique_ptr<PreTokenizerStep> make_script_split();

enum class PrependScheme { kAlways, kFirst, kNever };

// Spaces become `replacement` (one character), one is put before the text, and with `split` each starts a piece.
std::unique_ptr<PreTokenizerStep> make_metaspace(std::string replacement, PrependScheme scheme, bool split);

}  // namespace vitrine::tokenizer
