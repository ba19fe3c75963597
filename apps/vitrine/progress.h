#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "tools/hub/observer.h"
#include "vitrine/command.h"
#include "vitrine/interrupt.h"

namespace vitrine::cli {

// Shows a pull on stderr: a bar with speed and time left on a terminal, a line now and then elsewhere, nothing with
// --quiet. Ctrl-C cancels.
class ProgressBar final : public hub::Observer {
 public:
  ProgressBar(const Terminal& err, bool is_quiet) : err_(err), is_quiet_(is_quiet) {}
  ~ProgressBar() override;

  void note(std::string_view line) override;
  void progress(std::string_view what, std::uint64_t done, std::uint64_t total) override;
  bool cancelled() const override { return interrupt_.requested().load(); }

 private:
  using Clock = std::chrono::steady_clock;

  void start(std::string_view what, std::uint64_t done);
  bool is_due(std::uint64_t done, std::uint64_t total) const;
  void clear_bar();

  Terminal err_;
  bool is_quiet_;
  InterruptScope interrupt_;
  std::string what_;
  std::uint64_t shown_bytes_ = 0;
  std::uint64_t first_bytes_ = 0;  // what was there before, which says nothing about the speed
  Clock::time_point started_;
  Clock::time_point shown_;
  bool bar_is_shown_ = false;
};

// One line about how far a transfer is, at most `width` columns: "NAME  [####....]  45 %  44 MB of 98 MB  12 MB/s  5 s
// left".
struct ProgressState {
  std::string_view what;
  std::uint64_t done_bytes = 0;
  std::uint64_t total_bytes = 0;  // 0: unknown
  double bytes_per_s = 0;         // 0: unknown
};
std::string progress_line(const ProgressState& state, int width);

// "[####....]" for a share from 0 to 1.
std::string progress_bar(double share);

// "5 s", "2 min 10 s", "3 h 5 min"
std::string format_duration(double seconds);

}  // namespace vitrine::cli
