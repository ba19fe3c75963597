#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "tokenizer/decoder.h"
#include "tokenizer/pattern.h"

// The steps that decoders are made of.
namespace vitrine::tokenizer {

// What stands for bytes that are not UTF-8. All three are in use, and a decoder must follow its own.
enum class BadBytes {
  kMaximalSubpart,  // one U+FFFD per maximal subpart (byte-level decoders)
  kSingleBytes,     // one per byte (SentencePiece)
  kWholeRun,        // one per byte token of a run of byte tokens that is not UTF-8 as a whole (ByteFallback)
};

// Bytes as text, what is not UTF-8 replaced.
std::string repaired(std::string bytes, BadBytes bad_bytes);

// Pieces are spelled in the byte alphabet; one that is not stands for its own text. All become one piece.
std::unique_ptr<DecodeStep> make_byte_level_decoder();
// "<0x0A>" is a byte; a run of them is a piece. In other pieces what is not UTF-8 becomes U+FFFD.
std::unique_ptr<DecodeStep> make_byte_tokens_decoder(BadBytes bad_bytes);
// In every piece, what is not UTF-8 becomes U+FFFD.
std::unique_ptr<DecodeStep> make_repair_decoder(BadBytes bad_bytes);
// In every piece; an empty `from` is found nowhere.
std::unique_ptr<DecodeStep> make_replace_decoder(std::string from, std::string to);
// As SentencePiece itself decodes: `mark` becomes a space, but at the beginning of the text nothing, once or as often
// as it stands there; the piece `unknown` becomes `surface`.
struct SentencePieceSpelling {
  enum class Start { kKept, kTakesOne, kTakesAll };

  std::string mark, unknown, surface;
  Start start = Start::kKept;
};
std::unique_ptr<DecodeStep> make_sentencepiece_decoder(SentencePieceSpelling spelling);
// As make_replace_decoder by a pattern: a piece waits for its end.
std::unique_ptr<DecodeStep> make_pattern_decoder(std::unique_ptr<Pattern> pattern, std::string to);
// All pieces become one.
std::unique_ptr<DecodeStep> make_fuse_decoder();
// Takes up to `start` times `content` (one character) off the front of every piece, and up to `stop` off its end.
std::unique_ptr<DecodeStep> make_strip_decoder(std::string content, std::size_t start, std::size_t stop);
// `mark` becomes a space, or with `drops_first` nothing in the first piece.
std::unique_ptr<DecodeStep> make_metaspace_decoder(std::string mark, bool drops_first);
// WordPiece: a piece that does not begin with `prefix`, "##", begins a word, before which a space goes. `cleans_up`: no
// space before some punctuation and endings, as English is written.
std::unique_ptr<DecodeStep> make_wordpiece_decoder(std::string prefix, bool cleans_up);
// BPE whose words end with `suffix`, "</w>": it becomes a space, in the last piece nothing.
std::unique_ptr<DecodeStep> make_suffix_decoder(std::string suffix);
// What a model trained by connectionist temporal classification gives: of equal neighbours one counts, `pad` nothing,
// and `delimiter` is a space where `cleans_up`.
std::unique_ptr<DecodeStep> make_ctc_decoder(std::string pad, std::string delimiter, bool cleans_up);
// `separator` between the pieces.
std::unique_ptr<DecodeStep> make_join_decoder(std::string separator);

}  // namespace vitrine::tokenizer
