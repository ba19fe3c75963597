#include "loader/hf_directory.h"

#include <fmt/format.h>
#include "base/utf8.h"

#include <string_view>
#include <system_error>

#include "base/mapped_file.h"
#include "loader/errors.h"
#include "loader/json_file.h"
#include "loader/safetensors_files.h"

namespace vitrine::loader {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxTemplateBytes = std::size_t{1} << 20U;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

nlohmann::json read_optional(const fs::path& path) {
  if (!is_there(path)) return nlohmann::json::object();
  return read_json_object(path).value_or_throw();
}

std::string checked_template(std::string_view text) {
  if (text.size() > kMaxTemplateBytes) fail(fmt::format("chat template of more than {} bytes", kMaxTemplateBytes));
  if (!base::is_valid_utf8(text)) fail("chat template is not UTF-8");
  return std::string(text);
}

std::string read_template_file(const fs::path& path) {
  const base::MappedFile file = base::MappedFile::open(path).value_or_throw();
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  return catch_errors(path, [&] { return checked_template(text); }).value_or_throw();
}

// The file beside tokenizer_config.json is the newer form and wins.
std::optional<std::string> read_chat_template(const fs::path& directory, const nlohmann::json& tokenizer_config) {
  const fs::path file = directory / "chat_template.jinja";
  if (is_there(file)) return read_template_file(file);
  return catch_errors(directory / "tokenizer_config.json", [&] { return chat_template_of(tokenizer_config); })
      .value_or_throw();
}

void note_code(const nlohmann::json& json, std::string_view file_name, std::vector<std::string>& notes) {
  if (!json.contains("auto_map")) return;
  notes.push_back(fmt::format("{}: auto_map names Python code; it is never run", file_name));
}

std::string string_field(const nlohmann::json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_string()) {
    fail("chat_template: every entry must have a \"name\" and a \"template\" that are strings");
  }
  return found->get<std::string>();
}

HfModel open_directory(const fs::path& directory) {
  if (!is_there(directory / "config.json")) fail(directory.string() + ": not a model folder: config.json is not there");
  HfModel model;
  model.config = read_json_object(directory / "config.json").value_or_throw();
  model.generation_config = read_optional(directory / "generation_config.json");
  model.tokenizer_config = read_optional(directory / "tokenizer_config.json");
  model.chat_template = read_chat_template(directory, model.tokenizer_config);
  if (is_there(directory / "tokenizer.json")) model.tokenizer_json = directory / "tokenizer.json";
  note_code(model.config, "config.json", model.notes);
  note_code(model.tokenizer_config, "tokenizer_config.json", model.notes);
  model.weights = open_safetensors(directory, model.notes);
  return model;
}

}  // namespace

std::optional<std::string> chat_template_of(const nlohmann::json& tokenizer_config) {
  const auto found = tokenizer_config.find("chat_template");
  if (found == tokenizer_config.end() || found->is_null()) return std::nullopt;
  if (found->is_string()) return checked_template(found->get_ref<const std::string&>());
  if (!found->is_array()) fail("chat_template: must be a string or a list of named templates");
  for (const nlohmann::json& entry : *found) {
    if (string_field(entry, "name") == "default") return checked_template(string_field(entry, "template"));
  }
  return std::nullopt;
}

base::Result<HfModel> open_hf_directory(const fs::path& directory) {
  std::error_code code;
  if (fs::status(directory, code).type() == fs::file_type::not_found) {
    return base::Error{base::ErrorKind::kMissing, directory.string() + ": no such directory"};
  }
  try {
    return open_directory(directory);
  } catch (const base::Exception& exception) {
    return exception.error();
  }
}

}  // namespace vitrine::loader
