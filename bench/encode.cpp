// How fast a tokenizer is: `encode MODEL FILE` encodes a text once from its beginning to its end, a chunk of 1 MB a
// call, decodes each chunk's ids, and prints one JSON object: bytes and seconds of CPU time, on one thread, of the
// first chunk in this process, of the three behind it, and of all others, and the SHA-256 of all ids. MODEL: a file or
// folder.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "tokenizer/tokenizer.h"
#include "tools/open_model.h"

namespace {

using namespace vitrine;
constexpr std::size_t kChunkBytes = 1'000'000;
constexpr std::size_t kWarmFrom = 4;  // chunks

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Timed {
  std::size_t bytes = 0;
  double encode_seconds = 0;
  double decode_seconds = 0;

  nlohmann::ordered_json json() const {
    return {{"bytes", bytes}, {"encode_s", encode_seconds}, {"decode_s", decode_seconds}};
  }
};

// Chunks end between characters.
std::size_t chunk_end(std::string_view text, std::size_t begin) {
  std::size_t end = std::min(begin + kChunkBytes, text.size());
  while (end < text.size() && base::is_continuation(text[end]))
    --end;
  return end;
}

bool measure_chunk(const tokenizer::Tokenizer& tokenizer, std::string_view text, Timed& timed, base::Sha256& all_ids) {
  const double start = cpu_seconds();
  const std::vector<TokenId> ids = tokenizer.encode(text, {.parse_special = false}).value_or_throw();
  const double encoded = cpu_seconds();
  const std::string decoded = tokenizer.decode(ids);
  timed.decode_seconds += cpu_seconds() - encoded;
  timed.encode_seconds += encoded - start;
  timed.bytes += text.size();
  all_ids.update(std::as_bytes(std::span(ids)));
  return decoded == text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: encode MODEL FILE\n", stderr);
    return 64;
  }
  const double start = cpu_seconds();
  const auto tokenizer = tools::open_tokenizer(argv[1]).value_or_throw();
  const double load_seconds = cpu_seconds() - start;
  const auto file = base::MappedFile::open(argv[2]).value_or_throw();
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  Timed cold, warming, warm;
  base::Sha256 ids;
  bool same_text = true;
  std::size_t chunk = 0;
  for (std::size_t begin = 0; begin < text.size(); ++chunk) {
    const std::size_t end = chunk_end(text, begin);
    Timed& timed = chunk == 0 ? cold : chunk < kWarmFrom ? warming : warm;
    same_text &= measure_chunk(*tokenizer, text.substr(begin, end - begin), timed, ids);
    begin = end;
  }
  const nlohmann::ordered_json result = {
      {"load_s", load_seconds},
      {"cold", cold.json()},
      {"warming", warming.json()},
      {"warm", warm.json()},
      {"ids_sha256", base::hex_of(ids.finish())},
      {"same_text", same_text},
  };
  std::printf("%s\n", result.dump().c_str());
}
