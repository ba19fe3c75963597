#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cost/prices.h"
#include "tools/token_comparison.h"
#include "vitrine/commands/commands.h"
#include "vitrine/output.h"
#include "vitrine/parser.h"
#include "vitrine/tokenizer_set.h"

namespace vitrine::cli {
namespace {

using Json = nlohmann::ordered_json;
using tools::Script;
using tools::TokenizedText;

struct ComparedText {
  std::string tokenizer;
  TokenizedText text;
  double relative_cost = 1;  // of the tokens, that of the fewest being 1
  std::optional<double> cost_per_call;
};

std::string format_ratio(double value) {
  return value > 0 ? fmt::format("{:.2f}", value) : "-";
}

class CompareCommand final : public Command {
 public:
  explicit CompareCommand(const Parser& parser) {
    parser.add("text", text_, "The text; what is piped in where none is given");
    parser.add("--file", file_, "Compare the text of this file");
    parser
        .add("--tokenizers", names_, "Models, tokenizer files or tok:NAME, with commas (default: all that are on disk)")
        .with_commas();
    parser.add_switch("--no-parse-special", no_parse_special_, "Special tokens written in the text stay plain text");
    parser.add("--price", price_, "What a million tokens cost, to state costs");
    parser.add("--calls", calls_per_day_, "Calls a day (default 100000)").positive();
    parser.add("--max-pieces", max_pieces_, "Show at most this many pieces of each (default 200, 0 for none)");
  }

  int run(Context& context) override {
    const Models models;
    const std::string text = take_text(text_, file_);
    std::vector<ComparedText> rows;
    for (const NamedTokenizer& named : open_tokenizers(models, names_, context))
      rows.push_back({named.name, measure(*named.tokenizer, text), 1, std::nullopt});
    relate(rows);
    if (context.flags.json) {
      print_json(context, to_json(rows));
    } else {
      print_rows(rows, context);
      print_pieces(rows, context);
    }
    return 0;
  }

 private:
  TokenizedText measure(const tokenizer::Tokenizer& tokenizer, const std::string& text) const {
    return tools::tokenize_text(tokenizer, text, {.parse_special = !no_parse_special_}).value_or_throw();
  }

  void relate(std::vector<ComparedText>& rows) const {
    const auto tokens_of = [](const ComparedText& row) { return row.text.num_tokens(); };
    const std::size_t fewest = tokens_of(*std::ranges::min_element(rows, {}, tokens_of));
    cost::Price price;
    if (price_) price.input = cost::parse_price(*price_, "--price");
    for (ComparedText& row : rows) {
      const auto num_tokens = static_cast<std::int64_t>(tokens_of(row));
      if (fewest > 0) row.relative_cost = static_cast<double>(num_tokens) / static_cast<double>(fewest);
      if (price_) row.cost_per_call = cost::cost_per_call(price, {.prompt = num_tokens});
    }
    std::ranges::stable_sort(rows, {}, tokens_of);
  }

  double per_day(double cost_per_call) const { return cost_per_call * static_cast<double>(calls_per_day_); }

  Json to_json(const std::vector<ComparedText>& rows) const {
    Json json = Json::array();
    for (const ComparedText& row : rows) {
      Json chars = Json::object();
      for (const Script script : tools::kScripts) {
        const double ratio = row.text.scripts[static_cast<std::size_t>(script)].chars_per_token();
        chars[std::string(tools::script_name(script))] = ratio > 0 ? Json(ratio) : Json();
      }
      json.push_back({{"tokenizer", row.tokenizer},
                      {"tokens", row.text.num_tokens()},
                      {"bytes", row.text.num_bytes},
                      {"chars", row.text.num_chars},
                      {"cost_per_call", number_or_null(row.cost_per_call)},
                      {"cost_per_day", row.cost_per_call ? Json(per_day(*row.cost_per_call)) : Json()},
                      {"bytes_per_token", row.text.bytes_per_token()},
                      {"chars_per_token", chars},
                      {"relative_cost", row.relative_cost},
                      {"pieces", row.text.pieces}});
    }
    return {{"rows", json}};
  }

  void print_rows(const std::vector<ComparedText>& rows, const Context& context) const {
    Table table{{"TOKENIZER", "TOKENS", "BYTES/TOKEN", "CHINESE", "LATIN", "CODE", "OTHER", "COST"},
                {1, 2, 3, 4, 5, 6, 7, 8, 9},
                {}};
    if (price_) table.header.insert(table.header.end(), {"PER CALL", fmt::format("PER {} CALLS", calls_per_day_)});
    for (const ComparedText& row : rows) {
      std::vector<std::string> cells = {row.tokenizer, std::to_string(row.text.num_tokens()),
                                        format_ratio(row.text.bytes_per_token())};
      for (const Script script : tools::kScripts)
        cells.push_back(format_ratio(row.text.scripts[static_cast<std::size_t>(script)].chars_per_token()));
      cells.push_back(fmt::format("x{:.2f}", row.relative_cost));
      if (row.cost_per_call) {
        cells.push_back(format_money(*row.cost_per_call));
        cells.push_back(format_money(per_day(*row.cost_per_call)));
      }
      table.rows.push_back(std::move(cells));
    }
    print_table(context.out, table);
    const TokenizedText& text = rows.front().text;
    context.out.print(fmt::format(
        "\n{} characters, {} bytes. CHINESE, LATIN, CODE, OTHER: characters per token; COST: at one price a token.\n",
        text.num_chars, text.num_bytes));
  }

  void print_pieces(const std::vector<ComparedText>& rows, const Context& context) const {
    if (max_pieces_ == 0 || context.flags.quiet) return;
    std::size_t name_width = 0;
    for (const ComparedText& row : rows)
      name_width = std::max(name_width, row.tokenizer.size());
    context.out.print("\n");
    for (const ComparedText& row : rows)
      context.out.print(fmt::format("{:<{}}  {}\n", row.tokenizer, name_width, pieces_of(row.text, context.out)));
  }

  // Stripes of colour on a terminal, bars between the pieces elsewhere.
  std::string pieces_of(const TokenizedText& text, const Terminal& out) const {
    const std::size_t num_shown = std::min(text.num_tokens(), max_pieces_);
    std::string line;
    for (std::size_t i = 0; i < num_shown; ++i) {
      if (!out.has_colour() && i > 0) line += '|';
      line += out.stripe(i, printable(text.pieces[i]));
    }
    const std::size_t num_left = text.num_tokens() - num_shown;
    return num_left == 0 ? line : line + fmt::format(" ... and {} more", num_left);
  }

  std::optional<std::string> text_;
  std::string file_;
  std::vector<std::string> names_;
  std::optional<std::string> price_;
  std::size_t calls_per_day_ = 100'000;
  std::size_t max_pieces_ = 200;
  bool no_parse_special_ = false;
};

}  // namespace

std::unique_ptr<Command> make_compare(const Parser& parser) {
  return std::make_unique<CompareCommand>(parser);
}

}  // namespace vitrine::cli
