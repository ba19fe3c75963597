#include "engine/waiting_order.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace vitrine::engine {
namespace {

// Of one tenant and one rank, those that have not begun.
struct TenantLine {
  std::uint64_t served = 0;
  std::deque<Sequence*> waiting;
};

using TenantLines = std::map<std::string_view, TenantLine>;

TenantLines split_by_tenant(std::span<Sequence* const> waiting, const FairShare& shares) {
  TenantLines lines;
  for (Sequence* sequence : waiting) {
    const auto [line, is_new] = lines.try_emplace(sequence->request().tenant);
    if (is_new) line->second.served = shares.served(line->first);
    line->second.waiting.push_back(sequence);
  }
  return lines;
}

void append_in_turns(std::span<Sequence* const> waiting, const FairShare& shares, std::vector<Sequence*>& order) {
  TenantLines lines = split_by_tenant(waiting, shares);
  std::set<std::tuple<std::uint64_t, RequestId, TenantLine*>> next;
  const auto enter = [&next](TenantLine& line) {
    if (!line.waiting.empty()) next.emplace(line.served, line.waiting.front()->id(), &line);
  };
  for (auto& [tenant, line] : lines)
    enter(line);
  while (!next.empty()) {
    TenantLine& line = *std::get<TenantLine*>(next.extract(next.begin()).value());
    order.push_back(line.waiting.front());
    line.served += line.waiting.front()->prompt_tokens();
    line.waiting.pop_front();
    enter(line);
  }
}

}  // namespace

std::vector<Sequence*> waiting_order(std::span<Sequence* const> waiting, const FairShare& shares) {
  if (shares.num_active() < 2) return {waiting.begin(), waiting.end()};
  std::vector<Sequence*> order;
  for (auto begin = waiting.begin(); begin != waiting.end();) {
    const auto end = std::find_if(
        begin, waiting.end(), [&](const Sequence* sequence) { return !sequence->key().ranks_with((*begin)->key()); });
    std::vector<Sequence*> fresh;
    for (auto place = begin; place != end; ++place)
      ((*place)->has_started() ? order : fresh).push_back(*place);
    append_in_turns(fresh, shares, order);
    begin = end;
  }
  return order;
}

}  // namespace vitrine::engine
