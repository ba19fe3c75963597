#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"

namespace vitrine::base {

// A regular file mapped read-only for as long as the object lives. Move-only; safe to read from any thread.
// Fails with kMissing (no such file), kNoPermission, kBadFile (not a regular file) or kIo.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }
  // Device, inode, size and times of content and inode as text: another text means another file or other content. (The
  // system sets the last of these whenever content changes; no program can set it back.)
  const std::string& identity() const { return identity_; }

  // Tells the kernel that the pages inside `range` will not be read again soon, so that they leave our resident set.
  void release_pages(std::span<const std::byte> range) const;

 private:
  MappedFile(const std::byte* data, std::size_t size, std::filesystem::path path, std::string identity);

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::filesystem::path path_;
  std::string identity_;
};

}  // namespace vitrine::base
