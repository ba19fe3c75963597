#include "plan/process.h"

namespace vitrine::plan {
namespace {

constexpr std::size_t kProgramBytes = std::size_t{20} << 20U;
constexpr std::size_t kBytesPerThread = std::size_t{64} << 10U;
constexpr std::size_t kBytesPerToken = 200;

}  // namespace

std::size_t process_bytes(const Network& network, std::size_t num_threads) {
  return kProgramBytes + num_threads * kBytesPerThread + network.config.vocab_size * kBytesPerToken +
         network.header_bytes;
}

}  // namespace vitrine::plan
