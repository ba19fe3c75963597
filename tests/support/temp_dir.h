#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace vitrine::testing {

// A new directory that is gone when the test ends.
class TempDir {
 public:
  TempDir() {
    // Not by the number of the process: one that was killed leaves its folder, and numbers come again.
    std::string name = std::filesystem::temp_directory_path() / "vitrine-test-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::filesystem::filesystem_error("mkdtemp", name, errno_code());
    path_ = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

  // Writes a file below the directory and returns its path.
  std::filesystem::path write(std::string_view name, std::string_view content) const {
    const std::filesystem::path file = path_ / name;
    std::ofstream(file, std::ios::binary) << content;
    return file;
  }

 private:
  static std::error_code errno_code() { return {errno, std::generic_category()}; }

  std::filesystem::path path_;
};

}  // namespace vitrine::testing
