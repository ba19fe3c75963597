#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace vitrine::base {
namespace {

Error error_from_errno(const std::filesystem::path& path, int code) {
  const std::string message = path.string() + ": " + std::strerror(code);
  if (code == ENOENT || code == ENOTDIR) return {ErrorKind::kMissing, message};
  if (code == EACCES || code == EPERM) return {ErrorKind::kNoPermission, message};
  return {ErrorKind::kIo, message};
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int value() const { return descriptor_; }

 private:
  int descriptor_;
};

std::string identity_of(const struct stat& status) {
  std::string text;
  for (const auto value :
       {static_cast<long long>(status.st_dev), static_cast<long long>(status.st_ino),
        static_cast<long long>(status.st_size), static_cast<long long>(status.st_mtim.tv_sec),
        static_cast<long long>(status.st_mtim.tv_nsec), static_cast<long long>(status.st_ctim.tv_sec),
        static_cast<long long>(status.st_ctim.tv_nsec)}) {
    text += std::to_string(value) + " ";
  }
  return text;
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a FIFO by mistake must not hang.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.value() < 0) return error_from_errno(path, errno);
  struct stat status {};
  if (::fstat(file.value(), &status) != 0) return error_from_errno(path, errno);
  if (!S_ISREG(status.st_mode)) return bad_file(path.string() + ": not a regular file");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return MappedFile(nullptr, 0, path, identity_of(status));
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value(), 0);
  if (data == MAP_FAILED) return error_from_errno(path, errno);
  return MappedFile(static_cast<const std::byte*>(data), size, path, identity_of(status));
}

MappedFile::MappedFile(const std::byte* data, std::size_t size, std::filesystem::path path, std::string identity)
    : data_(data), size_(size), path_(std::move(path)), identity_(std::move(identity)) {}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      path_(std::move(other.path_)),
      identity_(std::move(other.identity_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  std::swap(identity_, other.identity_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release_pages(std::span<const std::byte> range) const {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(range.data()) + page - 1) & ~(page - 1);
  const auto end = reinterpret_cast<std::uintptr_t>(range.data() + range.size()) & ~(page - 1);
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace vitrine::base
