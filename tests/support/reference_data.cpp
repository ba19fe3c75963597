#include "support/reference_data.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace vitrine::testing {
namespace {

std::filesystem::path source_dir() {
  return VITRINE_SOURCE_DIR;
}

// The runner gives the name of a file to which every test binary appends; without it the counts go nowhere.
void append_count(std::string_view line) {
  const char* file_name = std::getenv("VITRINE_TEST_COUNTS");
  if (file_name == nullptr) return;
  std::ofstream(file_name, std::ios::app) << line << '\n';
}

}  // namespace

std::filesystem::path data_path(std::string_view relative) {
  return source_dir() / "tests" / "data" / relative;
}

std::optional<std::filesystem::path> reference_path(std::string_view relative) {
  const char* root = std::getenv("VITRINE_REFERENCE");
  const std::filesystem::path base = root != nullptr ? root : source_dir() / ".." / "shared" / "reference";
  std::filesystem::path path = base / relative;
  if (!std::filesystem::exists(path)) return std::nullopt;
  return path;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

nlohmann::json read_json(const std::filesystem::path& path) {
  return nlohmann::json::parse(read_file(path));
}

void count_cases(std::string_view kind, std::size_t num_cases) {
  append_count("ran\t" + std::string(kind) + "\t" + std::to_string(num_cases));
}

void count_skipped(std::string_view kind, std::size_t num_cases, std::string_view reason) {
  append_count("skipped\t" + std::string(kind) + "\t" + std::to_string(num_cases) + "\t" + std::string(reason));
}

bool running_in_ci() {
  const char* value = std::getenv("CI");
  return value != nullptr && std::string_view(value) == "true";
}

}  // namespace vitrine::testing
