#pragma once

#include <histedit.h>

namespace vitrine::cli {

// What libedit leaves to its user: the characters of a terminal on stdin while signals come, keys that it does not
// know, and lines that are pasted together (bracketed paste). Between two lines keys do not show and wait as they were
// typed: a terminal that gathers lines would make something else of Ctrl-D. Reading ends with the first Ctrl-C (see
// InterruptScope); a Ctrl-C that ends the process first brings back the terminal's modes. One per process, used by one
// thread.
class Keyboard {
 public:
  // Makes `line` read through this keyboard, which must outlive it and then brings back the terminal's modes.
  explicit Keyboard(EditLine* line);
  ~Keyboard();
  Keyboard(const Keyboard&) = delete;
  Keyboard& operator=(const Keyboard&) = delete;

  // While it lives a line is edited: the terminal brackets what is pasted, the line follows the terminal's width, and
  // Ctrl-Z leaves the terminal in order.
  class Editing {
   public:
    explicit Editing(EditLine* line);
    ~Editing();
    Editing(const Editing&) = delete;
    Editing& operator=(const Editing&) = delete;
  };
};

}  // namespace vitrine::cli
