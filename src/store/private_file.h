#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/result.h"

namespace vitrine::store {

// Files that nobody but their owner may read. All throw base::Exception naming the file: kNoPermission, kIo.

// `error`: an errno.
base::Exception file_failure(const std::filesystem::path& path, int error);

bool is_there(const std::filesystem::path& path);

// Makes the folder, with mode 0700, and those above it, where they are not there yet.
void make_private_folder(const std::filesystem::path& folder);

// An open file; one that open() makes has mode 0600.
class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags);
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  // Waits until no other process has it locked.
  void lock() const;
  void write_all(std::span<const std::uint8_t> bytes) const;
  std::size_t read_some(std::span<std::uint8_t> bytes) const;
  // Mode 0600, whatever the process masks.
  void make_private() const;
  void sync() const;

 private:
  std::filesystem::path path_;
  int number_;
};

}  // namespace vitrine::store
