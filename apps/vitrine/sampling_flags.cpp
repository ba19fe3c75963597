#include "vitrine/sampling_flags.h"

#include <charconv>

#include <fmt/format.h>

#include "sampling/parameter_table.h"

namespace vitrine::cli {
namespace {

constexpr const char* kGroup =
    "Sampling (with none of these the most probable token is taken; with one, the others are as stated)";

std::string help_of(const sampling::ParameterRow& row) {
  const auto fallback = row.default_value();
  if (!fallback || row.is_flag()) return fmt::format("{} ({})", row.help, row.range());
  return fmt::format("{} ({}; default {:g})", row.help, row.range(), *fallback);
}

std::pair<TokenId, float> parse_bias(const std::string& text) {
  TokenId id = 0;
  float bias = 0.0F;
  const char* end = text.data() + text.size();
  const auto [after_id, id_code] = std::from_chars(text.data(), end, id);
  if (id_code == std::errc() && after_id != end && *after_id == '=') {
    const auto [after_bias, code] = std::from_chars(after_id + 1, end, bias);
    if (code == std::errc() && after_bias == end) return {id, bias};
  }
  throw base::Exception(base::ErrorKind::kUsage,
                        fmt::format("--logit-bias {}: write it as ID=BIAS, such as 42=-100", text));
}

}  // namespace

void add_sampling_flags(const Parser& parser, SamplingFlags& flags) {
  for (const sampling::ParameterRow& row : sampling::parameter_rows()) {
    const auto set = [&flags, &row](const std::string& text) {
      sampling::set_parameter(flags.params, row, text).value_or_throw();
      flags.chooses = flags.chooses || !row.only_reports();
    };
    if (row.is_flag()) {
      parser
          .add_switch(
              row.flags(), [set] { set("true"); }, help_of(row))
          .group(kGroup);
    } else {
      parser.add_function(row.flags(), set, help_of(row)).type_name("N").group(kGroup);
    }
  }
  parser.add("--logit-bias", flags.logit_bias, "ID=BIAS added to a token's logit; may be repeated").group(kGroup);
}

sampling::SamplingParams SamplingFlags::parsed() const {
  sampling::SamplingParams result = params;
  if (!has_choice()) result.temperature = 0.0F;
  for (const std::string& text : logit_bias)
    result.logit_bias.push_back(parse_bias(text));
  return result;
}

}  // namespace vitrine::cli
