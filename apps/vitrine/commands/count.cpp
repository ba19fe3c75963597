#include <algorithm>

#include <fmt/format.h>

#include "vitrine/commands/commands.h"
#include "vitrine/model_or_prompt.h"
#include "vitrine/models.h"
#include "vitrine/output.h"
#include "vitrine/parser.h"
#include "vitrine/tokenizer_set.h"

namespace vitrine::cli {
namespace {

using base::ErrorKind;
using Json = nlohmann::ordered_json;

struct CountRow {
  std::string tokenizer;
  std::size_t num_tokens = 0;
};

class CountCommand final : public Command {
 public:
  explicit CountCommand(const Parser& parser) {
    parser.add("words", words_,
               "One or more models, tokenizer files or tok:NAME, then the text; what is piped in where none is given");
    parser.add("-m,--model", models_, "A model (may be repeated)");
    parser.add("-p,--prompt", text_, "The text");
    parser.add("--file", file_, "Count the text of this file");
    parser.add_switch("--no-parse-special", no_parse_special_, "Special tokens written in the text stay plain text");
    parser.add_switch("--add-special", add_special_, "Count the tokens that the model asks for around the text too");
  }

  int run(Context& context) override {
    const Models models;
    sort_words(models);
    if (models_.empty()) throw base::Exception(ErrorKind::kUsage, "model: none given; name one or more to count with");
    const std::string text = take_text(text_, file_);
    std::vector<CountRow> rows;
    for (const std::string& model : models_)
      rows.push_back({model, count(models, model, text)});
    print(context, text, rows);
    return 0;
  }

 private:
  // A word that names a model is one; another is the text.
  void sort_words(const Models& models) {
    for (std::string& word : words_) {
      if (names_model(word, models.names())) {
        models_.push_back(std::move(word));
      } else if (models_.empty() && words_.size() > 1) {
        models_.push_back(std::move(word));  // not there: opening it says so
      } else if (text_) {
        throw base::Exception(ErrorKind::kUsage, word + ": neither a model nor the only text; put the text in quotes");
      } else {
        text_ = std::move(word);
      }
    }
  }

  std::size_t count(const Models& models, const std::string& model, const std::string& text) const {
    return open_named(models, model)
        .tokenizer->encode(text, {.parse_special = !no_parse_special_, .add_special = add_special_})
        .value_or_throw()
        .size();
  }

  static void print(const Context& context, const std::string& text, const std::vector<CountRow>& rows) {
    const std::size_t num_chars = num_characters(text);
    Json json_rows = Json::array();
    Table table{{"TOKENIZER", "TOKENS", "BYTES", "CHARS", "BYTES/TOKEN"}, {1, 2, 3, 4}, {}};
    for (const CountRow& row : rows) {
      // Without a price there is no cost to state.
      json_rows.push_back({{"tokenizer", row.tokenizer},
                           {"tokens", row.num_tokens},
                           {"bytes", text.size()},
                           {"chars", num_chars},
                           {"cost_per_call", nullptr},
                           {"cost_per_day", nullptr}});
      const double ratio =
          row.num_tokens == 0 ? 0 : static_cast<double>(text.size()) / static_cast<double>(row.num_tokens);
      table.rows.push_back({row.tokenizer, std::to_string(row.num_tokens), std::to_string(text.size()),
                            std::to_string(num_chars), fmt::format("{:.2f}", ratio)});
    }
    if (context.flags.json) {
      print_json(context, {{"rows", json_rows}});
    } else {
      print_table(context.out, table);
    }
  }

  std::vector<std::string> words_;
  std::vector<std::string> models_;
  std::optional<std::string> text_;
  std::string file_;
  bool no_parse_special_ = false;
  bool add_special_ = false;
};

}  // namespace

std::unique_ptr<Command> make_count(const Parser& parser) {
  return std::make_unique<CountCommand>(parser);
}

}  // namespace vitrine::cli
