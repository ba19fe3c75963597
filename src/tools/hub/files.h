#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include "base/result.h"

// File work whose failures are told in words: no space (74), read-only or no permission (77), absent (66).
namespace vitrine::hub {

// An owned file descriptor. Move-only.
class File {
 public:
  static base::Result<File> open_read(const std::filesystem::path& path);
  // Creates the file where it is absent; keeps what it holds. Writes go to the end.
  static base::Result<File> open_append(const std::filesystem::path& path);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  base::Result<std::size_t> read(std::span<std::byte> buffer);  // 0 at the end
  base::Result<void> write(std::span<const std::byte> bytes);
  base::Result<void> truncate();
  base::Result<void> sync();
  base::Result<std::uint64_t> size() const;
  int descriptor() const { return descriptor_; }

 private:
  File(int descriptor, std::filesystem::path path);

  int descriptor_ = -1;
  std::filesystem::path path_;
};

// errno as an error: "PATH: WHY; FIX".
base::Error file_error(const std::filesystem::path& path, int code);

base::Result<void> make_directories(const std::filesystem::path& path);
base::Result<void> rename_path(const std::filesystem::path& from, const std::filesystem::path& to);
base::Result<void> remove_tree(const std::filesystem::path& path);
base::Result<std::string> read_text(const std::filesystem::path& path, std::uint64_t max_bytes);
base::Result<void> write_text(const std::filesystem::path& path, std::string_view text);
// Appends `from` to `to`; stops with kInterrupted where `on_bytes(bytes so far)` answers false.
base::Result<void> append_file(const std::filesystem::path& from, File& to,
                               const std::function<bool(std::uint64_t)>& on_bytes);
// Fails with kIo where the file system of `directory` has not `bytes` left.
base::Result<void> check_space(const std::filesystem::path& directory, std::uint64_t bytes);
// Bytes of all regular files below `path`; 0 where it is absent.
std::uint64_t tree_bytes(const std::filesystem::path& path);

// "1.5 GB", "98 MB", "512 B": powers of 1000, as disks and downloads are sold.
std::string format_bytes(std::uint64_t bytes);

}  // namespace vitrine::hub
