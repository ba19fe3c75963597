// Any text, behind a byte that chooses among small vocabularies of each kind. Byte-level tokenizers must give the very
// text back, a stream must say what decoding at once says, and offsets must lie inside the text.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "fuzz/check_tokenizer.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/gguf_splitters.h"
#include "tokenizer/tokenizer.h"

namespace {

using namespace vitrine;
using tokenizer::GgufVocabulary;
using tokenizer::Tokenizer;

std::unique_ptr<Tokenizer> make_byte_level(std::string_view pre) {
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

// The byte-level ones with each splitter that GGUF files may name, and the other one last.
std::vector<std::unique_ptr<Tokenizer>> make_tokenizers() {
  std::vector<std::unique_ptr<Tokenizer>> tokenizers;
  for (const tokenizer::GgufSplitter& splitter : tokenizer::gguf_splitters())
    tokenizers.push_back(make_byte_level(splitter.name));
  tokenizers.push_back(make_sentencepiece());
  return tokenizers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::unique_ptr<Tokenizer>> tokenizers = make_tokenizers();
  if (size == 0) return 0;
  const std::size_t idx = data[0] % tokenizers.size();
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  fuzz::check_tokenizer(*tokenizers[idx], text);
  const bool is_byte_level = idx + 1 < tokenizers.size();
  if (is_byte_level && !tokenizer::gguf_splitters()[idx].normalizes && base::is_valid_utf8(text)) {
    const auto ids = tokenizers[idx]->encode(text, {});
    VT_CHECK(ids.has_value() && tokenizers[idx]->decode(*ids) == text, "another text than was encoded");
  }
  return 0;
}
