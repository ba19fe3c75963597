#include "vitrine/progress.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tools/hub/files.h"

namespace vitrine::cli {
namespace {

constexpr int kBarColumns = 24;

}  // namespace

std::string progress_bar(double share) {
  const auto full = static_cast<std::size_t>(share * kBarColumns);
  return fmt::format("[{}{}]", std::string(full, '#'), std::string(kBarColumns - full, '.'));
}

std::string format_duration(double seconds) {
  const auto total = static_cast<long>(std::min(std::ceil(seconds), 1e9));
  if (total < 60) return fmt::format("{} s", total);
  if (total < 3600) return fmt::format("{} min {} s", total / 60, total % 60);
  return fmt::format("{} h {} min", total / 3600, total % 3600 / 60);
}

std::string progress_line(const ProgressState& state, int width) {
  std::string line = printable(state.what);
  const bool has_total = state.total_bytes > 0;
  const double share =
      has_total ? std::min(1.0, static_cast<double>(state.done_bytes) / static_cast<double>(state.total_bytes)) : 0;
  std::string amount = hub::format_bytes(state.done_bytes);
  if (has_total) amount += " of " + hub::format_bytes(state.total_bytes);
  std::string rate;
  if (state.bytes_per_s > 0) {
    rate = fmt::format("  {}/s", hub::format_bytes(static_cast<std::uint64_t>(state.bytes_per_s)));
    if (has_total && state.done_bytes < state.total_bytes) {
      const double left = static_cast<double>(state.total_bytes - state.done_bytes) / state.bytes_per_s;
      rate += fmt::format("  {} left", format_duration(left));
    }
  }
  const std::string percent = has_total ? fmt::format("{:3.0f} %  ", std::floor(share * 100)) : "";
  const std::string tail = percent + amount + rate;
  const auto columns = static_cast<std::size_t>(std::max(width - 1, 1));
  if (has_total && line.size() + tail.size() + kBarColumns + 6 <= columns) {
    line += "  " + progress_bar(share) + "  " + tail;
  } else {
    line += "  " + tail;
  }
  return line.substr(0, columns);
}

ProgressBar::~ProgressBar() {
  clear_bar();
}

void ProgressBar::clear_bar() {
  if (bar_is_shown_) err_.print("\r\033[K");
  bar_is_shown_ = false;
}

void ProgressBar::note(std::string_view line) {
  if (is_quiet_) return;
  clear_bar();
  err_.print(printable(line) + "\n");
}

void ProgressBar::start(std::string_view what, std::uint64_t done) {
  clear_bar();
  what_ = what;
  first_bytes_ = done;
  shown_bytes_ = done;
  started_ = Clock::now();
  shown_ = {};
}

// A terminal takes ten lines a second; a log file wants one in ten seconds, and the last.
bool ProgressBar::is_due(std::uint64_t done, std::uint64_t total) const {
  if (done == shown_bytes_) return false;
  if (total > 0 && done >= total) return true;
  return Clock::now() - shown_ >= (err_.is_tty() ? std::chrono::milliseconds(100) : std::chrono::seconds(10));
}

void ProgressBar::progress(std::string_view what, std::uint64_t done, std::uint64_t total) {
  if (is_quiet_) return;
  if (what != what_) start(what, done);
  if (!is_due(done, total)) return;
  shown_ = Clock::now();
  shown_bytes_ = done;
  const double elapsed = std::chrono::duration<double>(shown_ - started_).count();
  const double fetched = done > first_bytes_ ? static_cast<double>(done - first_bytes_) : 0;
  const std::string line = progress_line({what, done, total, elapsed > 0.2 ? fetched / elapsed : 0}, err_.width());
  if (!err_.is_tty()) {
    err_.print(line + "\n");
    return;
  }
  err_.print("\r\033[K" + line);
  bar_is_shown_ = true;
}

}  // namespace vitrine::cli
