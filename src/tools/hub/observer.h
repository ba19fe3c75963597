#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace vitrine::hub {

// Who watches a pull: told what happens, asked whether to go on. Called on the thread that pulls, often.
class Observer {
 public:
  virtual ~Observer() = default;
  // A line for a person.
  virtual void note(std::string_view line) = 0;
  // `what` is under way: `done` of `total` bytes; total 0 where it is unknown. done == total ends it.
  virtual void progress(std::string_view what, std::uint64_t done, std::uint64_t total) = 0;
  virtual bool cancelled() const = 0;
};

// What a pull ends with where its observer cancelled it.
inline base::Error interrupted() {
  return {base::ErrorKind::kInterrupted, "interrupted; the same command goes on from here"};
}

}  // namespace vitrine::hub
