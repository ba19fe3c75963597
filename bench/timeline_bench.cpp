// What the always-on timeline costs: a span of the server, and one of the engine with its part of the timings.
#include <benchmark/benchmark.h>

#include "engine/request_clock.h"
#include "trace/timeline.h"

namespace vitrine {
namespace {

constexpr std::size_t kSpans = 1024;

void scoped_span(benchmark::State& state) {
  trace::Timeline timeline(kSpans);
  for (auto _ : state)
    const trace::ScopedSpan span(timeline, trace::Stage::kOther, {}, "format");
}
BENCHMARK(scoped_span)->Iterations(kSpans)->Repetitions(31)->ReportAggregatesOnly();

void engine_charge(benchmark::State& state) {
  trace::Timeline timeline(kSpans);
  engine::RequestClock clock(&timeline);
  clock.write_from(clock.last_charge());
  for (auto _ : state)
    clock.charge(trace::Stage::kDecode);
}
BENCHMARK(engine_charge)->Iterations(kSpans)->Repetitions(31)->ReportAggregatesOnly();

}  // namespace
}  // namespace vitrine
