#include "server/log_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/result.h"

namespace vitrine::server {
namespace {

constexpr int kPollMs = 100;
// A pipe or a socket that poll() calls ready takes a page (pipe(7), PIPE_BUF) without making the writer wait.
constexpr std::size_t kReadyBytes = 4096;

int open_log(const std::filesystem::path& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0640);
}

base::Exception log_failure(const std::filesystem::path& path, int error) {
  const bool is_forbidden = error == EACCES || error == EPERM || error == EROFS;
  return {is_forbidden ? base::ErrorKind::kNoPermission : base::ErrorKind::kIo,
          fmt::format("--log {}: {}; name a file in a folder that the server may write to", path.string(),
                      std::generic_category().message(error))};
}

}  // namespace

LogFile::LogFile(std::filesystem::path path) : path_(std::move(path)), number_(STDERR_FILENO) {
  if (path_.empty()) return;
  const int number = open_log(path_);
  if (number < 0) throw log_failure(path_, errno);
  take(number);
}

LogFile::~LogFile() {
  if (!path_.empty()) ::close(number_);
}

void LogFile::take(int number) {
  struct stat info {};
  ::fstat(number, &info);
  number_ = number;
  device_ = info.st_dev;
  inode_ = info.st_ino;
}

bool LogFile::write(std::string_view line, const std::function<bool()>& gives_up) {
  std::string_view end = is_torn_ ? "\n" : "";
  const std::size_t num_bytes = line.size();
  while (!end.empty() || !line.empty()) {
    pollfd ready{.fd = number_, .events = POLLOUT, .revents = 0};
    const bool may_wait = !gives_up();
    if (::poll(&ready, 1, may_wait ? kPollMs : 0) > 0) {
      if (!write_some(end.empty() ? line : end)) break;
    } else if (!may_wait) {
      break;
    }
  }
  if (end.empty()) is_torn_ = !line.empty() && line.size() < num_bytes;
  return end.empty() && line.empty();
}

// Takes what was written off `rest`; false where nothing more can be.
bool LogFile::write_some(std::string_view& rest) {
  const ssize_t put = ::write(number_, rest.data(), std::min(rest.size(), kReadyBytes));
  if (put < 0) return errno == EINTR || errno == EAGAIN;
  rest.remove_prefix(static_cast<std::size_t>(put));
  return true;
}

void LogFile::follow_path() {
  if (path_.empty()) return;
  struct stat info {};
  const bool is_there = ::stat(path_.c_str(), &info) == 0;
  if (is_there && info.st_dev == device_ && info.st_ino == inode_) return;
  const int number = open_log(path_);
  if (number < 0) return;
  ::close(number_);
  take(number);
  is_torn_ = false;
}

}  // namespace vitrine::server
