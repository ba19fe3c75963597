// Walks the reference data for samplers: operations in a stated order over a row of logits, with the survivors and
// their probabilities.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sampling/sampler.h"
#include "support/reference_data.h"

namespace vitrine::sampling {
namespace {

using nlohmann::json;
using testing::count_cases;
using testing::data_path;
using testing::read_json;

constexpr double kImpossible = 1e-36;  // the reference lists tokens below this, which need not survive here

float to_float(const json& value) {
  if (!value.is_string()) return value.get<float>();
  return value == "-inf" ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
}

std::vector<float> to_floats(const json& values) {
  std::vector<float> result;
  for (const json& value : values)
    result.push_back(to_float(value));
  return result;
}

struct Chain {
  SamplingParams params;
  std::vector<const LogitsProcessor*> order;
};

void set_simple(SamplingParams& params, const std::string& op, const json& value) {
  const std::map<std::string, float SamplingParams::*> reals = {
      {"temperature", &SamplingParams::temperature},
      {"top_p", &SamplingParams::top_p},
      {"min_p", &SamplingParams::min_p},
      {"typical_p", &SamplingParams::typical_p},
      {"top_n_sigma", &SamplingParams::top_n_sigma},
      {"epsilon_cutoff", &SamplingParams::epsilon_cutoff},
      {"eta_cutoff", &SamplingParams::eta_cutoff},
      {"repetition_penalty", &SamplingParams::repetition_penalty},
  };
  if (op == "top_k") {
    params.top_k = value;
  } else if (op == "no_repeat_ngram") {
    params.no_repeat_ngram_size = value;
  } else if (op == "logit_bias") {
    params.logit_bias = value.get<std::vector<std::pair<TokenId, float>>>();
  } else {
    params.*reals.at(op) = value;
  }
}

Chain chain_of(const json& ops) {
  Chain chain;
  for (const json& op : ops) {
    const std::string name = op["op"];
    const LogitsProcessor* processor = find_processor(name);
    EXPECT_NE(processor, nullptr) << name;
    chain.order.push_back(processor);
    if (name == "presence_frequency") {
      chain.params.presence_penalty = op["presence"];
      chain.params.frequency_penalty = op["frequency"];
    } else if (name == "xtc") {
      chain.params.xtc_probability = op["probability"];
      chain.params.xtc_threshold = op["threshold"];
      chain.params.xtc_min_keep = op.value("min_keep", 1);
    } else {
      set_simple(chain.params, name, op["value"]);
    }
  }
  return chain;
}

std::vector<Candidate> run(const json& ops, std::vector<float> logits, const std::vector<TokenId>& history) {
  const Chain chain = chain_of(ops);
  const Sampler sampler(chain.params, chain.order);
  auto candidates = sampler.candidates(logits, history, 0, logits.size());
  EXPECT_TRUE(candidates) << ops;
  if (!candidates) return {};
  std::erase_if(*candidates, [](const Candidate& candidate) { return candidate.probability <= kImpossible; });
  return *candidates;
}

// What a case wants, in the order it lists it.
struct Wanted {
  std::vector<TokenId> ids;
  std::vector<double> probabilities;
};

Wanted wanted_of(const json& node) {
  Wanted wanted;
  for (std::size_t i = 0; i < node["ids"].size(); ++i) {
    if (node["probs"][i].get<double>() <= kImpossible) continue;
    wanted.ids.push_back(node["ids"][i]);
    wanted.probabilities.push_back(node["probs"][i]);
  }
  return wanted;
}

// The ids with every member of a tied group replaced by the group's first: which of them survive is arbitrary there.
std::multiset<TokenId> without_tie_choice(const std::vector<TokenId>& ids, const json& reference_case) {
  std::map<TokenId, TokenId> representative;
  for (const json& group : reference_case.value("tied_groups_cut", json::array())) {
    for (const TokenId id : group["ids"])
      representative[id] = group["ids"][0];
  }
  std::multiset<TokenId> result;
  for (const TokenId id : ids)
    result.insert(representative.contains(id) ? representative[id] : id);
  return result;
}

std::vector<TokenId> ids_of(const std::vector<Candidate>& candidates) {
  std::vector<TokenId> ids;
  for (const Candidate& candidate : candidates)
    ids.push_back(candidate.id);
  return ids;
}

bool matches(const std::vector<Candidate>& candidates, const Wanted& wanted, const json& reference_case,
             double tolerance) {
  if (without_tie_choice(ids_of(candidates), reference_case) != without_tie_choice(wanted.ids, reference_case)) {
    return false;
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (std::abs(static_cast<double>(candidates[i].probability) - wanted.probabilities[i]) > tolerance) return false;
  }
  return true;
}

void expect_logits(const std::vector<Candidate>& candidates, const json& reference_case) {
  if (!reference_case.contains("logits")) return;
  std::map<TokenId, float> wanted;
  for (std::size_t i = 0; i < reference_case["ids"].size(); ++i) {
    wanted[reference_case["ids"][i]] = to_float(reference_case["logits"][i]);
  }
  for (const Candidate& candidate : candidates) {
    if (!wanted.contains(candidate.id)) continue;  // a stable choice among ties
    EXPECT_EQ(candidate.logit, wanted[candidate.id]) << candidate.id;
  }
}

void check_file(const std::string& name) {
  const json file = read_json(data_path("sampling/" + name));
  const json vectors = read_json(data_path("sampling/vectors.json"))["vectors"];
  for (const json& reference_case : file["cases"]) {
    SCOPED_TRACE(::testing::Message() << reference_case["vector"] << " " << reference_case["ops"]);
    const json& vector = vectors[reference_case["vector"].get<std::string>()];
    const double tolerance = reference_case["vector"] == "edge32" ? 5e-4 : 1e-6;
    const auto candidates = run(reference_case["ops"], to_floats(vector["logits"]), vector["history"]);
    bool same = matches(candidates, wanted_of(reference_case), reference_case, tolerance);
    if (!same && reference_case.contains("stable_order")) {
      same = matches(candidates, wanted_of(reference_case["stable_order"]), json::object(), tolerance);
    }
    EXPECT_TRUE(same) << candidates.size() << " survive, wanted " << reference_case["n"];
    expect_logits(candidates, reference_case);
  }
  count_cases("sampling", file["cases"].size());
}

TEST(SamplingReference, SingleOperationsKeepTheSameTokensAndProbabilities) {
  check_file("single.json");
}

TEST(SamplingReference, ChainsInStatedOrderKeepTheSameTokensAndProbabilities) {
  check_file("combos.json");
}

TEST(SamplingReference, TopNSigmaAndXtcKeepTheSameTokensAndProbabilities) {
  check_file("llama_extra.json");
}

// Of the degenerate cases, those in which a stable choice is defined: the exact answer, or transformers' where it keeps
// every token or cuts by probability alone.
TEST(SamplingReference, DegenerateRowsGiveTheExactProbabilities) {
  const json file = read_json(data_path("sampling/degenerate.json"));
  for (const json& reference_case : file["cases"]) {
    SCOPED_TRACE(::testing::Message() << reference_case["name"] << " " << reference_case["ops"]);
    const auto logits = to_floats(reference_case["logits"]);
    std::vector<double> probabilities(logits.size(), 0.0);
    for (const Candidate& candidate : run(reference_case["ops"], logits, {})) {
      probabilities[static_cast<std::size_t>(candidate.id)] = static_cast<double>(candidate.probability);
    }
    const bool exact = reference_case.contains("exact_probs");
    auto wanted = reference_case[exact ? "exact_probs" : "transformers_probs"].get<std::vector<double>>();
    const std::string op = exact ? "" : reference_case["ops"][0]["op"];
    if (op == "top_k") continue;  // transformers keeps every token equal to the k-th; here exactly k stay
    if (op == "top_p") {          // which of equal tokens survive is arbitrary there
      std::sort(wanted.begin(), wanted.end());
      std::sort(probabilities.begin(), probabilities.end());
    }
    for (std::size_t i = 0; i < wanted.size(); ++i)
      EXPECT_NEAR(probabilities[i], wanted[i], 1e-6) << i;
  }
  count_cases("sampling", file["cases"].size());
}

TEST(SamplingReference, DryPenaltiesEqualTheRule) {
  const json file = read_json(data_path("sampling/llama_extra.json"));
  for (const json& reference_case : file["dry"]) {
    const std::string history_name = reference_case["history"];
    SCOPED_TRACE(::testing::Message() << history_name << " " << reference_case["allowed_length"] << " "
                                      << reference_case["breakers"]);
    SamplingParams params;
    params.dry_multiplier = reference_case["multiplier"];
    params.dry_base = reference_case["base"];
    params.dry_allowed_length = reference_case["allowed_length"];
    params.dry_penalty_last_n = reference_case["penalty_last_n"];
    params.dry_sequence_breakers = reference_case["breakers"].get<std::vector<std::vector<TokenId>>>();
    std::vector<float> wanted(64, 0.0F);
    for (const json& penalty : reference_case["penalties"]) {
      const json& value = penalty["penalty"];
      const float amount = value.is_number() ? value.get<float>() : std::numeric_limits<float>::infinity();
      wanted[penalty["token"].get<std::size_t>()] = -amount;
    }
    std::vector<float> logits(64, 0.0F);
    const std::vector<TokenId> history = file["dry_histories"][history_name];
    const auto candidates = Sampler(params).candidates(logits, history, 0, 64);
    ASSERT_TRUE(candidates);
    std::vector<float> penalised(64, -std::numeric_limits<float>::infinity());
    for (const Candidate& candidate : *candidates)
      penalised[static_cast<std::size_t>(candidate.id)] = candidate.logit;
    for (std::size_t i = 0; i < 64; ++i) {
      if (std::isinf(wanted[i])) {
        EXPECT_LT(penalised[i], -1e30F) << i;
      } else {
        // A base rounded to float moves base^31 by 31 half-ulps.
        EXPECT_NEAR(penalised[i], wanted[i], 31 * 0x1p-24 * std::abs(static_cast<double>(wanted[i]))) << i;
      }
    }
  }
  count_cases("sampling", file["dry"].size());
}

std::vector<double> probabilities_of(const std::vector<float>& row, const SamplingParams& params) {
  std::vector<float> logits = row;
  std::vector<double> probabilities(row.size(), 0.0);
  const auto candidates = Sampler(params).candidates(logits, {}, 0, row.size());
  EXPECT_TRUE(candidates);
  for (const Candidate& candidate : *candidates) {
    probabilities[static_cast<std::size_t>(candidate.id)] = static_cast<double>(candidate.probability);
  }
  return probabilities;
}

TEST(SamplingReference, WorkedExampleOfTemperature) {
  const json example = read_json(data_path("sampling/worked_example.json"));
  for (const auto& [name, rows] : example["softmax"].items()) {
    SamplingParams params;
    params.temperature = std::stof(name.substr(std::string("temperature_").size()));
    const auto probabilities = probabilities_of(to_floats(example["logits"]), params);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_NEAR(probabilities[i], rows[i]["prob"].get<double>(), 1e-6) << name << " " << i;
    }
  }
}

TEST(SamplingReference, WorkedExampleOfTopP) {
  const json example = read_json(data_path("sampling/worked_example.json"));
  SamplingParams params;
  params.top_p = 0.8F;
  const auto probabilities = probabilities_of(to_floats(example["logits"]), params);
  const json& rows = example["top_p_0.8_temperature_1"]["rows"];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(probabilities[i] > 0, rows[i]["kept"].get<bool>()) << i;
    EXPECT_NEAR(probabilities[i], rows[i]["renormalised"].get<double>(), 1e-6) << i;
  }
}

}  // namespace
}  // namespace vitrine::sampling
