#include "settings/settings_file.h"

#include <optional>

#include <fmt/format.h>

#include "settings/toml_file.h"

namespace vitrine::settings {
namespace {

std::optional<std::string> as_word(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& file) : file_(file) {}

  std::vector<std::string> words(const std::string& name, const toml::node& node) const {
    std::vector<std::string> words;
    if (const toml::array* array = node.as_array()) {
      for (const toml::node& value : *array)
        words.push_back(word(name, value));
    } else if (const toml::table* table = node.as_table()) {
      for (const auto& [key, value] : *table)
        append_rows(name, std::string(key.str()), value, words);
    } else {
      words.push_back(word(name, node));
    }
    return words;
  }

 private:
  void append_rows(const std::string& name, const std::string& key, const toml::node& node,
                   std::vector<std::string>& words) const {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      words.push_back(fmt::format("{}={}", key, word(name, node)));
      return;
    }
    if (table->empty()) words.push_back(key);
    for (const auto& [inner_key, inner] : *table) {
      for (const std::string& value : inner_words(name, inner))
        words.push_back(fmt::format("{}.{}={}", key, inner_key.str(), value));
    }
  }

  std::vector<std::string> inner_words(const std::string& name, const toml::node& node) const {
    const toml::array* array = node.as_array();
    if (array == nullptr) return {word(name, node)};
    std::vector<std::string> words;
    for (const toml::node& value : *array)
      words.push_back(word(name, value));
    return words;
  }

  std::string word(const std::string& name, const toml::node& node) const {
    if (auto word = as_word(node)) return *std::move(word);
    throw wrong_setting(file_, fmt::format("line {}: {}: must be a text, a number, true or false, or a list of them",
                                           node.source().begin.line, name));
  }

  const std::filesystem::path& file_;
};

std::map<std::string, std::vector<std::string>> settings_of(const toml::table& table,
                                                            const std::filesystem::path& file) {
  std::map<std::string, std::vector<std::string>> settings;
  const Reader reader(file);
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    settings[name] = reader.words(name, node);
  }
  return settings;
}

}  // namespace

std::map<std::string, std::vector<std::string>> read_settings(const std::filesystem::path& file) {
  return settings_of(parse_toml(file), file);
}

std::map<std::string, std::vector<std::string>> read_settings_text(std::string_view text,
                                                                   const std::filesystem::path& file) {
  return settings_of(parse_toml_text(text, file), file);
}

}  // namespace vitrine::settings
