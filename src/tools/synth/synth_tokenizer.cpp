#include "tools/synth/synth_tokenizer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "tokenizer/byte_alphabet.h"

namespace vitrine::tools {
namespace {

constexpr std::size_t kNumBytes = 256;
constexpr std::array<std::string_view, 3> kControls = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
constexpr std::string_view kCommonFirst = " etaoinshrdlcumwfgypbvk.,'";
constexpr std::string_view kChatTemplate =
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

// Frequent letters first, so that text meets the first merges.
std::array<unsigned char, kNumBytes> bytes_by_use() {
  std::array<unsigned char, kNumBytes> bytes{};
  auto* end = std::ranges::copy(kCommonFirst, bytes.begin()).out;
  for (std::size_t byte = 0; byte < kNumBytes; ++byte) {
    if (kCommonFirst.find(static_cast<char>(byte)) == std::string_view::npos) *end++ = static_cast<unsigned char>(byte);
  }
  return bytes;
}

// Merge `idx` as (token, byte): all pairs of the bytes below m before those with byte m, so that a small vocabulary has
// those of the frequent ones; then every later token with every byte. As the right side is a byte, no two are equal.
std::pair<std::size_t, std::size_t> merge_at(std::size_t idx) {
  if (idx >= kNumBytes * kNumBytes) return {idx / kNumBytes, idx % kNumBytes};
  std::size_t shell = 0;
  while ((shell + 1) * (shell + 1) <= idx)
    ++shell;
  const std::size_t place = idx - shell * shell;
  return place < shell ? std::pair{place, shell} : std::pair{shell, place - shell};
}

}  // namespace

SynthVocabulary synth_vocabulary(std::size_t size) {
  VT_CHECK(size >= 2 * kNumBytes, "room for the bytes");
  const auto bytes = bytes_by_use();
  SynthVocabulary vocabulary;
  for (const unsigned char byte : bytes)
    vocabulary.tokens.emplace_back(tokenizer::spelling_of_byte(byte));
  for (std::size_t idx = 0; vocabulary.tokens.size() + kControls.size() < size; ++idx) {
    const auto [left, right] = merge_at(idx);
    vocabulary.merges.push_back(vocabulary.tokens[left] + " " + vocabulary.tokens[right]);
    vocabulary.tokens.push_back(vocabulary.tokens[left] + vocabulary.tokens[right]);
  }
  vocabulary.end_of_text = vocabulary.tokens.size();
  vocabulary.turn_start = vocabulary.end_of_text + 1;
  vocabulary.turn_end = vocabulary.end_of_text + 2;
  vocabulary.tokens.insert(vocabulary.tokens.end(), kControls.begin(), kControls.end());
  return vocabulary;
}

void add_synth_tokenizer(loader::GgufOutline& outline, std::size_t vocab_size) {
  constexpr std::int32_t kNormal = 1;
  constexpr std::int32_t kControl = 3;
  const SynthVocabulary vocabulary = synth_vocabulary(vocab_size);
  std::vector<std::int32_t> types(vocab_size, kNormal);
  std::fill(types.end() - kControls.size(), types.end(), kControl);
  outline.add("tokenizer.ggml.model", "gpt2").add("tokenizer.ggml.pre", "gpt-2");
  outline.add_array("tokenizer.ggml.tokens", vocabulary.tokens);
  outline.add_array<std::int32_t>("tokenizer.ggml.token_type", types);
  outline.add_array("tokenizer.ggml.merges", vocabulary.merges);
  outline.add("tokenizer.ggml.bos_token_id", static_cast<std::uint32_t>(vocabulary.end_of_text));
  outline.add("tokenizer.ggml.eos_token_id", static_cast<std::uint32_t>(vocabulary.turn_end));
  outline.add("tokenizer.ggml.add_bos_token", false);
  outline.add("tokenizer.chat_template", kChatTemplate);
}

}  // namespace vitrine::tools
