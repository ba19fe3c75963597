#include "sampling/logits_processor.h"

#include <array>

namespace vitrine::sampling {
namespace {

constexpr std::array<const LogitsProcessor*, 14> kChain = {
    &kLogitBias,
    &kRepetitionPenalty,
    &kPresenceFrequency,
    &kDry,
    &kNoRepeatNgram,
    &kTopNSigma,
    &kTemperature,
    &kTopK,
    &kTypicalP,
    &kTopP,
    &kMinP,
    &kEpsilonCutoff,
    &kEtaCutoff,
    &kXtc,
};

}  // namespace

std::span<const LogitsProcessor* const> default_chain() {
  return kChain;
}

const LogitsProcessor* find_processor(std::string_view name) {
  for (const LogitsProcessor* processor : kChain) {
    if (processor->name == name) return processor;
  }
  return nullptr;
}

}  // namespace vitrine::sampling
