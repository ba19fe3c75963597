#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace vitrine::testing {

// The built program on a terminal of its own, as a person meets it. Nothing here depends on how fast the machine is:
// whoever waits does so until what was awaited is there, up to kTimeoutSeconds.
class PtySession {
 public:
  static constexpr int kTimeoutSeconds = 240;

  explicit PtySession(const std::vector<std::string>& words, const std::vector<std::string>& environment = {});
  ~PtySession();
  PtySession(const PtySession&) = delete;
  PtySession& operator=(const PtySession&) = delete;

  void send(std::string_view keys);
  // Reads on until `text` has come behind what was found last. The output up to it; throws std::runtime_error with the
  // end of the output where it does not come.
  std::string wait_for(std::string_view text);
  // Reads on until there are `count` bytes behind what was found last.
  void wait_for_bytes(std::size_t count);
  // Reads to the end; the exit code (1000 + signal where one ended the program).
  int wait_for_exit();
  // The same, but sends the keys again and again: signals that come fast may be taken as one.
  int press_until_exit(std::string_view keys);

  // Whether the terminal shows what is typed and gathers it into lines, as a shell leaves it.
  bool has_usual_modes() const;
  const std::string& output() const { return output_; }

 private:
  bool is_readable(int timeout_ms) const;
  bool read_some();
  [[noreturn]] void give_up(const std::string& what) const;

  pid_t child_ = -1;
  int terminal_ = -1;
  std::string output_;
  std::size_t found_end_ = 0;
};

}  // namespace vitrine::testing
