#include "vitrine/bench_serve.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "base/unix_time.h"
#include "base/utc_date.h"
#include "tools/hub/files.h"
#include "tools/load/html_report.h"
#include "tools/load/prompts.h"
#include "vitrine/output.h"
#include "vitrine/text_input.h"

namespace vitrine::cli {
namespace {

using tools::LoadReport;
using tools::Percentiles;
using Json = nlohmann::ordered_json;

double parse_positive(const std::string& text, const char* flag) {
  double value = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc() && end == text.data() + text.size() && value > 0.0) return value;
  throw base::Exception(base::ErrorKind::kUsage, fmt::format("{} {}: must be a number above 0", flag, text));
}

std::optional<double> parse_limit(const std::string& text, const char* flag) {
  return text.empty() ? std::nullopt : std::optional(parse_positive(text, flag) / 1000.0);
}

Json to_json(const Percentiles& values) {
  Json json;
  json["p50"] = number_or_null(values.p50);
  json["p90"] = number_or_null(values.p90);
  json["p99"] = number_or_null(values.p99);
  return json;
}

Json to_json(const LoadReport& report) {
  Json json;
  json["requests"] = report.num_requests;
  json["errors"] = report.num_errors;
  if (report.num_errors > 0) json["first_error"] = report.first_error;
  json["wall_s"] = report.wall_s;
  json["requests_per_s"] = report.requests_per_s;
  json["output_tokens_per_s"] = report.output_tokens_per_s;
  json["prompt_tokens"] = report.prompt_tokens;
  json["completion_tokens"] = report.completion_tokens;
  json["cached_tokens"] = report.cached_tokens;
  json["ttft_s"] = to_json(report.ttft_s);
  json["itl_s"] = to_json(report.itl_s);
  json["tpot_s"] = to_json(report.tpot_s);
  json["e2e_s"] = to_json(report.e2e_s);
  if (report.goodput) json["goodput"] = *report.goodput;
  return json;
}

std::string load_name(std::size_t concurrency, double rate) {
  return concurrency > 0 ? fmt::format("{} at once", concurrency) : fmt::format("{:g} a second", rate);
}

std::string whole_milliseconds(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.0f}", *seconds * 1000.0) : "-";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

BenchServe::BenchServe(const Parser& parser) {
  parser.add("url", target_.url, "The endpoint, such as http://127.0.0.1:8080/v1").required();
  parser.add("--model,-m", target_.model, "Name of the model at the endpoint").required();
  parser.add("--concurrency", concurrencies_, "Closed loop: so many requests at once (default 1,8,32)")
      .with_commas()
      .positive();
  parser.add("--rate", rates_, "Open loop: so many requests a second, at random moments; may be repeated");
  parser.add("--requests", num_requests_, "Requests of each run (default: twice the concurrency, at least 8)")
      .positive();
  parser.add("--prompt-tokens", num_words_, "Words of each synthetic prompt, a token each").positive().shows_default();
  parser.add("--shared-tokens", num_shared_words_, "How many of them all prompts of a run have in common")
      .shows_default();
  parser.add("--prompts", prompts_file_, "A file with a prompt a line, in place of synthetic ones");
  parser.add("--max-tokens,-n", target_.max_tokens, "Most tokens of each answer").positive().shows_default();
  parser.add_switch("--ignore-eos", target_.ignore_eos, "Ask for answers of just that length (not every endpoint can)");
  parser.add("--api-key", target_.api_key, "The key (default: the environment's OPENAI_API_KEY)");
  parser.add("--ttft-limit", ttft_limit_, "Milliseconds: requests that keep both limits count as goodput");
  parser.add("--tpot-limit", tpot_limit_, "Milliseconds");
  parser.add("--html", html_file_, "Write a page with plots to this file too");
  parser.add("--seed", seed_, "Of prompts and arrivals").shows_default();
}

int BenchServe::run(Context& context) {
  if (target_.api_key.empty()) {
    if (const char* key = std::getenv("OPENAI_API_KEY")) target_.api_key = key;
  }
  while (target_.url.ends_with('/'))
    target_.url.pop_back();
  std::vector<Result> results;
  std::uint64_t seed = seed_;
  for (const Case& what : list_cases())
    results.push_back(measure(what, seed++, context));
  print(results, context);
  if (!html_file_.empty()) write_html(results);
  const bool has_answers = std::ranges::any_of(
      results, [](const Result& result) { return result.report.num_errors < result.report.num_requests; });
  if (has_answers) return 0;
  throw base::Exception(base::ErrorKind::kUnavailable, fmt::format("{}: no request was answered: {}", target_.url,
                                                                   results.front().report.first_error));
}

std::vector<BenchServe::Case> BenchServe::list_cases() const {
  std::vector<Case> cases;
  for (const std::size_t concurrency : concurrencies_)
    cases.push_back({.concurrency = concurrency});
  for (const std::string& rate : rates_)
    cases.push_back({.rate = parse_positive(rate, "--rate")});
  if (cases.empty()) cases = {{.concurrency = 1}, {.concurrency = 8}, {.concurrency = 32}};
  return cases;
}

std::vector<std::string> BenchServe::prompts(std::size_t count, std::uint64_t seed) const {
  if (prompts_file_.empty()) return tools::synthetic_prompts(count, num_words_, num_shared_words_, seed);
  const std::vector<std::string> lines = lines_of(read_file(prompts_file_));
  if (lines.empty()) throw base::Exception(base::ErrorKind::kBadFile, prompts_file_ + ": has no line");
  std::vector<std::string> prompts;
  for (std::size_t i = 0; i < count; ++i)
    prompts.push_back(lines[i % lines.size()]);
  return prompts;
}

BenchServe::Result BenchServe::measure(const Case& what, std::uint64_t seed, const Context& context) const {
  const std::size_t at_once = what.concurrency > 0 ? what.concurrency : 16;
  const std::size_t count = num_requests_ > 0 ? num_requests_ : std::max<std::size_t>(8, 2 * at_once);
  tools::LoadSchedule schedule{.prompts = prompts(count, seed), .concurrency = what.concurrency, .starts_s = {}};
  if (what.concurrency == 0) schedule.starts_s = tools::poisson_starts(count, what.rate, seed);
  const bool shows = !context.flags.quiet && context.err.is_tty();
  const auto outcomes = tools::run_load(target_, schedule, [&](std::size_t num_ended) {
    if (shows) context.err.print(fmt::format("\r{} of {} requests ", num_ended, count));
  });
  if (shows) context.err.print("\r\033[K");
  return {what, tools::summarise_load(outcomes, {.ttft_s = parse_limit(ttft_limit_, "--ttft-limit"),
                                                 .tpot_s = parse_limit(tpot_limit_, "--tpot-limit")})};
}

void BenchServe::print(const std::vector<Result>& results, const Context& context) const {
  if (context.flags.json) {
    Json rows = Json::array();
    for (const Result& result : results) {
      Json row;
      if (result.what.concurrency > 0) row["concurrency"] = result.what.concurrency;
      if (result.what.rate > 0.0) row["rate"] = result.what.rate;
      row.update(to_json(result.report));
      rows.push_back(std::move(row));
    }
    print_json(context, {{"url", target_.url}, {"model", target_.model}, {"results", std::move(rows)}});
    return;
  }
  Table table{
      {"LOAD", "REQUESTS", "ERRORS", "TOK/S", "TTFT P50", "P99", "ITL P50", "P99", "TPOT P50", "E2E P50", "GOODPUT"},
      {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
      {}};
  for (const auto& [what, report] : results) {
    table.rows.push_back({load_name(what.concurrency, what.rate), std::to_string(report.num_requests),
                          std::to_string(report.num_errors), fmt::format("{:.1f}", report.output_tokens_per_s),
                          whole_milliseconds(report.ttft_s.p50), whole_milliseconds(report.ttft_s.p99),
                          whole_milliseconds(report.itl_s.p50), whole_milliseconds(report.itl_s.p99),
                          whole_milliseconds(report.tpot_s.p50), whole_milliseconds(report.e2e_s.p50),
                          report.goodput ? fmt::format("{:.0f} %", *report.goodput * 100.0) : "-"});
  }
  print_table(context.out, table);
  context.out.print(
      "\nTimes in milliseconds. TTFT: from when a request was due to its first text; ITL: each gap between two pieces "
      "of\n"
      "text; TPOT: a request's mean gap per token; E2E: to its end.\n");
}

void BenchServe::write_html(const std::vector<Result>& results) const {
  tools::LoadPage page{.url = target_.url,
                       .model = target_.model,
                       .when = base::format_day(base::utc_day(base::unix_time_s())),
                       .rows = {}};
  for (const auto& [what, report] : results)
    page.rows.push_back({load_name(what.concurrency, what.rate), report});
  hub::write_text(html_file_, tools::html_report(page)).value_or_throw();
}

}  // namespace vitrine::cli
