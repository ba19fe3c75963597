#include "tokenizer/tokenizer_files.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <utility>

#include "support/reference_data.h"
#include "tools/tokenizer_file.h"

namespace vitrine::testing {
namespace {

namespace fs = std::filesystem;

template <typename T>
std::optional<T> value_of(base::Result<std::optional<T>> lookup) {
  return std::move(lookup).value_or_throw();
}

std::optional<TokenId> token_id(const loader::Metadata& metadata, const std::string& key) {
  const auto id = value_of(metadata.uint_value("tokenizer.ggml." + key, 0, INT32_MAX));
  return id ? std::optional(static_cast<TokenId>(*id)) : std::nullopt;
}

std::unique_ptr<tokenizer::Tokenizer> take(base::Result<std::unique_ptr<tokenizer::Tokenizer>> result,
                                           const fs::path& path) {
  if (result) return std::move(result).value();
  ADD_FAILURE() << path << ": " << result.error().message;
  return nullptr;
}

}  // namespace

std::optional<fs::path> tokenizer_file(const std::string& name) {
  const char* folder = std::getenv("VITRINE_TOKENIZER_FILES");
  const fs::path root = folder != nullptr ? fs::path(folder) : data_path("../../build/tokenizer-files");
  if (const auto file = tools::find_tokenizer_file(root / name)) return file;
  if (fs::exists(root / (name + ".gguf"))) return root / (name + ".gguf");
  return std::nullopt;
}

tokenizer::GgufVocabulary gguf_vocabulary(const loader::Metadata& metadata) {
  const auto key = [](const char* name) { return std::string("tokenizer.ggml.") + name; };
  tokenizer::GgufVocabulary vocabulary;
  vocabulary.model = value_of(metadata.string_value(key("model"))).value_or("");
  vocabulary.pre = value_of(metadata.string_value(key("pre"))).value_or("");
  vocabulary.tokens = value_of(metadata.string_array(key("tokens"))).value_or(std::vector<std::string_view>());
  vocabulary.merges = value_of(metadata.string_array(key("merges"))).value_or(std::vector<std::string_view>());
  vocabulary.scores = value_of(metadata.float_array(key("scores"))).value_or(std::vector<float>());
  for (const std::int64_t type :
       value_of(metadata.int_array(key("token_type"), 0, 6)).value_or(std::vector<std::int64_t>())) {
    vocabulary.token_types.push_back(static_cast<std::int32_t>(type));
  }
  vocabulary.bos = token_id(metadata, "bos_token_id");
  vocabulary.eos = token_id(metadata, "eos_token_id");
  vocabulary.unk = token_id(metadata, "unknown_token_id");
  vocabulary.pad = token_id(metadata, "padding_token_id");
  for (const std::int64_t byte :
       value_of(metadata.int_array(key("precompiled_charsmap"), 0, 255)).value_or(std::vector<std::int64_t>())) {
    vocabulary.charsmap.push_back(static_cast<char>(static_cast<unsigned char>(byte)));
  }
  vocabulary.cls = token_id(metadata, "cls_token_id");
  vocabulary.sep = token_id(metadata, "seperator_token_id");
  vocabulary.add_bos = value_of(metadata.bool_value(key("add_bos_token")));
  vocabulary.add_eos = value_of(metadata.bool_value(key("add_eos_token")));
  vocabulary.add_space_prefix = value_of(metadata.bool_value(key("add_space_prefix")));
  vocabulary.remove_extra_whitespaces = value_of(metadata.bool_value(key("remove_extra_whitespaces")));
  return vocabulary;
}

std::unique_ptr<tokenizer::Tokenizer> open_tokenizer(const fs::path& path) {
  if (path.extension() == ".gguf") {
    const loader::GgufModel model = loader::open_gguf(path).value_or_throw();
    return take(tokenizer::Tokenizer::from_gguf(gguf_vocabulary(model.metadata)), path);
  }
  return take(tools::open_tokenizer_file(path), path);
}

const tokenizer::Tokenizer* shared_tokenizer(const std::string& name) {
  static std::map<std::string, std::unique_ptr<tokenizer::Tokenizer>> opened;
  const auto path = tokenizer_file(name);
  if (!path) return nullptr;
  auto& slot = opened[name];
  if (slot == nullptr) slot = open_tokenizer(*path);
  return slot.get();
}

}  // namespace vitrine::testing
