#include "tools/lab/tokenizers_lab.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/result.h"
#include "plot/plot.h"
#include "tools/token_comparison.h"

namespace vitrine::lab {
namespace {

constexpr std::string_view kEnglish = "English";
constexpr std::string_view kCode = "Python";
// "A token is about four characters": what may still be called so.
constexpr double kFewestChars = 3.2;
constexpr double kMostChars = 5.0;
constexpr std::size_t kMostPlotted = 6;

std::vector<TokenizersRow> rows_of_tokenizer(const NamedTokenizer& named) {
  std::vector<TokenizersRow> rows;
  for (const LabText& text : lab_texts()) {
    const auto tokenized = tools::tokenize_text(*named.tokenizer, text.text, {.parse_special = false}).value_or_throw();
    rows.push_back({.tokenizer = named.name,
                    .language = text.language,
                    .num_tokens = tokenized.num_tokens(),
                    .num_chars = tokenized.num_chars,
                    .num_bytes = tokenized.num_bytes});
  }
  const auto english = std::ranges::find(rows, kEnglish, &TokenizersRow::language);
  const auto english_tokens = static_cast<double>(english->num_tokens);
  for (TokenizersRow& row : rows)
    row.to_english = static_cast<double>(row.num_tokens) / english_tokens;
  return rows;
}

Json tokenizers_json(const TokenizersRow& row) {
  return {{"tokenizer", row.tokenizer},
          {"language", row.language},
          {"tokens", row.num_tokens},
          {"chars", row.num_chars},
          {"bytes", row.num_bytes},
          {"chars_per_token", row.chars_per_token()},
          {"bytes_per_token", static_cast<double>(row.num_bytes) / static_cast<double>(row.num_tokens)},
          {"to_english_x", row.to_english}};
}

std::vector<std::string> tokenizer_names(std::span<const TokenizersRow> rows) {
  std::vector<std::string> names;
  for (const TokenizersRow& row : rows)
    if (std::ranges::find(names, row.tokenizer) == names.end()) names.push_back(row.tokenizer);
  return names;
}

const TokenizersRow* find_row(std::span<const TokenizersRow> rows, std::string_view tokenizer,
                              std::string_view language) {
  const auto found = std::ranges::find_if(
      rows, [&](const TokenizersRow& row) { return row.tokenizer == tokenizer && row.language == language; });
  return found == rows.end() ? nullptr : &*found;
}

std::string tokenizers_plot(std::span<const TokenizersRow> rows) {
  std::vector<std::string> names = tokenizer_names(rows);
  names.resize(std::min(names.size(), kMostPlotted));
  plot::BarPlot picture{
      .title = "Tokens of the same content, English being 1", .series = names, .groups = {}, .values = {}};
  for (const LabText& text : lab_texts()) {
    if (find_row(rows, names.front(), text.language) == nullptr) continue;
    picture.groups.emplace_back(text.language);
    auto& values = picture.values.emplace_back();
    for (const std::string& name : names)
      values.push_back(find_row(rows, name, text.language)->to_english);
  }
  return plot::bar_svg(picture);
}

std::string english_sentence(std::span<const TokenizersRow> rows) {
  std::vector<double> chars;
  for (const TokenizersRow& row : rows)
    if (row.language == kEnglish) chars.push_back(row.chars_per_token());
  const auto [fewest, most] = std::ranges::minmax(chars);
  const std::string low = fmt::format("{:.1f}", fewest);
  const std::string high = fmt::format("{:.1f}", most);
  return fmt::format("An English token holds {} characters.", low == high ? low : low + " to " + high);
}

}  // namespace

Conclusion conclude_tokenizers(std::span<const TokenizersRow> rows) {
  Conclusion conclusion{Verdict::kAsExpected, ""};
  std::vector<std::string> odd;
  for (const std::string& name : tokenizer_names(rows)) {
    const double chars = find_row(rows, name, kEnglish)->chars_per_token();
    if (chars < kFewestChars || chars > kMostChars) odd.push_back(fmt::format("{} ({:.1f})", name, chars));
  }
  const auto ratio_of_language = [](const TokenizersRow& row) { return row.language == kCode ? 0.0 : row.to_english; };
  const TokenizersRow& most = *std::ranges::max_element(rows, {}, ratio_of_language);
  conclusion.text = english_sentence(rows) + fmt::format(" The same content takes up to {} the tokens: {} by {}.",
                                                         times(most.to_english), most.language, most.tokenizer);
  if (!odd.empty()) conclusion.text += fmt::format(" Against what is said: {}.", fmt::join(odd, ", "));
  const bool others_cost_more = most.to_english > 1.0 + kMargin;
  if (!others_cost_more) conclusion.text += " Against what is said, no language takes more than English.";
  if (!odd.empty() || !others_cost_more) conclusion.verdict = Verdict::kContradicts;
  return conclusion;
}

Report tokenizers_report(std::span<const TokenizersRow> rows) {
  Report report;
  report.name = "tokenizers";
  report.title = "The same content in several languages, in tokens";
  report.measured = "a few sentences of the same content in several languages, by the tokenizers that are on disk.";
  report.expected = "an English token is about four characters; other languages take more tokens for the same content.";
  report.conclusion = conclude_tokenizers(rows);
  for (const TokenizersRow& row : rows)
    report.rows.push_back(tokenizers_json(row));
  report.columns = {{"tokenizer", "TOKENIZER"},
                    {"language", "LANGUAGE"},
                    {"tokens", "TOKENS"},
                    {"chars", "CHARACTERS"},
                    {"chars_per_token", "CHARACTERS/TOKEN", 2},
                    {"bytes_per_token", "BYTES/TOKEN", 2},
                    {"to_english_x", "TO ENGLISH", 2}};
  report.plots = {tokenizers_plot(rows)};
  return report;
}

Report run_tokenizers(const Workbench& bench) {
  if (bench.tokenizers.empty())
    throw base::Exception(base::ErrorKind::kMissing,
                          "tokenizers: none on this machine; vitrine pull tok: lists those that can be fetched");
  std::vector<TokenizersRow> rows;
  for (std::size_t i = 0; i < bench.tokenizers.size(); ++i) {
    bench.check_stop();
    const std::vector<TokenizersRow> own = rows_of_tokenizer(bench.tokenizers[i]);
    rows.insert(rows.end(), own.begin(), own.end());
    bench.report_progress(static_cast<double>(i + 1) / static_cast<double>(bench.tokenizers.size()));
  }
  Report report = tokenizers_report(rows);
  if (!bench.known_tokenizers.empty())
    report.notes.push_back(fmt::format("Others can be compared once they are pulled (vitrine pull NAME): {}.",
                                       fmt::join(bench.known_tokenizers, ", ")));
  return report;
}

}  // namespace vitrine::lab
