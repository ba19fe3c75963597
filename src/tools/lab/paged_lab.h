#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "tools/lab/report.h"
#include "tools/lab/workbench.h"

namespace vitrine::lab {

// The same requests on the same KV memory: contiguous reservations of the longest length against blocks.
struct PagedOptions {
  std::size_t context_length = 512;  // of the engine
  std::size_t prompt_tokens = 32;
  std::size_t max_tokens = 192;                                               // that a request asks for
  std::vector<std::size_t> answer_tokens = {12, 40, 24, 96, 16, 64, 32, 20};  // after which it stops, in turn
  std::size_t num_requests = 24;
  std::size_t kv_tokens = 1024;  // that the KV memory holds
  Rounds rounds = {.most = 15};
};

enum class KvReservation {
  kContext,  // contiguous, the whole context for each request
  kLongest,  // contiguous, its prompt and max_tokens
  kPaged,    // blocks as they are needed
};
inline constexpr std::array kReservations = {KvReservation::kContext, KvReservation::kLongest, KvReservation::kPaged};
std::string_view reservation_name(KvReservation kind);

struct PagedRow {
  KvReservation kind = KvReservation::kContext;
  std::size_t most_users = 0;   // at once
  double users = 0.0;           // at once, the mean over all steps
  double reserved_bytes = 0.0;  // of them all, the mean
  double wasted_share = 0.0;    // of reserved bytes that hold nothing
  std::size_t num_preemptions = 0;
  double tokens_per_s = 0.0;
  double latency_s = 0.0;  // of the median request
  Spread users_to_context;
  Spread waste_to_context;
  Spread speed_to_context;
};

// Rows as in kReservations.
Conclusion conclude_paged(std::span<const PagedRow> rows);
Report paged_report(std::span<const PagedRow> rows);
Report run_paged(const Workbench& bench, const PagedOptions& options);

}  // namespace vitrine::lab
