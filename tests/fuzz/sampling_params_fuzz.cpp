// Feeds "name=value" lines to the parameter table as flags or API fields would, then, if they are valid, samples a few
// tokens from logits whose bits come from the rest of the input. Whatever is accepted must give a token of the row or a
// numerical error.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "sampling/parameter_table.h"
#include "sampling/sampler.h"

namespace {

using namespace vitrine;
using namespace vitrine::sampling;

constexpr std::size_t kVocabSize = 40;

void read_line(SamplingParams& params, std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return;
  const std::string_view value = line.substr(equals + 1);
  const ParameterRow* row = find_parameter(line.substr(0, equals));
  if (row != nullptr) {
    (void)set_parameter(params, *row, value);
  } else if (!value.empty()) {
    params.logit_bias.emplace_back(value[0], static_cast<float>(value.size()));
    params.dry_sequence_breakers.push_back({value[0]});
  }
}

SamplingParams read_params(std::string_view text) {
  SamplingParams params;
  params.seed = 1;  // the default would ask the operating system each time
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    read_line(params, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return params;
}

void sample_some(const SamplingParams& params, std::string_view bits) {
  const Sampler sampler(params);
  std::vector<float> row(kVocabSize, 0.0F);
  std::memcpy(row.data(), bits.data(), std::min(bits.size(), kVocabSize * sizeof(float)));
  std::vector<TokenId> history(bits.begin(), bits.end());
  for (std::uint64_t step = 0; step < 2; ++step) {
    std::vector<float> logits = row;
    const auto sampled = sampler.sample(logits, history, step);
    if (!sampled) return;
    VT_CHECK(sampled->id >= 0 && static_cast<std::size_t>(sampled->id) < kVocabSize, "a token outside the row");
    history.push_back(sampled->id);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = std::min(input.find('\0'), size);
  const SamplingParams params = read_params(input.substr(0, cut));
  (void)advice(params);
  if (validate(params, kVocabSize)) sample_some(params, input.substr(std::min(cut + 1, size)));
  return 0;
}
