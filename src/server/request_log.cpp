#include "server/request_log.h"

#include <cmath>

#include "store/api_key.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxMethodBytes = 16;
constexpr std::size_t kMaxPathBytes = 200;

LogLevel level_of(const RequestOutcome& outcome) {
  if (outcome.status >= 500) return LogLevel::kError;
  return outcome.status >= 400 || !outcome.error.empty() ? LogLevel::kWarn : LogLevel::kInfo;
}

// To the microsecond: more digits say nothing.
double rounded(double time_s) {
  return std::round(time_s * 1e6) / 1e6;
}

// A client that writes its key into the URL must not find it in a log.
bool may_hold_key(std::string_view path) {
  return path.find(store::ApiKey::kPrefix) != std::string_view::npos;
}

void add_place(const RequestOutcome& outcome, Json& fields) {
  if (!outcome.route.empty()) {
    fields["route"] = outcome.route;
    return;
  }
  fields["route"] = "other";
  if (!outcome.path.empty() && !may_hold_key(outcome.path)) fields["path"] = outcome.path.substr(0, kMaxPathBytes);
}

void add_answer(const AnswerNote& answer, Json& fields) {
  fields["model"] = answer.model;
  fields["prompt_tokens"] = answer.usage.prompt_tokens;
  fields["cached_tokens"] = answer.usage.cached_tokens;
  fields["completion_tokens"] = answer.usage.completion_tokens;
  fields["finish_reason"] = answer.finish_reason;
  fields["queue_s"] = rounded(answer.queue_s);
  if (answer.ttft_s) fields["ttft_s"] = rounded(*answer.ttft_s);
}

}  // namespace

void log_request(ServerLog& log, const RequestOutcome& outcome) {
  const bool is_probe = outcome.route == "/health" && outcome.status == 200;
  if (!log.is_on() || is_probe) return;
  Json fields;
  fields["request_id"] = outcome.request_id;
  if (!outcome.method.empty()) fields["method"] = outcome.method.substr(0, kMaxMethodBytes);
  add_place(outcome, fields);
  fields["status"] = outcome.status;
  if (!outcome.key_id.empty()) fields["key_id"] = outcome.key_id;
  if (outcome.answer != nullptr) add_answer(*outcome.answer, fields);
  fields["total_s"] = rounded(outcome.total_s);
  if (!outcome.error.empty()) fields["error"] = outcome.error;
  log.write(level_of(outcome), "request", fields);
}

}  // namespace vitrine::server
