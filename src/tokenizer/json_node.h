#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace vitrine::tokenizer {

// A value inside tokenizer.json that knows its path there, for messages. Every accessor throws base::Exception
// (kBadFile) naming the path where the value is not what it must be.
class JsonNode {
 public:
  JsonNode(const nlohmann::json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  const nlohmann::json& value() const { return *value_; }
  const std::string& path() const { return path_; }
  bool is_null() const { return value_->is_null(); }

  bool has(std::string_view name) const;  // and it is not null
  JsonNode at(std::string_view name) const;
  JsonNode at(std::size_t index) const;
  std::size_t size() const;  // of an array

  std::string string() const;
  bool boolean() const;
  std::int64_t integer() const;
  bool boolean_or(std::string_view name, bool otherwise) const;
  std::string string_or(std::string_view name, std::string_view otherwise) const;
  std::string type() const { return at("type").string(); }

  [[noreturn]] void fail(std::string_view reason) const;
  // "...: type "X" is not supported".
  [[noreturn]] void refuse_type() const;

 private:
  const nlohmann::json* value_;
  std::string path_;
};

// Parses JSON text whose nesting is at most 64 deep; throws base::Exception.
nlohmann::json parse_small_json(std::string_view text, std::string_view path);

}  // namespace vitrine::tokenizer
