#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "sampling/sampling_params.h"

// The table from which API fields, command-line flags, range checks and the reference pages of the sampling parameters
// are made. A new scalar parameter is one row here and one member of SamplingParams, where its default stands.
namespace vitrine::sampling {

using ParameterMember = std::variant<float SamplingParams::*, int SamplingParams::*, bool SamplingParams::*,
                                     std::optional<std::uint64_t> SamplingParams::*>;
using ParameterValue = std::variant<bool, std::int64_t, double>;

struct ParameterRow {
  std::string_view field;                   // the API's name; the flag is the same with dashes
  std::array<std::string_view, 2> aliases;  // names other engines use; empty = none
  ParameterMember member;
  double min;
  double max;
  std::string_view help;

  // "--temperature,--temp": the flag and its aliases, separated by commas.
  std::string flags() const;
  // "0 to 2", "true or false", "a 64-bit integer".
  std::string range() const;
  bool is_flag() const { return std::holds_alternative<bool SamplingParams::*>(member); }
  bool is_integer() const;
  // It asks for more to be told of a token and chooses none.
  bool only_reports() const { return field == "logprobs" || field == "top_logprobs"; }
  // The member as a number; nullopt for an absent seed. A seed beyond 2^53 is rounded here, never in the params.
  std::optional<double> value(const SamplingParams& params) const;
  std::optional<double> default_value() const { return value(SamplingParams{}); }
};

std::span<const ParameterRow> parameter_rows();

// The row whose field or alias is `name`; nullptr where there is none.
const ParameterRow* find_parameter(std::string_view name);

// Checks kind and range, then assigns. An integer is accepted where a real number is wanted, and 40.0 where an integer
// is.
base::Result<void> set_parameter(SamplingParams& params, const ParameterRow& row, const ParameterValue& value);

// The same from the text of a flag.
base::Result<void> set_parameter(SamplingParams& params, const ParameterRow& row, std::string_view text);

}  // namespace vitrine::sampling
