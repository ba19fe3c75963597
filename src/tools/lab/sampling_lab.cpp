#include "tools/lab/sampling_lab.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "plot/plot.h"
#include "sampling/sampler.h"
#include "tools/lab/engine_run.h"

namespace vitrine::lab {
namespace {

using sampling::Candidate;
using sampling::SamplingParams;

constexpr double kClose = 1e-6;  // probabilities are computed in 32 bits

constexpr std::array<float, 5> kWorkedLogits = {2.5F, 1.8F, 1.2F, 0.5F, 0.3F};
constexpr std::array<std::string_view, 5> kWorkedTokens = {"是", "的", "了", "在", "有"};

SamplingParams with_temperature(float temperature) {
  SamplingParams params;
  params.temperature = temperature;
  return params;
}

SamplingParams with_cuts(int top_k, float top_p) {
  SamplingParams params;
  params.top_k = top_k;
  params.top_p = top_p;
  return params;
}

std::vector<Candidate> candidates_of(std::vector<float> logits, const SamplingParams& params) {
  const std::size_t num_tokens = logits.size();
  SamplingParams seeded = params;
  seeded.seed = 0;
  return sampling::Sampler(seeded).candidates(logits, {}, 0, num_tokens).value_or_throw();
}

double perplexity_of(std::span<const Candidate> kept) {
  double entropy = 0.0;
  for (const Candidate& candidate : kept) {
    const auto probability = static_cast<double>(candidate.probability);
    if (probability > 0.0) entropy -= probability * std::log(probability);
  }
  return std::exp(entropy);
}

SamplingRow row_of(std::span<const Candidate> kept, std::string setting, const SamplingParams& params) {
  SamplingRow row;
  row.setting = std::move(setting);
  row.params = params;
  row.num_kept = kept.size();
  row.top_probability = static_cast<double>(kept.front().probability);
  row.perplexity = perplexity_of(kept);
  return row;
}

double deviation(std::span<const Candidate> kept, std::span<const double> published) {
  std::vector<double> found(published.size(), 0.0);
  for (const Candidate& candidate : kept)
    found[static_cast<std::size_t>(candidate.id)] = static_cast<double>(candidate.probability);
  double most = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i)
    most = std::max(most, std::abs(found[i] - published[i]));
  return most;
}

struct ModelSetting {
  std::string name;
  SamplingParams params;
};

std::vector<ModelSetting> model_settings() {
  std::vector<ModelSetting> settings;
  for (const float temperature : {0.0F, 0.3F, 0.7F, 1.0F, 1.5F})
    settings.push_back({fmt::format("temperature {:g}", temperature), with_temperature(temperature)});
  settings.push_back({"top-k 40", with_cuts(40, 1.0F)});
  settings.push_back({"top-p 0.9", with_cuts(0, 0.9F)});
  settings.push_back({"top-k 40 and top-p 0.9", with_cuts(40, 0.9F)});
  return settings;
}

// Keeps the last row of logits that it sees.
class LogitsObserver final : public models::ForwardObserver {
 public:
  void on_values(std::string_view name, std::span<const float> values, std::size_t width) override {
    if (name == "logits" && values.size() >= width)
      logits.assign(values.end() - static_cast<std::ptrdiff_t>(width), values.end());
  }
  std::vector<float> logits;
};

std::vector<TokenId> sampling_prompt(const Workbench& bench, const SamplingOptions& options) {
  if (bench.tokenizer == nullptr) return arbitrary_prompt(bench, 8, 1);
  auto ids = bench.tokenizer->encode(options.prompt, {.parse_special = false, .add_special = true}).value_or_throw();
  const auto is_foreign = [&](TokenId id) { return static_cast<std::size_t>(id) >= bench.model.config().vocab_size; };
  return std::ranges::any_of(ids, is_foreign) ? arbitrary_prompt(bench, 8, 1) : ids;
}

std::vector<float> next_logits(const std::vector<TokenId>& prompt, EngineRun& run) {
  LogitsObserver observer;
  run.engine().set_observer(&observer);
  run.submit(exact_request(prompt, 1));
  run.finish();
  run.engine().set_observer(nullptr);
  run.clear();
  return observer.logits;
}

// The share of answers that no earlier one equals.
double distinct_share(const SamplingOptions& options, const std::vector<TokenId>& prompt, const SamplingParams& params,
                      EngineRun& run) {
  for (std::size_t seed = 0; seed < options.num_answers; ++seed) {
    engine::Request request = exact_request(prompt, options.answer_tokens);
    request.sampling = params;
    request.sampling.seed = seed;
    run.submit(std::move(request));
  }
  run.finish();
  std::set<std::vector<TokenId>> answers;
  for (const Outcome& outcome : run.outcomes())
    answers.insert(outcome.tokens);
  run.clear();
  return static_cast<double>(answers.size()) / static_cast<double>(options.num_answers);
}

Json sampling_json(const SamplingRow& row) {
  return {{"source", row.is_example ? "example" : "model"},
          {"setting", row.setting},
          {"temperature", row.params.temperature},
          {"top_k", row.params.top_k},
          {"top_p", row.params.top_p},
          {"kept", row.num_kept},
          {"top_token", row.top_token},
          {"top_probability", row.top_probability},
          {"perplexity", row.perplexity},
          {"published_deviation", row.published_deviation ? Json(*row.published_deviation) : Json()},
          {"distinct_share", row.distinct_share ? Json(*row.distinct_share) : Json()}};
}

std::vector<std::string> sampling_plots(std::span<const SamplingRow> rows) {
  plot::BarPlot uncertainty{
      .title = "Perplexity of the model's next token", .series = {"tokens"}, .groups = {}, .values = {}};
  plot::BarPlot distinct{
      .title = "Answers that differ from all others, of a hundred", .series = {"%"}, .groups = {}, .values = {}};
  for (const SamplingRow& row : rows) {
    if (row.is_example) continue;
    for (plot::BarPlot* picture : {&uncertainty, &distinct}) {
      std::string name = row.setting;
      if (const auto space = name.find("temperature "); space == 0) name = "T " + name.substr(12);
      picture->groups.push_back(name == "top-k 40 and top-p 0.9" ? "both" : name);
    }
    uncertainty.values.push_back({row.perplexity});
    distinct.values.push_back({100.0 * row.distinct_share.value_or(0.0)});
  }
  return {plot::bar_svg(uncertainty), plot::bar_svg(distinct)};
}

std::vector<const SamplingRow*> temperature_rows(std::span<const SamplingRow> rows) {
  std::vector<const SamplingRow*> found;
  for (const SamplingRow& row : rows)
    if (!row.is_example && row.params.top_k == 0 && row.params.top_p == 1.0F) found.push_back(&row);
  return found;
}

const SamplingRow* cut_row(std::span<const SamplingRow> rows, bool has_top_k, bool has_top_p) {
  const auto found = std::ranges::find_if(rows, [&](const SamplingRow& row) {
    return !row.is_example && (row.params.top_k != 0) == has_top_k && (row.params.top_p != 1.0F) == has_top_p;
  });
  return found == rows.end() ? nullptr : &*found;
}

// What is wrong with what is said, by these rows; empty for nothing.
std::vector<std::string> contradictions(std::span<const SamplingRow> rows) {
  std::vector<std::string> faults;
  for (const SamplingRow& row : rows) {
    if (row.published_deviation.value_or(0.0) > kClose)
      faults.push_back(fmt::format("{} of the example differs from what was published by {:.2g}", row.setting,
                                   *row.published_deviation));
  }
  const auto by_temperature = temperature_rows(rows);
  for (std::size_t i = 1; i < by_temperature.size(); ++i) {
    if (by_temperature[i]->perplexity <= by_temperature[i - 1]->perplexity)
      faults.push_back(
          fmt::format("{} is no more uncertain than {}", by_temperature[i]->setting, by_temperature[i - 1]->setting));
  }
  if (by_temperature.size() > 1 &&
      by_temperature.back()->distinct_share.value_or(0.0) < by_temperature.front()->distinct_share.value_or(0.0))
    faults.emplace_back("the highest temperature gives fewer different answers than the lowest");
  const SamplingRow* top_k = cut_row(rows, true, false);
  const SamplingRow* top_p = cut_row(rows, false, true);
  const SamplingRow* both = cut_row(rows, true, true);
  if (top_k != nullptr && top_p != nullptr && both != nullptr &&
      both->num_kept > std::min(top_k->num_kept, top_p->num_kept))
    faults.emplace_back("top-k and top-p together keep more than one of them");
  return faults;
}

}  // namespace

