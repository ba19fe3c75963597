#include "vitrine/training_progress.h"

#include <string>

#include <fmt/format.h>

namespace vitrine::cli {

void TrainingProgress::counted(std::uint64_t bytes, std::uint64_t total_bytes) {
  counting_.progress("counting words", bytes, total_bytes);
}

void TrainingProgress::merged(std::size_t merges, std::size_t most_merges, double bytes_per_token) {
  if (is_quiet_) return;
  const Clock::time_point now = Clock::now();
  if (merges == 0) started_ = shown_ = now;
  if (!is_due(now)) return;
  shown_ = now;
  const double elapsed_s = std::chrono::duration<double>(now - started_).count();
  const double left_s = elapsed_s * static_cast<double>(most_merges - merges) / static_cast<double>(merges);
  const std::string line = fmt::format(
      "merging  {} of {}  {:.0f} %  {:.2f} bytes per token  {} left", merges, most_merges,
      100.0 * static_cast<double>(merges) / static_cast<double>(most_merges), bytes_per_token, format_duration(left_s));
  if (!err_.is_tty()) return err_.print(line + "\n");
  err_.print("\r\033[K" + line.substr(0, static_cast<std::size_t>(err_.width() - 1)));
  is_on_screen_ = true;
}

// As often as ProgressBar does.
bool TrainingProgress::is_due(Clock::time_point now) const {
  return now - shown_ >= (err_.is_tty() ? std::chrono::milliseconds(100) : std::chrono::seconds(10));
}

void TrainingProgress::clear() {
  if (is_on_screen_) err_.print("\r\033[K");
  is_on_screen_ = false;
}

}  // namespace vitrine::cli
