#include "cli/pty_session.h"

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace vitrine::testing {
namespace {

constexpr std::size_t kShownBytes = 2000;

[[noreturn]] void become_program(std::vector<std::string> words, const std::vector<std::string>& environment) {
  for (std::string variable : environment) {
    const std::size_t split = variable.find('=');
    ::setenv(variable.substr(0, split).c_str(), variable.substr(split + 1).c_str(), 1);
  }
  words.insert(words.begin(), VITRINE_BINARY);
  std::vector<char*> arguments;
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

PtySession::PtySession(const std::vector<std::string>& words, const std::vector<std::string>& environment) {
  winsize size{};
  size.ws_row = 40;
  size.ws_col = 120;
  child_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
  if (child_ < 0) throw std::runtime_error("forkpty");
  if (child_ == 0) become_program(words, environment);
}

PtySession::~PtySession() {
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  ::close(terminal_);
}

void PtySession::send(std::string_view keys) {
  while (!keys.empty()) {
    const ssize_t count = ::write(terminal_, keys.data(), keys.size());
    if (count < 0 && errno != EINTR) give_up("the terminal takes no keys");
    if (count > 0) keys.remove_prefix(static_cast<std::size_t>(count));
  }
}

bool PtySession::is_readable(int timeout_ms) const {
  pollfd ready{terminal_, POLLIN, 0};
  return ::poll(&ready, 1, timeout_ms) != 0;
}

// False at the end of the output.
bool PtySession::read_some() {
  if (!is_readable(kTimeoutSeconds * 1000)) give_up("nothing more came");
  char buffer[65536];
  const ssize_t count = ::read(terminal_, buffer, sizeof(buffer));
  if (count > 0) output_.append(buffer, static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);  // EIO: the program has closed its side
}

std::string PtySession::wait_for(std::string_view text) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(kTimeoutSeconds);
  std::size_t searched = found_end_;
  while (true) {
    const std::size_t place = output_.find(text, searched);
    if (place != std::string::npos) {
      const std::string before = output_.substr(found_end_, place - found_end_);
      found_end_ = place + text.size();
      return before;
    }
    if (output_.size() > searched + text.size()) searched = output_.size() - text.size();
    if (std::chrono::steady_clock::now() > deadline || !read_some()) give_up("no \"" + std::string(text) + "\"");
  }
}

void PtySession::wait_for_bytes(std::size_t count) {
  while (output_.size() < found_end_ + count) {
    if (!read_some()) give_up("the program ended");
  }
}

int PtySession::wait_for_exit() {
  while (read_some()) {
  }
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int PtySession::press_until_exit(std::string_view keys) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(kTimeoutSeconds);
  do {
    if (std::chrono::steady_clock::now() > deadline) give_up("the program does not end");
    [[maybe_unused]] const ssize_t ignored = ::write(terminal_, keys.data(), keys.size());  // it may be gone by now
  } while (!is_readable(100) || read_some());
  return wait_for_exit();
}

bool PtySession::has_usual_modes() const {
  termios modes{};
  return ::tcgetattr(terminal_, &modes) == 0 && (modes.c_lflag & ECHO) != 0 && (modes.c_lflag & ICANON) != 0;
}

void PtySession::give_up(const std::string& what) const {
  const std::size_t begin = output_.size() - std::min(output_.size(), kShownBytes);
  throw std::runtime_error(what + "; the output ends with:\n" + output_.substr(begin));
}

}  // namespace vitrine::testing