std::span<const float> worked_logits() {
  return kWorkedLogits;
}

std::span<const std::string_view> worked_tokens() {
  return kWorkedTokens;
}

std::vector<WorkedExample> worked_examples() {
  return {
      {"temperature 0.1",
       with_temperature(0.1F),
       {0.999086690262135, 0.0009110491348755919, 2.258265026122872e-06, 2.059271150763949e-09, 2.786920444496244e-10}},
      {"temperature 1",
       with_temperature(1.0F),
       {0.4962149866025685, 0.2464130698678867, 0.13523436002914654, 0.0671553957581106, 0.05498218774228778}},
      {"temperature 1.5",
       with_temperature(1.5F),
       {0.39343285186110605, 0.24671744718995076, 0.16537965055816317, 0.10370777379129621, 0.09076227659948391}},
      {"top-p 0.8", with_cuts(0, 0.8F), {0.5652537086405653, 0.280696684624496, 0.15404960673493862, 0.0, 0.0}}};
}

std::vector<SamplingRow> worked_rows() {
  std::vector<SamplingRow> rows;
  for (const WorkedExample& example : worked_examples()) {
    const auto kept = candidates_of({kWorkedLogits.begin(), kWorkedLogits.end()}, example.params);
    SamplingRow row = row_of(kept, example.setting, example.params);
    row.is_example = true;
    row.top_token = kWorkedTokens[static_cast<std::size_t>(kept.front().id)];
    row.published_deviation = deviation(kept, example.probabilities);
    rows.push_back(std::move(row));
  }
  return rows;
}

