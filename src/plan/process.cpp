#include "plan/process.h"

#include <bit>

namespace vitrine::plan {
namespace {

// Measured on a server with a model of 4 MB and no request (RssAnon and RssFile of /proc/PID/status): 19 MB of pages of
// the program and its libraries, 3 MB of their data and heap; a megabyte more once it answers.
constexpr std::size_t kProgramBytes = std::size_t{22} << 20U;
// What a worker touches of its stack and of the allocator's arena.
constexpr std::size_t kBytesPerThread = std::size_t{64} << 10U;

// Slots of the tokenizer's open hash tables, which are at most half full.
std::size_t slots_for(std::size_t count) {
  return std::bit_ceil(2 * count);
}

// The tables of a tokenizer: merges (16 bytes a slot); pieces that are short enough to be their own key (16) and those
// that are found by a hash (8), each taken for half of them; where every piece lies (8); and its text, which is about
// half of the header too.
std::size_t tokenizer_bytes(const Network& network) {
  const std::size_t vocab_size = network.config.vocab_size;
  return 16 * slots_for(network.num_merges) + (16 + 8) * slots_for(vocab_size / 2) + 8 * vocab_size +
         network.header_bytes / 2;
}

}  // namespace

std::size_t process_bytes(const Network& network, std::size_t num_threads) {
  return kProgramBytes + num_threads * kBytesPerThread + tokenizer_bytes(network) + network.header_bytes;
}

}  // namespace vitrine::plan
