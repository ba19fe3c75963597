#pragma once

#include <span>
#include <string_view>

#include "tools/lab/report.h"
#include "tools/lab/workbench.h"

namespace vitrine::lab {

// A measured experiment: a table that people copy from articles, made here and now.
struct Lab {
  std::string_view name;
  std::string_view about;  // one line
  // Throws base::Exception: kUsage where the model is too small for it, kInterrupted, kNoMemory.
  Report (*run)(const Workbench& bench);
};

// All of them, in the order of `vitrine lab`.
std::span<const Lab> labs();
// Null where there is none.
const Lab* find_lab(std::string_view name);

}  // namespace vitrine::lab
