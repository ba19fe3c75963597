#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "vitrine/terminal.h"

namespace vitrine::cli {

// Shows on stderr how far a lab is: a bar with the time left on a terminal, a line now and then elsewhere, nothing with
// --quiet.
class LabProgress {
 public:
  LabProgress(const Terminal& err, bool is_quiet, std::string_view name)
      : err_(err), is_quiet_(is_quiet), name_(name) {}
  ~LabProgress() { clear(); }
  LabProgress(const LabProgress&) = delete;
  LabProgress& operator=(const LabProgress&) = delete;

  // `share` from 0 to 1.
  void show(double share);

 private:
  using Clock = std::chrono::steady_clock;

  void clear();

  Terminal err_;
  bool is_quiet_;
  std::string name_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point shown_;
  bool is_on_screen_ = false;
};

// "kv-cache  [####....]   45 %  20 s left"
std::string lab_progress_line(std::string_view name, double share, double elapsed_s);

}  // namespace vitrine::cli
