#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/tokenizer.h"

// Any text, behind a byte that chooses among small vocabularies of each kind. Byte-level tokenizers must give the very
// text back, a stream must say what decoding at once says, and offsets must lie inside the text.
namespace {

using namespace vitrine;
using tokenizer::GgufVocabulary;
using tokenizer::Tokenizer;

std::unique_ptr<Tokenizer> make_byte_level(const char* pre) {
  static std::vector<std::string> tokens;
  tokens.clear();
  for (unsigned byte = 0; byte < 256; ++byte) {
    tokens.emplace_back(tokenizer::spelling_of_byte(static_cast<unsigned char>(byte)));
  }
  for (const char* piece : {"th", "the", "aa", "aaaa", "<|x|>"})
    tokens.emplace_back(piece);
  GgufVocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = pre;
  vocabulary.tokens.assign(tokens.begin(), tokens.end());
  vocabulary.token_types.assign(tokens.size(), 1);
  vocabulary.token_types.back() = 3;
  vocabulary.merges = {"t h", "th e", "a a", "aa aa"};
  return Tokenizer::from_gguf(vocabulary).value_or_throw();
}

std::unique_ptr<Tokenizer> make_sentencepiece() {
  static std::vector<std::string> tokens = {"<unk>",
                                            "<s>",
                                            "\xE2\x96\x81",
                                            "a",
                                            "aa",
                                            "ab",
                                            "\xE2\x96\x81"
                                            "a"};
  tokens.resize(7);
  for (unsigned byte = 0; byte < 256; ++byte)
    tokens.push_back(tokenizer::token_of_byte(static_cast<unsigned char>(byte)));
  GgufVocabulary vocabulary;
  vocabulary.model = "llama";
  vocabulary.tokens.assign(tokens.begin(), tokens.end());
  vocabulary.scores.assign(tokens.size(), 0);
  for (std::size_t i = 3; i < 7; ++i)
    vocabulary.scores[i] = -static_cast<float>(i);
  vocabulary.token_types.assign(tokens.size(), 6);
  const std::int32_t first_types[] = {2, 3, 1, 1, 1, 1, 1};
  std::copy(std::begin(first_types), std::end(first_types), vocabulary.token_types.begin());
  vocabulary.unk = 0;
  vocabulary.bos = 1;
  return Tokenizer::from_gguf(vocabulary).value_or_throw();
}

void check(const Tokenizer& tokens, std::string_view text, bool gives_text_back) {
  const auto encoded = tokens.encode_with_offsets(text, {});
  const auto ids = tokens.encode(text, {});
  if (!encoded || !ids || encoded->size() != ids->size()) std::abort();
  for (const auto& token : *encoded) {
    if (token.start > token.end || token.end > text.size()) std::abort();
  }
  const std::string decoded = tokens.decode(*ids);
  tokenizer::Detokenizer detokenizer(tokens, false);
  std::string streamed;
  for (const TokenId id : *ids)
    streamed += detokenizer.push(id);
  if (streamed + detokenizer.finish() != decoded) std::abort();
  if (gives_text_back && base::is_valid_utf8(text) && decoded != text) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::unique_ptr<Tokenizer> smollm = make_byte_level("smollm");
  static const std::unique_ptr<Tokenizer> llama3 = make_byte_level("llama-bpe");
  static const std::unique_ptr<Tokenizer> o200k = make_byte_level("gpt-4o");
  static const std::unique_ptr<Tokenizer> deepseek = make_byte_level("deepseek-v3");
  static const std::unique_ptr<Tokenizer> sentencepiece = make_sentencepiece();
  if (size == 0) return 0;
  const Tokenizer* tokenizers[] = {smollm.get(), llama3.get(), o200k.get(), deepseek.get(), sentencepiece.get()};
  const Tokenizer& tokens = *tokenizers[data[0] % std::size(tokenizers)];
  check(tokens, {reinterpret_cast<const char*>(data + 1), size - 1}, &tokens != sentencepiece.get());
  return 0;
}
