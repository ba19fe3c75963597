#include "vitrine/lab_progress.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "vitrine/progress.h"

namespace vitrine::cli {
namespace {

constexpr double kFirstForecast = 0.05;  // below this share the time left is a guess

}  // namespace

std::string lab_progress_line(std::string_view name, double share, double elapsed_s) {
  const double done = std::clamp(share, 0.0, 1.0);
  std::string line = fmt::format("{}  {}  {:3.0f} %", name, progress_bar(done), 100.0 * done);
  if (done >= kFirstForecast && done < 1.0)
    line += fmt::format("  {} left", format_duration(elapsed_s * (1.0 - done) / done));
  return line;
}

void LabProgress::show(double share) {
  if (is_quiet_) return;
  const Clock::time_point now = Clock::now();
  if (now - shown_ < (err_.is_tty() ? std::chrono::milliseconds(100) : std::chrono::seconds(10))) return;
  shown_ = now;
  const std::string line = lab_progress_line(name_, share, std::chrono::duration<double>(now - started_).count());
  if (!err_.is_tty()) return err_.print(line + "\n");
  err_.print("\r\033[K" + line.substr(0, static_cast<std::size_t>(std::max(err_.width() - 1, 1))));
  std::fflush(err_.stream());
  is_on_screen_ = true;
}

void LabProgress::clear() {
  if (is_on_screen_) err_.print("\r\033[K");
  is_on_screen_ = false;
}

}  // namespace vitrine::cli
