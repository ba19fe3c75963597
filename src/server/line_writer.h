#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "server/log_file.h"

namespace vitrine::server {

// Writes lines to a log file on a thread of its own, in the order in which they came. Whoever hands one over never
// waits: what can't be written, or what comes while too many wait already, is dropped. Any thread.
class LineWriter {
 public:
  // `note_of_loss` makes the line that says how many were dropped; it is written as soon as a line can be again. Throws
  // as LogFile does.
  LineWriter(const std::filesystem::path& path, std::function<std::string(std::size_t)> note_of_loss);
  // Writes what waits, for a second at most.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // `line` ends in a line end.
  void write(std::string line);

 private:
  void run(const std::stop_token& stop);
  std::deque<std::string> wait_for_lines(const std::stop_token& stop);
  void write_all(const std::deque<std::string>& lines, const std::function<bool()>& gives_up);

  LogFile file_;
  std::function<std::string(std::size_t)> note_of_loss_;
  std::mutex mutex_;
  std::condition_variable_any filled_;
  std::deque<std::string> queue_;
  std::size_t num_lost_ = 0;
  std::jthread thread_;  // last: it uses the rest
};

}  // namespace vitrine::server
