#include "store/private_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

namespace vitrine::store {

namespace fs = std::filesystem;
using base::ErrorKind;

base::Exception file_failure(const fs::path& path, int error) {
  const bool is_forbidden = error == EACCES || error == EPERM || error == EROFS;
  const char* fix = is_forbidden ? "run as its owner, or set VITRINE_STATE to a folder of yours"
                                 : "free some space or set VITRINE_STATE to another folder";
  return {is_forbidden ? ErrorKind::kNoPermission : ErrorKind::kIo,
          fmt::format("{}: {}; {}", path.string(), std::generic_category().message(error), fix)};
}

bool is_there(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) return true;
  if (errno != ENOENT) throw file_failure(path, errno);
  return false;
}

void make_private_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return;
  fs::create_directories(folder.parent_path(), error);
  if (error) throw file_failure(folder.parent_path(), error.value());
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) throw file_failure(folder, errno);
}

Descriptor::Descriptor(const fs::path& path, int flags)
    : path_(path), number_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {
  if (number_ < 0) throw file_failure(path, errno);
}

Descriptor::~Descriptor() {
  ::close(number_);
}

void Descriptor::lock() const {
  while (::flock(number_, LOCK_EX) != 0) {
    if (errno != EINTR) throw file_failure(path_, errno);
  }
}

void Descriptor::write_all(std::span<const std::uint8_t> bytes) const {
  const ssize_t put = ::write(number_, bytes.data(), bytes.size());
  if (put != static_cast<ssize_t>(bytes.size())) throw file_failure(path_, put < 0 ? errno : ENOSPC);
}

std::size_t Descriptor::read_some(std::span<std::uint8_t> bytes) const {
  const ssize_t got = ::read(number_, bytes.data(), bytes.size());
  if (got < 0) throw file_failure(path_, errno);
  return static_cast<std::size_t>(got);
}

void Descriptor::make_private() const {
  if (::fchmod(number_, 0600) != 0) throw file_failure(path_, errno);
}

void Descriptor::sync() const {
  if (::fsync(number_) != 0) throw file_failure(path_, errno);
}

}  // namespace vitrine::store
