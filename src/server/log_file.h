#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string_view>

namespace vitrine::server {

// Where log lines go: a file that is only ever appended to, or standard error. Used by one thread.
class LogFile {
 public:
  // An empty path means standard error. Makes the file (mode 0640) where it is not there yet. Throws base::Exception
  // naming it: kNoPermission, kIo.
  explicit LogFile(std::filesystem::path path);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // `line` ends in a line end. Waits while whoever reads a pipe or a terminal takes nothing, as long as `gives_up` says
  // no, which is asked ten times a second. False where the line could not be written whole; the next one then begins on
  // a line of its own.
  bool write(std::string_view line, const std::function<bool()>& gives_up);
  // Opens the file anew where its path names another by now, or none: that is how log files are rotated. Keeps the old
  // one where that fails.
  void follow_path();

 private:
  bool write_some(std::string_view& rest);
  void take(int number);

  std::filesystem::path path_;
  int number_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool is_torn_ = false;  // the last line has no end
};

}  // namespace vitrine::server
