#include "tools/tokenizer_file.h"

#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/mapped_file.h"

namespace vitrine::tools {
namespace {

namespace fs = std::filesystem;
using base::Result;
using tokenizer::Tokenizer;

enum class FileKind { kNone, kJson, kTiktoken, kSentencePiece };

FileKind kind_of(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name.ends_with(".json")) return FileKind::kJson;
  if (name.ends_with(".tiktoken")) return FileKind::kTiktoken;
  const bool is_model = name.ends_with(".model") || name.find(".model.v") != std::string::npos;
  return is_model ? FileKind::kSentencePiece : FileKind::kNone;
}

std::string_view content_of(const base::MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

Result<std::unique_ptr<Tokenizer>> open_json(const fs::path& path, std::string_view json) {
  if (tokenizer::is_tekken_json(json)) return Tokenizer::from_tekken(json);
  const auto config = base::MappedFile::open(path.parent_path() / "tokenizer_config.json");
  return Tokenizer::from_tokenizer_json(json, config ? content_of(*config) : std::string_view());
}

Result<std::unique_ptr<Tokenizer>> open_by_kind(const fs::path& path, std::string_view content) {
  switch (kind_of(path)) {
    case FileKind::kTiktoken:
      return Tokenizer::from_tiktoken(content, path.stem().string());
    case FileKind::kSentencePiece:
      return Tokenizer::from_sentencepiece(content);
    default:
      return open_json(path, content);
  }
}

}  // namespace

std::optional<fs::path> find_tokenizer_file(const fs::path& path) {
  std::error_code ignored;
  if (kind_of(path) != FileKind::kNone && fs::is_regular_file(path, ignored)) return path;
  for (const char* const name : {"tokenizer.json", "tekken.json", "tokenizer.model"}) {
    if (fs::is_regular_file(path / name, ignored)) return path / name;
  }
  for (const std::string_view encoding : tokenizer::tiktoken_encodings()) {
    fs::path file = path / (std::string(encoding) + ".tiktoken");
    if (fs::is_regular_file(file, ignored)) return file;
  }
  return std::nullopt;
}

Result<std::unique_ptr<Tokenizer>> open_tokenizer_file(const fs::path& path) {
  const auto file = base::MappedFile::open(path);
  if (!file) return file.error();
  auto built = open_by_kind(path, content_of(*file));
  if (!built) return base::Error{built.error().kind, path.string() + ": " + built.error().message};
  return built;
}

}  // namespace vitrine::tools
