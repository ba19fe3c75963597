#include "tools/load/sse_reader.h"

#include <utility>

namespace vitrine::tools {

std::vector<std::string> SseReader::feed(std::string_view bytes) {
  std::vector<std::string> events;
  for (const char byte : bytes) {
    const bool is_second_half = std::exchange(after_cr_, byte == '\r') && byte == '\n';
    if (is_second_half) continue;
    if (byte == '\r' || byte == '\n') {
      end_line(events);
    } else {
      line_ += byte;
    }
  }
  return events;
}

void SseReader::end_line(std::vector<std::string>& events) {
  const std::string line = std::exchange(line_, {});
  if (line.empty()) {
    if (std::exchange(has_data_, false)) events.push_back(std::exchange(data_, {}));
    return;
  }
  std::string_view value(line);
  if (!value.starts_with("data")) return;
  value.remove_prefix(4);
  if (!value.empty() && value.front() != ':') return;  // another field, of a longer name
  if (!value.empty()) value.remove_prefix(1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (std::exchange(has_data_, true)) data_ += '\n';
  data_ += value;
}

}  // namespace vitrine::tools
