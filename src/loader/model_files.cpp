#include "loader/model_files.h"

#include <array>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/mapped_file.h"
#include "loader/errors.h"
#include "loader/gguf_split.h"

namespace vitrine::loader {
namespace {

namespace fs = std::filesystem;

struct KnownKind {
  std::string_view magic;
  std::string_view refusal;
};

constexpr auto kRefusedKinds = std::to_array<KnownKind>({
    {"PK\x03\x04", "a zip archive (PyTorch checkpoints are): only GGUF and safetensors are read"},
    {"\x80\x02", "a Python pickle, which can run code: only GGUF and safetensors are read"},
    {"lmgg", "an old GGML file; convert it to GGUF"},
    {"fmgg", "an old GGMF file; convert it to GGUF"},
    {"tjgg", "an old GGJT file; convert it to GGUF"},
    {"version https://git-lfs", "a Git LFS pointer, not the model itself; fetch the real file (git lfs pull)"},
    {"{", "a JSON file; give the folder it lies in"},
    {"<", "an HTML or XML page, not a model: the download failed"},
});

std::string why_refused(std::string_view content) {
  if (content.size() < 4) return "not a model: shorter than 4 bytes";
  for (const KnownKind& kind : kRefusedKinds) {
    if (content.starts_with(kind.magic)) return std::string(kind.refusal);
  }
  if (content.size() > 8 && content[8] == '{') return "a safetensors file; give the folder it lies in";
  return "not a model: neither a GGUF file nor a folder with config.json";
}

// How ModelFiles is made of either kind of model.
template <typename Model>
base::Result<ModelFiles> widen(base::Result<Model> model) {
  if (!model) return model.error();
  return ModelFiles(*std::move(model));
}

base::Result<ModelFiles> open_file(const fs::path& path) {
  std::string refusal;
  {
    const auto file = base::MappedFile::open(path);
    if (!file) return file.error();
    const std::string_view content(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
    if (!content.starts_with("GGUF")) refusal = why_refused(content);
  }
  if (!refusal.empty()) return base::bad_file(path.string() + ": " + refusal);
  return widen(open_gguf(path));
}

// A file that stands for a model: a GGUF, but of a split one only the first part.
bool is_gguf_model(const fs::path& path) {
  if (path.extension() != ".gguf") return false;
  const auto name = parse_split_name(path);
  return !name || name->part_idx == 0;
}

base::Result<ModelFiles> open_gguf_in(const fs::path& directory) {
  std::optional<fs::path> found;
  std::error_code code;
  for (fs::directory_iterator it(directory, code), end; !code && it != end; it.increment(code)) {
    if (!is_gguf_model(it->path())) continue;
    if (found) return base::bad_file(directory.string() + ": several GGUF models lie here; name one of the files");
    found = it->path();
  }
  if (code) return base::Error{base::ErrorKind::kIo, directory.string() + ": " + code.message()};
  if (!found) return base::bad_file(directory.string() + ": not a model folder: neither config.json nor a GGUF file");
  return open_file(*found);
}

}  // namespace

base::Result<ModelFiles> open_model_files(const fs::path& path) {
  std::error_code code;
  if (!fs::is_directory(path, code)) return open_file(path);
  if (fs::exists(path / "config.json", code)) return widen(open_hf_directory(path));
  return open_gguf_in(path);
}

}  // namespace vitrine::loader
