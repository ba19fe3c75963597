#include "sampling/parameter_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace vitrine::sampling {
namespace {

using P = SamplingParams;
using Seed = std::optional<std::uint64_t>;

constexpr double kMaxInt = std::numeric_limits<int>::max();
constexpr double kMaxSeed = 0x1p63;  // a seed is any integer of 64 bits

constexpr ParameterRow kRows[] = {
    {"temperature",
     {"temp"},
     &P::temperature,
     0,
     2,
     "Divides the logits: below 1 the likely tokens become likelier, above 1 the choice is freer; 0 always takes the "
     "most probable token"},
    {"top_k", {}, &P::top_k, -1, kMaxInt, "Keeps the k most probable tokens; 0 or -1 keeps all"},
    {"top_p", {}, &P::top_p, 0, 1, "Keeps the fewest most probable tokens whose probabilities reach p; 1 keeps all"},
    {"min_p",
     {},
     &P::min_p,
     0,
     1,
     "Keeps tokens at least min_p times as probable as the most probable one; 0 keeps all"},
    {"typical_p",
     {"typical"},
     &P::typical_p,
     0,
     1,
     "Keeps the tokens whose surprise is nearest to the expected one, up to this probability in all; 1 keeps all"},
    {"top_n_sigma",
     {},
     &P::top_n_sigma,
     -1,
     100,
     "Keeps logits within n standard deviations of the largest; 0 or below keeps all"},
    {"epsilon_cutoff", {}, &P::epsilon_cutoff, 0, 1, "Drops tokens less probable than this; 0 keeps all"},
    {"eta_cutoff",
     {},
     &P::eta_cutoff,
     0,
     1,
     "Drops tokens less probable than this or than a bound from the entropy, whichever is lower; 0 keeps all"},
    {"xtc_probability",
     {},
     &P::xtc_probability,
     0,
     1,
     "How often the top choices but the last above xtc_threshold are dropped; 0 never"},
    {"xtc_threshold",
     {},
     &P::xtc_threshold,
     0,
     1,
     "Tokens at least this probable count as top choices; above 0.5 nothing is ever dropped"},
    {"xtc_min_keep", {}, &P::xtc_min_keep, 1, kMaxInt, "XTC acts only if it leaves this many tokens"},
    {"repetition_penalty",
     {"repeat_penalty"},
     &P::repetition_penalty,
     0.01,
     10,
     "Makes tokens that occurred less likely by this factor on their logit; 1 changes nothing, below 1 favours them"},
    {"presence_penalty", {}, &P::presence_penalty, -2, 2, "Taken off the logit of each token that occurred"},
    {"frequency_penalty",
     {},
     &P::frequency_penalty,
     -2,
     2,
     "Taken off the logit of each token once for every time it occurred"},
    {"repeat_last_n",
     {},
     &P::repeat_last_n,
     -1,
     kMaxInt,
     "How many of the newest tokens the three penalties look at; -1 all, 0 none"},
    {"no_repeat_ngram_size",
     {},
     &P::no_repeat_ngram_size,
     0,
     kMaxInt,
     "No run of this many tokens may occur twice; 0 allows it"},
    {"dry_multiplier",
     {},
     &P::dry_multiplier,
     0,
     100,
     "Strength of the DRY penalty, which grows with the length of the repetition; 0 switches it off"},
    {"dry_base", {}, &P::dry_base, 1, 100, "Growth of the DRY penalty per repeated token"},
    {"dry_allowed_length", {}, &P::dry_allowed_length, 0, kMaxInt, "Longest repetition that DRY lets pass"},
    {"dry_penalty_last_n",
     {},
     &P::dry_penalty_last_n,
     -1,
     kMaxInt,
     "How many of the newest tokens DRY looks at; -1 all, 0 none"},
    {"seed", {}, &P::seed, -kMaxSeed, kMaxSeed, "Same seed, same answer; without it each request draws its own"},
    {"logprobs", {}, &P::logprobs, 0, 1, "Gives the log-probability of each token, as the model has it"},
    {"top_logprobs",
     {},
     &P::top_logprobs,
     0,
     20,
     "With logprobs, the most probable tokens at each place to list; 0 lists none"},
};

base::Error refusal(const ParameterRow& row, std::string_view given) {
  return base::usage_error(fmt::format("{}: {} is not allowed; it must be {}", row.field, given, row.range()));
}

std::string to_text(const ParameterValue& value) {
  return std::visit([](auto held) { return fmt::format("{}", held); }, value);
}

std::optional<double> as_number(const ParameterValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

// An integer, or a real number without a fraction that is small enough to be exact.
std::optional<std::int64_t> as_integer(const ParameterValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  const auto* real = std::get_if<double>(&value);
  if (real == nullptr || !(std::abs(*real) <= 0x1p53) || *real != std::trunc(*real)) return std::nullopt;
  return static_cast<std::int64_t>(*real);
}

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<ParameterValue> parse_value(const ParameterRow& row, std::string_view text) {
  if (row.is_flag()) {
    if (text == "true" || text == "1") return true;
    if (text == "false" || text == "0") return false;
    return std::nullopt;
  }
  if (const auto integer = parse_number<std::int64_t>(text)) return *integer;
  if (const auto real = parse_number<double>(text)) return *real;
  return std::nullopt;
}

// Assigns where the kind fits; the caller has checked the range.
struct Assign {
  SamplingParams& params;
  const ParameterValue& value;

  bool operator()(bool P::*member) const {
    const bool* given = std::get_if<bool>(&value);
    if (given != nullptr) params.*member = *given;
    return given != nullptr;
  }
  bool operator()(float P::*member) const {
    const auto number = as_number(value);
    if (number) params.*member = static_cast<float>(*number);
    return number.has_value();
  }
  bool operator()(int P::*member) const {
    const auto integer = as_integer(value);
    if (integer) params.*member = static_cast<int>(*integer);
    return integer.has_value();
  }
  bool operator()(Seed P::*member) const {
    const auto integer = as_integer(value);
    if (integer) params.*member = static_cast<std::uint64_t>(*integer);
    return integer.has_value();
  }
};

}  // namespace

std::string ParameterRow::flags() const {
  std::string flags = fmt::format("--{}", field);
  for (const std::string_view alias : aliases) {
    if (!alias.empty()) flags += fmt::format(",--{}", alias);
  }
  std::replace(flags.begin(), flags.end(), '_', '-');
  return flags;
}

std::string ParameterRow::range() const {
  if (is_flag()) return "true or false";
  if (std::holds_alternative<Seed P::*>(member)) return "an integer of 64 bits";
  return fmt::format("{} from {} to {}", is_integer() ? "an integer" : "a number", min, max);
}

bool ParameterRow::is_integer() const {
  return std::holds_alternative<int P::*>(member) || std::holds_alternative<Seed P::*>(member);
}

std::optional<double> ParameterRow::value(const SamplingParams& params) const {
  if (const auto* seed = std::get_if<Seed P::*>(&member)) {
    const Seed& held = params.*(*seed);
    return held ? std::optional(static_cast<double>(*held)) : std::nullopt;
  }
  if (const auto* real = std::get_if<float P::*>(&member)) return static_cast<double>(params.*(*real));
  if (const auto* integer = std::get_if<int P::*>(&member)) return params.*(*integer);
  return params.*std::get<bool P::*>(member) ? 1.0 : 0.0;
}

std::span<const ParameterRow> parameter_rows() {
  return kRows;
}

const ParameterRow* find_parameter(std::string_view name) {
  if (name.empty()) return nullptr;
  for (const ParameterRow& row : kRows) {
    if (row.field == name || std::find(row.aliases.begin(), row.aliases.end(), name) != row.aliases.end()) return &row;
  }
  return nullptr;
}

base::Result<void> set_parameter(SamplingParams& params, const ParameterRow& row, const ParameterValue& value) {
  const std::optional<double> number = as_number(value);
  const bool in_range = !number || (*number >= row.min && *number <= row.max);
  if (!in_range || !std::visit(Assign{params, value}, row.member)) return refusal(row, to_text(value));
  return {};
}

base::Result<void> set_parameter(SamplingParams& params, const ParameterRow& row, std::string_view text) {
  const std::optional<ParameterValue> value = parse_value(row, text);
  if (!value) return refusal(row, fmt::format("'{}'", text));
  return set_parameter(params, row, *value);
}

}  // namespace vitrine::sampling
