#include "tools/hub/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace vitrine::hub {
namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Result;

Error file_error(const fs::path& path, int code) {
  const auto message = [&](std::string_view fix) {
    return fmt::format("{}: {}; {}", path.string(), std::strerror(code), fix);
  };
  switch (code) {
    case ENOENT:
    case ENOTDIR:
      return {ErrorKind::kMissing, message("check the path")};
    case EACCES:
    case EPERM:
      return {ErrorKind::kNoPermission, message("change its permissions or set VITRINE_HOME to a folder of yours")};
    case EROFS:
      return {ErrorKind::kNoPermission, message("set VITRINE_HOME to a folder that can be written")};
    case ENOSPC:
    case EDQUOT:
      return {ErrorKind::kIo, message("free some space or set VITRINE_HOME to a larger disk")};
    default:
      return {ErrorKind::kIo, message("check the disk")};
  }
}

File::File(int descriptor, fs::path path) : descriptor_(descriptor), path_(std::move(path)) {}

File::File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<File> File::open_read(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return file_error(path, errno);
  return File(descriptor, path);
}

Result<File> File::open_append(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (descriptor < 0) return file_error(path, errno);
  return File(descriptor, path);
}

Result<std::size_t> File::read(std::span<std::byte> buffer) {
  while (true) {
    const ssize_t got = ::read(descriptor_, buffer.data(), buffer.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return file_error(path_, errno);
  }
}

Result<void> File::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return file_error(path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

Result<void> File::truncate() {
  if (::ftruncate(descriptor_, 0) != 0) return file_error(path_, errno);
  return {};
}

Result<void> File::sync() {
  if (::fsync(descriptor_) != 0) return file_error(path_, errno);
  return {};
}

Result<std::uint64_t> File::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return file_error(path_, errno);
  return static_cast<std::uint64_t>(status.st_size);
}

Result<void> make_directories(const fs::path& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code) return file_error(path, code.value());
  return {};
}

Result<void> rename_path(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return file_error(to, errno);
  return {};
}

Result<void> remove_tree(const fs::path& path) {
  std::error_code code;
  fs::remove_all(path, code);
  if (code) return file_error(path, code.value());
  return {};
}

Result<std::string> read_text(const fs::path& path, std::uint64_t max_bytes) {
  auto file = File::open_read(path);
  if (!file) return file.error();
  std::string text;
  std::array<char, 16384> buffer{};
  while (true) {
    const auto got = file->read(std::as_writable_bytes(std::span(buffer)));
    if (!got) return got.error();
    if (*got == 0) return text;
    text.append(buffer.data(), *got);
    if (text.size() > max_bytes)
      return base::bad_file(fmt::format("{}: larger than {} bytes", path.string(), max_bytes));
  }
}

Result<void> write_text(const fs::path& path, std::string_view text) {
  auto file = File::open_append(path);
  if (!file) return file.error();
  if (auto done = file->truncate(); !done) return done;
  if (auto done = file->write(std::as_bytes(std::span(text))); !done) return done;
  return file->sync();
}

Result<void> append_file(const fs::path& from, File& to, const std::function<bool(std::uint64_t)>& on_bytes) {
  auto source = File::open_read(from);
  if (!source) return source.error();
  std::vector<std::byte> buffer(std::size_t{1} << 20U);
  std::uint64_t done = 0;
  while (true) {
    const auto got = source->read(buffer);
    if (!got) return got.error();
    if (*got == 0) return {};
    if (auto put = to.write(std::span(buffer).first(*got)); !put) return put;
    done += *got;
    if (!on_bytes(done)) return Error{ErrorKind::kInterrupted, "interrupted"};
  }
}

Result<void> check_space(const fs::path& directory, std::uint64_t bytes) {
  struct statvfs status {};
  if (::statvfs(directory.c_str(), &status) != 0) return file_error(directory, errno);
  const std::uint64_t free_bytes = static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
  if (bytes <= free_bytes) return {};
  return Error{ErrorKind::kIo,
               fmt::format("{}: {} needed and only {} free; free some space or set VITRINE_HOME to a larger disk",
                           directory.string(), format_bytes(bytes), format_bytes(free_bytes))};
}

std::uint64_t tree_bytes(const fs::path& path) {
  std::error_code code;
  std::uint64_t bytes = 0;
  if (fs::is_regular_file(path, code)) return fs::file_size(path, code);
  for (fs::recursive_directory_iterator it(path, code), end; !code && it != end; it.increment(code)) {
    std::error_code gone;  // another process may remove it while we look
    const auto size = it->is_regular_file(gone) ? it->file_size(gone) : 0;
    if (!gone) bytes += size;
  }
  return bytes;
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit_idx = 0;
  while (value >= 999.5 && unit_idx + 1 < kUnits.size()) {
    value /= 1000;
    ++unit_idx;
  }
  return fmt::format("{:.{}f} {}", value, unit_idx > 0 && value < 9.95 ? 1 : 0, kUnits[unit_idx]);
}

}  // namespace vitrine::hub
