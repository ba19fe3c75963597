#include "vitrine/serve_plan.h"

#include <algorithm>
#include <limits>

#include "base/result.h"
#include "vitrine/memory_plan.h"

namespace vitrine::cli {
namespace {

constexpr std::size_t kUsefulContext = 4096;  // tokens
constexpr std::size_t kAnyMemory = std::numeric_limits<std::size_t>::max() / 2;

std::size_t minus(std::size_t from, std::size_t bytes) {
  return from - std::min(from, bytes);
}

std::vector<std::size_t> shares_together(const std::vector<MemoryClaim>& claims, std::size_t memory_bytes) {
  std::size_t left = memory_bytes;
  for (const MemoryClaim& claim : claims)
    left = minus(left, claim.fixed_bytes);
  std::vector<std::size_t> shares;
  for (const MemoryClaim& claim : claims)
    shares.push_back(claim.fixed_bytes + left / claims.size());
  return shares;
}

// The pinned ones share with the largest of the others.
std::vector<std::size_t> shares_in_turns(const std::vector<MemoryClaim>& claims, std::size_t memory_bytes) {
  std::vector<MemoryClaim> at_once = {{}};
  for (const MemoryClaim& claim : claims) {
    if (claim.is_pinned) {
      at_once.push_back(claim);
    } else {
      at_once.front().fixed_bytes = std::max(at_once.front().fixed_bytes, claim.fixed_bytes);
    }
  }
  const std::vector<std::size_t> shares_at_once = shares_together(at_once, memory_bytes);
  auto next_pinned = shares_at_once.begin() + 1;
  std::size_t left = memory_bytes;
  for (auto share = next_pinned; share != shares_at_once.end(); ++share)
    left = minus(left, *share);
  std::vector<std::size_t> shares;
  for (const MemoryClaim& claim : claims)
    shares.push_back(claim.is_pinned ? *next_pinned++ : left);
  return shares;
}

MemoryClaim claim_of(const MemoryNeed& need, const RuntimeFlags& flags, bool is_pinned) {
  const MemoryPlan plan = plan_memory(need, flags, kAnyMemory);
  const std::size_t useful = flags.context_length != 0 ? flags.context_length : kUsefulContext;
  return {.fixed_bytes = plan.memory.without_kv(),
          .useful_bytes = need.total(std::min(plan.context_length, useful)),
          .is_pinned = is_pinned};
}

}  // namespace

std::vector<std::size_t> share_memory(const std::vector<MemoryClaim>& claims, std::size_t memory_bytes) {
  if (claims.size() == 1) return {memory_bytes};
  std::vector<std::size_t> shares = shares_together(claims, memory_bytes);
  std::size_t sum = 0;
  bool is_useful = true;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    sum += shares[i];
    is_useful = is_useful && shares[i] >= claims[i].useful_bytes;
  }
  return is_useful && sum <= memory_bytes ? shares : shares_in_turns(claims, memory_bytes);
}

std::vector<tools::ModelBundle> plan_models(std::vector<PlannedModel>& models, std::size_t memory_bytes) {
  std::vector<tools::ModelBundle> bundles;
  std::vector<MemoryNeed> needs;
  std::vector<MemoryClaim> claims;
  const bool is_alone = models.size() == 1;
  for (const PlannedModel& model : models) {
    naming_model(model.name, is_alone, [&] {
      bundles.push_back(tools::open_model(model.path).value_or_throw());
      needs.emplace_back(bundles.back().files, model.flags);
      claims.push_back(claim_of(needs.back(), model.flags, model.is_pinned));
    });
  }
  const std::vector<std::size_t> shares = share_memory(claims, memory_bytes);
  for (std::size_t i = 0; i < models.size(); ++i) {
    naming_model(models[i].name, is_alone, [&] {
      const MemoryPlan plan = plan_memory(needs[i], models[i].flags, shares[i]);
      models[i].flags.memory_bytes = shares[i];
      models[i].context_length = plan.context_length;
      models[i].bytes = plan.total();
    });
  }
  return bundles;
}

}  // namespace vitrine::cli
