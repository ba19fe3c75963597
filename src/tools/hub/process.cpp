#include "tools/hub/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "tools/hub/files.h"

extern char** environ;

namespace vitrine::hub {
namespace {

using base::Error;
using base::ErrorKind;
using base::Result;

constexpr std::size_t kMaxTailBytes = 8192;
constexpr int kPollMs = 200;

class SpawnSettings {
 public:
  explicit SpawnSettings(int error_descriptor) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, error_descriptor, STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    // We ignore SIGPIPE; a child expects the usual behaviour.
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  for (const std::string& word : words)
    list.push_back(const_cast<char*>(word.c_str()));
  return list;
}

// Our environment without the variables that `extra` sets, then `extra`.
std::vector<char*> merged_environment(const std::vector<std::string>& extra) {
  std::vector<char*> list = pointers(extra);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view name = std::string_view(*variable).substr(0, std::string_view(*variable).find('=') + 1);
    bool is_set = false;
    for (const std::string& text : extra)
      is_set |= text.starts_with(name);
    if (!is_set) list.push_back(*variable);
  }
  list.push_back(nullptr);
  return list;
}

// Reads what is there within one poll; false at the end of the stream.
bool read_some(int descriptor, std::string& tail) {
  pollfd waiting{descriptor, POLLIN, 0};
  if (::poll(&waiting, 1, kPollMs) <= 0) return true;
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
  if (got <= 0) return got < 0 && errno == EINTR;
  tail.append(buffer.data(), static_cast<std::size_t>(got));
  if (tail.size() > kMaxTailBytes) tail.erase(0, tail.size() - kMaxTailBytes);
  return true;
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<ProcessResult> run_process(const std::vector<std::string>& command,
                                  const std::vector<std::string>& extra_environment,
                                  const std::function<bool()>& on_wait) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return file_error("pipe", errno);
  pid_t child = 0;
  auto words = pointers(command);
  words.push_back(nullptr);
  auto variables = merged_environment(extra_environment);
  int code = 0;
  {
    const SpawnSettings settings(pipe[1]);
    code = ::posix_spawnp(&child, words[0], settings.actions(), settings.attributes(), words.data(), variables.data());
  }
  ::close(pipe[1]);
  if (code != 0) {
    ::close(pipe[0]);
    return Error{code == ENOENT ? ErrorKind::kMissing : ErrorKind::kIo, command[0] + ": " + std::strerror(code)};
  }
  ProcessResult result;
  bool is_cancelled = false;
  while (read_some(pipe[0], result.error_tail)) {
    if (is_cancelled || on_wait()) continue;
    is_cancelled = true;
    ::kill(child, SIGTERM);
  }
  ::close(pipe[0]);
  result.exit_code = wait_for(child);
  if (is_cancelled) return Error{ErrorKind::kInterrupted, "interrupted; the same command goes on from here"};
  return result;
}

}  // namespace vitrine::hub
