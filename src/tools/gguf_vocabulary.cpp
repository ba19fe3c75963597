#include "tools/gguf_vocabulary.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "tokenizer/vocabulary.h"

namespace vitrine::tools {
namespace {

using base::Result;
using loader::Metadata;
using tokenizer::GgufVocabulary;

constexpr std::string_view kPrefix = "tokenizer.ggml.";

std::string key(std::string_view name) {
  return std::string(kPrefix) + std::string(name);
}

// Takes values out of the metadata one after another; the first error stays and ends the work.
class VocabularyReader {
 public:
  explicit VocabularyReader(const Metadata& metadata) : metadata_(metadata) {}

  void text(std::string_view name, std::string& out) {
    if (auto value = take(metadata_.string_value(key(name)))) out = *value;
  }
  void flag(std::string_view name, std::optional<bool>& out) { out = take(metadata_.bool_value(key(name))); }
  void texts(std::string_view name, std::vector<std::string_view>& out) {
    if (auto value = take(metadata_.string_array(key(name)))) out = std::move(*value);
  }
  void numbers(std::string_view name, std::vector<float>& out) {
    if (auto value = take(metadata_.float_array(key(name)))) out = std::move(*value);
  }
  void types(std::string_view name, std::vector<std::int32_t>& out) {
    constexpr auto kMax = std::numeric_limits<std::int32_t>::max();
    if (auto value = take(metadata_.int_array(key(name), 0, kMax))) out.assign(value->begin(), value->end());
  }
  void bytes(std::string_view name, std::string& out) {
    if (auto value = take(metadata_.int_array(key(name), 0, 255))) {
      for (const std::int64_t byte : *value)
        out.push_back(static_cast<char>(static_cast<unsigned char>(byte)));
    }
  }
  // Converters write -1, or 2^32 - 1, for a token that the model has not.
  void id(std::string_view name, std::optional<TokenId>& out) {
    const auto value = take(metadata_.int_value(key(name), -1, std::numeric_limits<std::uint32_t>::max()));
    if (!value || *value == -1 || *value == std::numeric_limits<std::uint32_t>::max()) return;
    if (*value > tokenizer::Vocabulary::kMaxId) {
      fail(base::bad_file(key(name) + ": " + std::to_string(*value) + " is beyond any vocabulary"));
      return;
    }
    out = static_cast<TokenId>(*value);
  }

  std::optional<base::Error>& error() { return error_; }

 private:
  template <typename T>
  std::optional<T> take(Result<std::optional<T>> found) {
    if (found) return std::move(*found);
    fail(std::move(found).error());
    return std::nullopt;
  }
  void fail(base::Error error) {
    if (!error_) error_ = std::move(error);
  }

  const Metadata& metadata_;
  std::optional<base::Error> error_;
};

}  // namespace

Result<std::optional<GgufVocabulary>> read_gguf_vocabulary(const Metadata& metadata) {
  if (metadata.find(key("model")) == nullptr && metadata.find(key("tokens")) == nullptr) {
    return std::optional<GgufVocabulary>();
  }
  GgufVocabulary vocabulary;
  VocabularyReader reader(metadata);
  reader.text("model", vocabulary.model);
  reader.text("pre", vocabulary.pre);
  reader.texts("tokens", vocabulary.tokens);
  reader.numbers("scores", vocabulary.scores);
  reader.types("token_type", vocabulary.token_types);
  reader.texts("merges", vocabulary.merges);
  reader.bytes("precompiled_charsmap", vocabulary.charsmap);
  reader.id("bos_token_id", vocabulary.bos);
  reader.id("eos_token_id", vocabulary.eos);
  reader.id("unknown_token_id", vocabulary.unk);
  reader.id("padding_token_id", vocabulary.pad);
  reader.id("eot_token_id", vocabulary.eot);
  reader.id("eom_token_id", vocabulary.eom);
  reader.id("cls_token_id", vocabulary.cls);
  reader.id("seperator_token_id", vocabulary.sep);  // spelled so in the files
  reader.flag("add_bos_token", vocabulary.add_bos);
  reader.flag("add_eos_token", vocabulary.add_eos);
  reader.flag("add_space_prefix", vocabulary.add_space_prefix);
  reader.flag("remove_extra_whitespaces", vocabulary.remove_extra_whitespaces);
  if (reader.error()) return std::move(*reader.error());
  return std::optional(std::move(vocabulary));
}

}  // namespace vitrine::tools
