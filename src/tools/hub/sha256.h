#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace vitrine::hub {

// A running SHA-256 (FIPS 180-4). Not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::span<const std::byte> bytes);
  std::string hex();  // 64 lower-case digits; ends the sum

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

bool is_sha256_hex(std::string_view text);

// The sum of a file. `on_bytes` is told how many bytes were read so far; where it answers false the work stops with
// kInterrupted.
base::Result<std::string> sha256_file(const std::filesystem::path& path,
                                      const std::function<bool(std::uint64_t)>& on_bytes);

}  // namespace vitrine::hub