Conclusion conclude_sampling(std::span<const SamplingRow> rows) {
  const std::vector<std::string> faults = contradictions(rows);
  const auto by_temperature = temperature_rows(rows);
  std::string text;
  for (const std::string& fault : faults)
    text += fmt::format("{}{}", text.empty() ? "Against what is said: " : "; ", fault);
  if (!text.empty()) text += ". ";
  if (std::ranges::any_of(rows, &SamplingRow::is_example))
    text += "The example's probabilities are those of the sampler that answers requests. ";
  if (!by_temperature.empty())
    text += fmt::format(
        "The next token is as uncertain as {:.3g} equally likely ones at {} and {:.3g} at {}; {:.0f} % and "
        "{:.0f} % of the answers differ.",
        by_temperature.front()->perplexity, by_temperature.front()->setting, by_temperature.back()->perplexity,
        by_temperature.back()->setting, 100.0 * by_temperature.front()->distinct_share.value_or(0.0),
        100.0 * by_temperature.back()->distinct_share.value_or(0.0));
  const SamplingRow* top_p = cut_row(rows, false, true);
  const SamplingRow* both = cut_row(rows, true, true);
  if (top_p != nullptr && both != nullptr)
    text += fmt::format(" {} keeps {} tokens, {} keeps {}.", top_p->setting, top_p->num_kept, both->setting,
                        both->num_kept);
  return {faults.empty() ? Verdict::kAsExpected : Verdict::kContradicts, text};
}

Report sampling_report(std::span<const SamplingRow> rows) {
  Report report;
  report.name = "sampling";
  report.title = "Temperature, top-k and top-p";
  report.measured =
      "a published example of five tokens, and the next token of a prompt: what each setting keeps of the "
      "distribution, "
      "and how many of the answers made with different seeds differ.";
  report.expected =
      "a higher temperature flattens the distribution; top-k keeps a fixed number of tokens, top-p the fewest that "
      "reach "
      "a probability, both together no more than either.";
  report.conclusion = conclude_sampling(rows);
  for (const SamplingRow& row : rows)
    report.rows.push_back(sampling_json(row));
  report.columns = {{"source", "OF THE"},
                    {"setting", "SETTING"},
                    {"kept", "KEPT"},
                    {"top_token", "TOP TOKEN"},
                    {"top_probability", "ITS %", 2, 1e2},
                    {"perplexity", "PERPLEXITY", 2},
                    {"published_deviation", "OFF PUBLISHED", 9},
                    {"distinct_share", "DIFFERENT ANSWERS %", 0, 1e2}};
  report.plots = sampling_plots(rows);
  return report;
}

Report run_sampling(const Workbench& bench, const SamplingOptions& options) {
  const std::vector<TokenId> prompt = sampling_prompt(bench, options);
  const std::array<std::size_t, 1> most = {prompt.size()};
  bench.fitting(most, options.answer_tokens, 1);
  const std::size_t num_tokens = prompt.size() + options.answer_tokens;
  EngineRun run(bench,
                {.context_length = num_tokens,
                 .kv_memory_bytes = kv_bytes_for(bench, options.num_answers * (num_tokens + 2 * kvcache::kBlockTokens)),
                 .max_sequences = options.num_answers});
  std::vector<SamplingRow> rows = worked_rows();
  const std::vector<float> logits = next_logits(prompt, run);
  const std::vector<ModelSetting> settings = model_settings();
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const auto kept = candidates_of(logits, settings[i].params);
    SamplingRow row = row_of(kept, settings[i].name, settings[i].params);
    row.top_token = bench.tokenizer != nullptr ? bench.tokenizer->decode(std::array{kept.front().id})
                                               : fmt::format("#{}", kept.front().id);
    row.distinct_share = distinct_share(options, prompt, settings[i].params, run);
    rows.push_back(std::move(row));
    bench.report_progress(static_cast<double>(i + 1) / static_cast<double>(settings.size()));
  }
  Report report = sampling_report(rows);
  report.settings = {{"prompt", bench.tokenizer != nullptr ? Json(options.prompt) : Json()},
                     {"prompt_tokens", prompt.size()},
                     {"answers", options.num_answers},
                     {"answer_tokens", options.answer_tokens}};
  return report;
}

}  // namespace vitrine::lab
