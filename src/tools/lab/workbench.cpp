#include "tools/lab/workbench.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/elapsed.h"
#include "base/result.h"

namespace vitrine::lab {

void Workbench::check_stop() const {
  if (stop != nullptr && stop->load(std::memory_order_relaxed))
    throw base::Exception(base::ErrorKind::kInterrupted, "interrupted");
}

std::vector<std::size_t> Workbench::fitting(std::span<const std::size_t> lengths, std::size_t num_more,
                                            std::size_t fewest) const {
  std::vector<std::size_t> fit;
  for (const std::size_t length : lengths)
    if (length + num_more <= model.config().context_length) fit.push_back(length);
  if (fit.size() >= fewest) return fit;
  throw base::Exception(base::ErrorKind::kUsage,
                        fmt::format("model: its context of {} tokens is too short for this lab; it needs {}",
                                    model.config().context_length, lengths[fewest - 1] + num_more));
}

std::size_t run_rounds(const Workbench& bench, const Rounds& rounds, std::size_t num_cases,
                       const std::function<void(std::size_t case_idx)>& run) {
  const auto start = std::chrono::steady_clock::now();
  std::size_t num_runs = 0;
  const auto note_run = [&] {
    const auto share = [&](std::size_t num_rounds) {
      return static_cast<double>(num_runs) / static_cast<double>(num_rounds * num_cases);
    };
    const double time_share = base::seconds_since(start) / rounds.budget_s;
    bench.report_progress(std::max(share(rounds.most), std::min(time_share, share(rounds.fewest))));
  };
  for (std::size_t round = 0; round < rounds.most; ++round) {
    const double elapsed_s = base::seconds_since(start);
    const double next_s = round == 0 ? 0.0 : elapsed_s + elapsed_s / static_cast<double>(round);
    if (next_s > (round < rounds.fewest ? rounds.limit_s : rounds.budget_s)) return round;
    for (std::size_t i = 0; i < num_cases; ++i) {
      bench.check_stop();
      run(round % 2 == 0 ? i : num_cases - 1 - i);
      ++num_runs;
      note_run();
    }
  }
  return rounds.most;
}

std::vector<TokenId> arbitrary_prompt(const Workbench& bench, std::size_t num_tokens, std::size_t seed) {
  const std::size_t vocab_size = bench.model.config().vocab_size;
  std::vector<TokenId> prompt;
  for (std::size_t i = 0; i < num_tokens; ++i)
    prompt.push_back(static_cast<TokenId>((i * 2654435761U + seed * 40503U + 12345U) % vocab_size));
  return prompt;
}

}  // namespace vitrine::lab
