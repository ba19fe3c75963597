#include <algorithm>
#include <array>

#include "tools/lab/kv_cache_lab.h"
#include "tools/lab/lab.h"

namespace vitrine::lab {
namespace {

Report kv_cache(const Workbench& bench) {
  if (!bench.is_quick) return run_kv_cache(bench, {});
  return run_kv_cache(bench, {.context_lengths = {16, 48}, .answer_tokens = 3, .rounds = Rounds::quick()});
}

constexpr std::array kLabs = {
    Lab{"kv-cache", "What the KV cache saves, length by length, and what a much copied count says of it", kv_cache},
};

}  // namespace

std::span<const Lab> labs() {
  return kLabs;
}

const Lab* find_lab(std::string_view name) {
  const auto* found = std::ranges::find(kLabs, name, &Lab::name);
  return found == kLabs.end() ? nullptr : found;
}

}  // namespace vitrine::lab
