#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "tokenizer/decoder.h"
#include "tokenizer/id_cache.h"
#include "tokenizer/token_bytes.h"
#include "tokenizer/tokenizer_parts.h"

namespace vitrine::tokenizer {

// The tokenizer metadata of a GGUF file (keys tokenizer.ggml.*), filled in by the caller; the views must stay valid
// during Tokenizer::from_gguf only.
struct GgufVocabulary {
  std::string model;  // "gpt2": byte-level BPE, "llama": SentencePiece BPE, "gemma4": BPE over characters,
                      // "bert": WordPiece, "t5": Unigram
  std::string pre;    // the splitter of byte-level BPE, by name: "smollm", "llama-bpe", "qwen2" ...
  std::vector<std::string_view> tokens;
  std::vector<float> scores;
  std::vector<std::int32_t> token_types;
  std::vector<std::string_view> merges;
  std::optional<TokenId> bos, eos, unk, pad, eot, eom, cls, sep;
  std::optional<bool> add_bos, add_eos, add_space_prefix, remove_extra_whitespaces;
  std::string charsmap;      // precompiled_charsmap; see CharacterMap
  std::vector<TokenId> eog;  // further ids that end an answer
};

struct EncodeOptions {
  bool parse_special = true;  // special tokens written out in the text become their ids; false: they stay text
  bool add_special = false;   // put the tokens around the text that the tokenizer asks for (BOS ...)
};

// A token and the bytes start..end of the text that it covers. Bytes the tokenizer put in itself have no width.
struct EncodedToken {
  TokenId id = -1;
  std::size_t start = 0;
  std::size_t end = 0;
};

// Text to token ids and back, as the model was trained with it. Immutable after construction, so any number of threads
// may use one; a text is at most kMaxTextBytes long. Bytes that are not UTF-8 are encoded as U+FFFD.
class Tokenizer {
 public:
  static constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30;

  // Fail with kBadFile, naming the field (JSON path), where the file is broken or asks for what is not supported.
  static base::Result<std::unique_ptr<Tokenizer>> from_gguf(const GgufVocabulary& vocabulary);
  // The contents of tokenizer.json and, if there is one, of tokenizer_config.json (else empty).
  static base::Result<std::unique_ptr<Tokenizer>> from_tokenizer_json(std::string_view json,
                                                                      std::string_view tokenizer_config_json);
  // The contents of a .tiktoken file, and the name that its encoding is published under, one of tiktoken_encodings().
  static base::Result<std::unique_ptr<Tokenizer>> from_tiktoken(std::string_view text, std::string_view encoding);
  // The contents of Mistral's tekken.json.
  static base::Result<std::unique_ptr<Tokenizer>> from_tekken(std::string_view json);
  // A SentencePiece model (tokenizer.model): the protobuf message sentencepiece.ModelProto, of any type.
  static base::Result<std::unique_ptr<Tokenizer>> from_sentencepiece(std::string_view model);

  explicit Tokenizer(TokenizerParts parts) : parts_(std::move(parts)) {}

  // Fail with kUsage for a text too long, or one on which a limit of the splitter is hit.
  base::Result<std::vector<TokenId>> encode(std::string_view text, EncodeOptions options) const;
  base::Result<std::vector<EncodedToken>> encode_with_offsets(std::string_view text, EncodeOptions options) const;

  // Always valid UTF-8. Ids outside the vocabulary are passed over.
  std::string decode(std::span<const TokenId> ids, bool skip_special = false) const;

  // As the vocabulary spells it ("Ġthe", "▁the", "<0x0A>"); empty outside the vocabulary.
  std::string_view piece(TokenId id) const { return parts_.vocabulary->piece(id); }
  // The bytes it stands for; not UTF-8 where a token holds a part of a character.
  std::string token_bytes(TokenId id) const { return parts_.decode_rules.bytes_of(piece(id)); }
  // As a person reads it: a special token by its name, others by their bytes.
  std::string token_text(TokenId id) const { return is_special(id) ? std::string(piece(id)) : token_bytes(id); }
  std::optional<TokenId> find(std::string_view piece) const;

  // Whether the vocabulary has a token of that id; its text may be empty.
  bool contains(TokenId id) const { return parts_.vocabulary->contains(id); }
  std::size_t vocab_size() const { return parts_.vocabulary->size(); }
  bool is_special(TokenId id) const;
  bool is_end_of_generation(TokenId id) const;
  std::optional<TokenId> bos() const { return parts_.ids.bos; }
  std::optional<TokenId> eos() const { return parts_.ids.eos; }
  std::optional<TokenId> unk() const { return parts_.ids.unk; }
  std::optional<TokenId> pad() const { return parts_.ids.pad; }
  std::span<const TokenId> end_of_generation() const { return parts_.ids.end_of_generation; }
  // What add_special puts before and behind the tokens of a text.
  std::span<const TokenId> prefix() const { return parts_.prefix_ids; }
  std::span<const TokenId> suffix() const { return parts_.suffix_ids; }
  std::string_view kind() const { return parts_.model->kind(); }
  const DecodeRules& decode_rules() const { return parts_.decode_rules; }

 private:
  // nullptr where decoding so many ids is not joining bytes, or does not pay for the table.
  const TokenBytes* bytes_to_join(std::size_t num_ids) const;

  TokenizerParts parts_;
  mutable IdCachePool caches_;
  mutable std::once_flag token_bytes_once_;
  mutable std::unique_ptr<const TokenBytes> built_token_bytes_;
  mutable std::atomic<const TokenBytes*> token_bytes_ = nullptr;
};

// "cl100k_base", "o200k_base" ...
std::vector<std::string_view> tiktoken_encodings();

// Whether a JSON text is one of tekken's, rather than a tokenizer.json.
bool is_tekken_json(std::string_view json);

// Text from the tokens of one answer as they come; one per request, used by one thread, and the tokenizer must outlive
// it. What push and finish give out, joined, is what Tokenizer::decode makes of all the ids; and never half a
// character. One exception: where a decoder turns a whole run of byte tokens into U+FFFD because of a broken one,
// decode also takes back the whole characters at its start, which a stream has given out already.
class Detokenizer {
 public:
  Detokenizer(const Tokenizer& tokenizer, bool skip_special)
      : tokenizer_(&tokenizer), skip_special_(skip_special), decoder_(tokenizer.decode_rules(), false) {}

  std::string push(TokenId id);
  // What is left: U+FFFD for a character that never became whole.
  std::string finish() { return decoder_.finish(); }

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  PieceDecoder decoder_;
};

}  // namespace vitrine::tokenizer
