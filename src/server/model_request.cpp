#include "server/model_request.h"

#include <chrono>
#include <string>
#include <utility>

#include "base/elapsed.h"
#include "server/openai/fields.h"
#include "server/traced_work.h"

namespace vitrine::server {
namespace {

using Clock = std::chrono::steady_clock;

struct ParsedBody {
  nlohmann::ordered_json json;
  std::string model;
  double parse_s = 0.0;
};

ParsedBody parse(Exchange& exchange) {
  const auto began = Clock::now();
  const trace::ScopedSpan span(exchange.trace()->timeline(), trace::Stage::kOther, {}, "parse");
  ParsedBody parsed;
  parsed.json = parse_body(exchange.request().body);
  parsed.model = Fields(parsed.json).text("model").value_or("");
  parsed.parse_s = base::seconds_since(began);
  return parsed;
}

}  // namespace

Awaitable<ModelRequest> read_model_request(Exchange& exchange, Service& service) {
  exchange.begin_trace();
  auto work = [&exchange] { return parse(exchange); };
  ParsedBody parsed = co_await run_traced(exchange, service, std::move(work));
  ModelSlot& slot = service.find_model(exchange, parsed.model);
  const auto began = Clock::now();
  const trace::ScopedSpan span(exchange.trace()->timeline(), trace::Stage::kLoad, {}, "wait_for_model");
  ModelLease lease = co_await service.models().acquire(slot);
  co_return ModelRequest{std::move(parsed.json), std::move(lease), parsed.parse_s, base::seconds_since(began)};
}

}  // namespace vitrine::server
