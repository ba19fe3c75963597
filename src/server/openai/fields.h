#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace vitrine::server {

// The body of a request as a JSON object: UTF-8, no key twice, nested no deeper than chat::kMaxJsonDepth. Throws
// ApiException (400).
nlohmann::ordered_json parse_body(std::string_view body);

// Reads the members of an object by name and remembers which were asked for. null counts as absent, as in the OpenAI
// API. A member of a wrong type or out of range throws ApiException (400) that names it. The object must outlive this.
class Fields {
 public:
  // `path` stands before the names in messages: "stream_options." or nothing.
  explicit Fields(const nlohmann::ordered_json& object, std::string path = {});

  const nlohmann::ordered_json* find(std::string_view name);
  std::optional<std::string> text(std::string_view name);
  std::optional<bool> flag(std::string_view name);
  std::optional<std::size_t> count(std::string_view name, std::size_t min, std::size_t max);
  // A string, or an array of at most `max_count` of them.
  std::vector<std::string> texts(std::string_view name, std::size_t max_count);
  // An object; nullptr where there is none.
  const nlohmann::ordered_json* object(std::string_view name);

  // Members that nobody asked for, with their path; those of inner objects that were taken in as well.
  std::vector<std::string> unread() const;
  void take_unread_of(const Fields& inner);

 private:
  std::string param(std::string_view name) const { return path_ + std::string(name); }

  const nlohmann::ordered_json& object_;
  std::string path_;
  std::set<std::string, std::less<>> read_;
  std::vector<std::string> unread_inside_;
};

}  // namespace vitrine::server
