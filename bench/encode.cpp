// How fast a tokenizer encodes: `encode MODEL FILE...` prints MB per second of CPU time for each text file, the median
// of several runs on one thread. MODEL: a file or folder.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "tokenizer/tokenizer.h"
#include "tools/open_model.h"

namespace {

using namespace vitrine;
constexpr int kNumRuns = 5;

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double encode_seconds(const tokenizer::Tokenizer& tokenizer, std::string_view text, std::size_t& num_tokens) {
  std::vector<double> seconds;
  for (int run = 0; run < kNumRuns; ++run) {
    const double start = cpu_seconds();
    num_tokens = tokenizer.encode(text, {}).value_or_throw().size();
    seconds.push_back(cpu_seconds() - start);
  }
  std::ranges::sort(seconds);
  return seconds[kNumRuns / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: encode MODEL FILE...\n", stderr);
    return 64;
  }
  const auto tokenizer = tools::open_tokenizer(argv[1]).value_or_throw();
  for (int i = 2; i < argc; ++i) {
    const auto file = base::MappedFile::open(argv[i]).value_or_throw();
    const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
    std::size_t num_tokens = 0;
    const double seconds = encode_seconds(*tokenizer, text, num_tokens);
    std::printf("%s: %.1f MB/s, %zu tokens\n", argv[i], static_cast<double>(text.size()) / 1e6 / seconds, num_tokens);
  }
}
