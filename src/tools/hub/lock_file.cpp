#include "tools/hub/lock_file.h"

#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace vitrine::hub {

base::Result<LockFile> LockFile::acquire(const std::filesystem::path& path, Observer& observer) {
  if (auto done = make_directories(path.parent_path()); !done) return done.error();
  auto file = File::open_append(path);
  if (!file) return file.error();
  for (bool told = false;; told = true) {
    if (::flock(file->descriptor(), LOCK_EX | LOCK_NB) == 0) return LockFile(std::move(*file));
    if (errno != EWOULDBLOCK && errno != EINTR) return file_error(path, errno);
    if (!told) observer.note("another vitrine process works on this model; waiting for it");
    if (observer.cancelled()) return base::Error{base::ErrorKind::kInterrupted, "interrupted"};
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace vitrine::hub
