#include "tools/lab/engine_run.h"

#include <utility>

#include "base/check.h"
#include "base/checked.h"
#include "base/elapsed.h"

namespace vitrine::lab {

std::vector<double> Outcome::gaps_s() const {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < token_times_s.size(); ++i)
    gaps.push_back(token_times_s[i] - token_times_s[i - 1]);
  return gaps;
}

double Outcome::tpot_s() const {
  if (token_times_s.size() < 2) return 0.0;
  return (token_times_s.back() - token_times_s.front()) / static_cast<double>(token_times_s.size() - 1);
}

EngineRun::EngineRun(const Workbench& bench, engine::EngineConfig config)
    : bench_(bench), engine_(engine::Engine::create(bench.model, std::move(config), ledger_).value_or_throw()) {}

std::size_t EngineRun::submit(engine::Request request, std::size_t stop_after) {
  Outcome& outcome = outcomes_.emplace_back();
  outcome.submitted_s = now_s();
  const auto take = [this, &outcome, stop_after](const engine::TokenEvent& event) {
    const double now = now_s();
    if (event.token && (stop_after == 0 || outcome.tokens.size() < stop_after)) {
      outcome.token_times_s.push_back(now);
      outcome.tokens.push_back(*event.token);
      outcome.ended_s = now;
    }
    outcome.cached_tokens = event.cached_tokens;
    if (event.finish_reason) {
      outcome.has_ended = true;
    } else if (stop_after != 0 && outcome.tokens.size() >= stop_after) {
      engine_->abort(event.request);
    }
  };
  const auto id = engine_->submit(std::move(request), take);
  if (!id) throw base::Exception(id.error());
  outcome.id = *id;
  return outcomes_.size() - 1;
}

void EngineRun::step() {
  bench_.check_stop();
  engine_->step();
}

void EngineRun::finish() {
  while (engine_->has_work())
    step();
}

void EngineRun::abort_all() {
  for (const Outcome& outcome : outcomes_)
    if (!outcome.has_ended) engine_->abort(outcome.id);
  finish();
}

void EngineRun::clear() {
  VT_CHECK(!engine_->has_work(), "requests under way still write their outcomes");
  outcomes_.clear();
}

double EngineRun::now_s() const {
  return base::seconds_since(start_);
}

engine::Request exact_request(std::vector<TokenId> prompt, std::size_t num_tokens) {
  engine::Request request;
  request.prompt = std::move(prompt);
  request.max_tokens = num_tokens;
  request.sampling.temperature = 0.0F;
  request.ignore_eos = true;
  return request;
}

std::size_t kv_bytes_for(const Workbench& bench, std::size_t num_tokens) {
  const std::size_t block_bytes = kvcache::block_bytes(bench.model.kv_shape(tensor::DType::kF16)).value_or_throw();
  return base::ceil_div(num_tokens, kvcache::kBlockTokens) * block_bytes;
}

}  // namespace vitrine::lab
