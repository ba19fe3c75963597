#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/vocabulary.h"

namespace vitrine::tokenizer {

// How the pieces of a vocabulary become bytes, and the bytes text.
struct DecodeRules {
  struct Replacement {
    std::string from, to;
  };
  // What stands for bytes that are not UTF-8. All three are in use, and a decoder must follow its own.
  enum class BadBytes {
    kMaximalSubpart,  // one U+FFFD per maximal subpart (byte-level decoders)
    kSingleBytes,     // one per byte (SentencePiece)
    kWholeRun,        // one per byte token of a run of byte tokens that is not UTF-8 as a whole (ByteFallback)
  };

  bool byte_level = false;     // pieces are spelled in the byte alphabet
  bool byte_fallback = false;  // "<0x0A>" is a byte
  BadBytes bad_bytes = BadBytes::kMaximalSubpart;
  std::vector<Replacement> replacements;  // in every piece
  std::string strip_text;                 // up to strip_count of these are taken off the front of the whole text
  std::size_t strip_count = 0;
  std::string separator;  // between pieces
  // WordPiece: a piece that does not begin so, "##", begins a word, before which a space goes.
  std::string continuation_prefix = {};
  bool cleans_up = false;  // no space before some punctuation and endings, as English is written

  std::string bytes_of(std::string_view piece) const;
  std::optional<unsigned char> byte_token(std::string_view piece) const;
  // What a WordPiece piece adds to the text.
  std::string word_part(std::string_view piece, bool is_first) const;
};

// Turns the pieces of one answer into text, piece by piece. Never gives out half a character: bytes wait until the
// character is whole, or until it is known to be broken. With `whole` the run of byte tokens waits for its end, which
// is what decoding a finished list takes under kWholeRun: a stream has given out its first characters by then.
class PieceDecoder {
 public:
  PieceDecoder(const DecodeRules& rules, bool whole) : rules_(&rules), whole_(whole), strips_left_(rules.strip_count) {}

  std::string push(std::string_view piece);
  std::string finish();

 private:
  void push_byte_token(char byte, std::string& out);
  void end_run(std::string& out);
  void drain(bool at_end, std::string& out);
  void take_bad_bytes(std::size_t count, std::string& out);
  std::string strip(std::string text);

  const DecodeRules* rules_;
  bool whole_;
  bool run_is_bad_ = false;
  bool is_first_ = true;
  std::size_t strips_left_;
  std::string pending_;     // bytes that do not make up a character yet
  std::string unstripped_;  // the beginning of the text while it may still be part of what is stripped
};

}  // namespace vitrine::tokenizer
