#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "server/line_writer.h"

namespace vitrine::server {

enum class LogFormat {
  kOff,
  kText,  // "2025-03-14T15:09:26.535Z info request method=GET status=200"
  kJson,  // {"time":"2025-03-14T15:09:26.535Z","level":"info","event":"request","method":"GET","status":200}
};
// Of "text", "json" or "off".
std::optional<LogFormat> parse_log_format(std::string_view name);

enum class LogLevel { kInfo, kWarn, kError };

struct LogOptions {
  LogFormat format = LogFormat::kOff;
  std::filesystem::path path = {};  // empty: standard error
};

// What happens in the server, an event a line. Every byte that is not printable ASCII is escaped in both formats, so
// that a line is one event whatever its fields hold. Any thread; nobody waits for the disk.
class ServerLog {
 public:
  // Throws as LineWriter does.
  explicit ServerLog(const LogOptions& options);
  ServerLog(const ServerLog&) = delete;
  ServerLog& operator=(const ServerLog&) = delete;

  bool is_on() const { return writer_ != nullptr; }
  // `fields`: an object, in the order of the line.
  void write(LogLevel level, std::string_view event, const nlohmann::ordered_json& fields);

 private:
  std::string line(LogLevel level, std::string_view event, const nlohmann::ordered_json& fields) const;

  LogFormat format_;
  std::unique_ptr<LineWriter> writer_;  // null: the log is off
};

}  // namespace vitrine::server
