#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/merge_engine.h"
#include "tokenizer/sure_borders.h"

namespace vitrine::tokenizer {

// What stands for a space in SentencePiece vocabularies.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

// The part of a tokenizer that turns one pre-tokenized piece of valid UTF-8 into tokens of its vocabulary.
// Immutable; any thread.
class Model {
 public:
  virtual ~Model() = default;

  // Appends the tokens of `piece`; their lengths sum to its size. `scratch` is working space whose content means
  // nothing.
  virtual base::Result<void> encode(std::string_view piece, std::vector<Symbol>& scratch,
                                    std::vector<Symbol>& out) const = 0;

  // Where a piece may be cut into parts; nullptr while to know it does not pay, or for good. num_met: bytes of pieces
  // encoded since the last call that might have been cut; num_to_come: of those to come, about.
  virtual SureBorders* borders(std::size_t /*num_met*/, std::size_t /*num_to_come*/) const { return nullptr; }
  // The same as encode() for a part of a piece between such borders.
  virtual base::Result<void> encode_part(std::string_view part, std::vector<Symbol>& scratch,
                                         std::vector<Symbol>& out) const {
    return encode(part, scratch, out);
  }

  // Says that about so many bytes of new words are still to come in a call, so that what pays for them is made now.
  virtual void expect(std::size_t /*num_bytes*/) const {}

  // True where the result of a piece cannot depend on what stands before a character U+2581 that follows `previous`.
  virtual bool may_cut_before_space(char32_t /*previous*/) const { return false; }
  // False where that is never so.
  virtual bool cuts_before_spaces() const { return false; }

  virtual std::string_view kind() const = 0;
};

}  // namespace vitrine::tokenizer
