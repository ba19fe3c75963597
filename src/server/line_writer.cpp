#include "server/line_writer.h"

#include <csignal>
#include <optional>
#include <utility>

namespace vitrine::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxWaitingLines = 8192;
constexpr std::chrono::seconds kLastPatience{1};

// A reader that has closed its pipe is an error of write() on this thread, not the end of the process.
void block_sigpipe() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

LineWriter::LineWriter(const std::filesystem::path& path, std::function<std::string(std::size_t)> note_of_loss)
    : file_(path),
      note_of_loss_(std::move(note_of_loss)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

LineWriter::~LineWriter() = default;

void LineWriter::write(std::string line) {
  const std::scoped_lock lock(mutex_);
  if (queue_.size() >= kMaxWaitingLines) {
    ++num_lost_;
    return;
  }
  queue_.push_back(std::move(line));
  filled_.notify_one();
}

void LineWriter::run(const std::stop_token& stop) {
  block_sigpipe();
  std::optional<Clock::time_point> deadline;
  const auto gives_up = [&] {
    if (!stop.stop_requested()) return false;
    if (!deadline) deadline = Clock::now() + kLastPatience;
    return Clock::now() >= *deadline;
  };
  for (auto lines = wait_for_lines(stop); !lines.empty(); lines = wait_for_lines(stop)) {
    file_.follow_path();
    write_all(lines, gives_up);
  }
}

// Nothing at the end.
std::deque<std::string> LineWriter::wait_for_lines(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  filled_.wait(lock, stop, [this] { return !queue_.empty(); });
  return std::exchange(queue_, {});
}

void LineWriter::write_all(const std::deque<std::string>& lines, const std::function<bool()>& gives_up) {
  for (const std::string& line : lines) {
    std::size_t num_lost = 0;
    {
      const std::scoped_lock lock(mutex_);
      num_lost = std::exchange(num_lost_, 0);
    }
    if (num_lost > 0 && file_.write(note_of_loss_(num_lost), gives_up)) num_lost = 0;
    if (!file_.write(line, gives_up)) ++num_lost;
    const std::scoped_lock lock(mutex_);
    num_lost_ += num_lost;
  }
}

}  // namespace vitrine::server
