#include "server/server_log.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/utc_date.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<std::string_view, LogFormat>, 3> kFormats = {
    {{"off", LogFormat::kOff}, {"text", LogFormat::kText}, {"json", LogFormat::kJson}}};

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

// ASCII alone: what is not is escaped, and what is no UTF-8 replaced.
std::string dump_ascii(const Json& value) {
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

// Words of a text line stand bare where nothing in them could be taken for anything else.
bool is_bare(const std::string& text) {
  constexpr std::string_view kOthers = "_-.:/{}[]+@,";
  const auto is_plain = [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kOthers.find(c) != std::string_view::npos;
  };
  return !text.empty() && std::ranges::all_of(text, is_plain);
}

std::string text_value(const Json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  return text != nullptr && is_bare(*text) ? *text : dump_ascii(value);
}

}  // namespace

std::optional<LogFormat> parse_log_format(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, [](const auto& row) { return row.first; });
  return found == kFormats.end() ? std::nullopt : std::optional(found->second);
}

ServerLog::ServerLog(const LogOptions& options) : format_(options.format) {
  if (format_ == LogFormat::kOff) return;
  const auto note_of_loss = [this](std::size_t num_lines) {
    return line(LogLevel::kWarn, "lines_lost", {{"lines", num_lines}});
  };
  writer_ = std::make_unique<LineWriter>(options.path, note_of_loss);
}

void ServerLog::write(LogLevel level, std::string_view event, const Json& fields) {
  if (is_on()) writer_->write(line(level, event, fields));
}

std::string ServerLog::line(LogLevel level, std::string_view event, const Json& fields) const {
  const std::string time = base::format_time(std::chrono::system_clock::now());
  if (format_ == LogFormat::kJson) {
    Json json = {{"time", time}, {"level", level_name(level)}, {"event", event}};
    json.update(fields);
    return dump_ascii(json) + "\n";
  }
  std::string text = fmt::format("{} {} {}", time, level_name(level), event);
  for (const auto& [name, value] : fields.items())
    text += fmt::format(" {}={}", name, text_value(value));
  return text + "\n";
}

}  // namespace vitrine::server
