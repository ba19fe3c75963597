#pragma once

#include <filesystem>

#include "base/result.h"
#include "tools/hub/files.h"
#include "tools/hub/observer.h"

namespace vitrine::hub {

// An exclusive lock between processes (flock), held while the object lives and freed by the kernel if the process dies.
class LockFile {
 public:
  // Waits for another holder and says so once. kInterrupted where the observer cancels.
  static base::Result<LockFile> acquire(const std::filesystem::path& path, Observer& observer);

 private:
  explicit LockFile(File file) : file_(std::move(file)) {}

  File file_;
};

}  // namespace vitrine::hub
