#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace vitrine::cli {

// Reads what a person types at a terminal, with the keys of libedit and a history that outlives the process (a file of
// mode 0600). A line that ends in a backslash goes on in the next one; """ opens a block that ends with """; lines that
// are pasted together stay together. It must be used inside an InterruptScope. One per process, used by one thread.
class LineEditor {
 public:
  enum class Outcome { kText, kEnd, kInterrupted, kCleared };
  struct Input {
    Outcome outcome = Outcome::kText;  // kEnd: Ctrl-D; kInterrupted: Ctrl-C on an empty line; kCleared: on any other
    std::string text;
    bool is_block = false;  // it stood between """
  };

  // `history_path` may be empty: then nothing is kept.
  explicit LineEditor(std::filesystem::path history_path);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  Input read();

 private:
  struct Parts;

  Input read_line(const char* prompt);
  Input read_block(const Input& first);
  void remember(const std::string& text);

  std::filesystem::path history_path_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace vitrine::cli
