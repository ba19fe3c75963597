#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "server/http/exchange.h"
#include "server/service.h"

namespace vitrine::server {

// run_on for the workers, with spans for the way there and back in the trace of the exchange, which must have one.
template <typename Work>
Awaitable<std::invoke_result_t<Work&>> run_traced(Exchange& exchange, Service& service, Work work) {
  trace::Timeline& timeline = exchange.trace()->timeline();
  const std::int64_t asked_ns = timeline.now_ns();
  std::int64_t ended_ns = asked_ns;
  auto traced = [&timeline, &ended_ns, asked_ns, job = std::move(work)]() mutable {
    timeline.record(trace::Stage::kQueue, {asked_ns, timeline.now_ns()}, {}, "wait_for_worker");
    auto result = job();
    ended_ns = timeline.now_ns();
    return result;
  };
  auto result = co_await run_on(service.workers(), std::move(traced));
  timeline.record(trace::Stage::kOther, {ended_ns, timeline.now_ns()}, {}, "return_from_worker");
  co_return result;
}

// What `work` returns, with a span of it.
template <typename Work>
std::invoke_result_t<Work&> traced(trace::Timeline& timeline, trace::Stage stage, Work work,
                                   std::string_view name = {}) {
  const trace::ScopedSpan span(timeline, stage, {}, name);
  return work();
}

}  // namespace vitrine::server
