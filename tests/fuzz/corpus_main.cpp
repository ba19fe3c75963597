// Runs a fuzz target over the files of its corpus folder, so that every build replays them as a plain test, and over
// random bytes.
// Usage: TARGET_fuzz FOLDER... [--random COUNT MAX_LEN [SEED]]
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::size_t replay(const char* folder) {
  std::size_t num_files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ++num_files;
  }
  return num_files;
}

// Says the seed first: a failed check ends the process.
void run_random(long count, unsigned long max_len, unsigned long seed) {
  std::printf("%ld random inputs, seed %lu\n", count, seed);
  std::fflush(stdout);
  std::mt19937_64 random(seed);
  std::vector<std::uint8_t> bytes;
  for (long i = 0; i < count; ++i) {
    bytes.resize(random() % (max_len + 1));
    for (std::uint8_t& byte : bytes)
      byte = static_cast<std::uint8_t>(random());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t num_files = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--random") {
      num_files += replay(argv[i]);
      continue;
    }
    const unsigned long seed = i + 3 < argc ? std::strtoul(argv[i + 3], nullptr, 10) : std::random_device{}();
    if (i + 2 < argc) run_random(std::atol(argv[i + 1]), std::strtoul(argv[i + 2], nullptr, 10), seed);
    break;
  }
  std::printf("%zu corpus files replayed\n", num_files);
  return num_files == 0 ? 1 : 0;
}
