#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/open_model.h"
#include "vitrine/commands/commands.h"
#include "vitrine/models.h"
#include "vitrine/output.h"
#include "vitrine/parser.h"
#include "vitrine/text_input.h"

namespace vitrine::cli {
namespace {

using tokenizer::Tokenizer;

// Empty for a list whose ids are all in the vocabulary.
std::string complaint_about(const std::vector<TokenId>& ids, const Tokenizer& tokenizer) {
  for (const TokenId id : ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= tokenizer.vocab_size()) {
      return fmt::format("{} is not a token id; the vocabulary has 0..{}", id, tokenizer.vocab_size() - 1);
    }
  }
  return "";
}

class DetokenizeCommand final : public Command {
 public:
  explicit DetokenizeCommand(const Parser& parser) {
    parser.add("model", model_, "A catalog name, a file or folder, or hf:ORG/REPO[:FILE]").required();
    parser.add("ids", ids_, "Token ids such as 1,2,3; what is piped in where none are given");
    parser.add_switch("--jsonl", jsonl_, "Read an array of ids a line, print a JSON string a line");
    parser.add_switch("--skip-special", skip_special_, "Leave special tokens out of the text");
  }

  int run(Context& context) override {
    if (jsonl_ && !ids_.empty()) throw base::Exception(base::ErrorKind::kUsage, "--jsonl: reads stdin; leave IDS out");
    const auto tokenizer = tools::open_tokenizer(Models().find(model_).path).value_or_throw();
    if (jsonl_) {
      convert_lines(*tokenizer, context);
      return 0;
    }
    const auto ids = parse_token_ids(ids_.empty() ? read_piped("ids") : fmt::format("{}", fmt::join(ids_, " ")));
    if (const std::string complaint = complaint_about(ids, *tokenizer); !complaint.empty()) {
      throw base::Exception(base::ErrorKind::kUsage, "ids: " + complaint);
    }
    const std::string text = tokenizer->decode(ids, skip_special_);
    if (context.flags.json) {
      print_json(context, {{"text", text}});
    } else {
      context.out.print(text + "\n");
    }
    return 0;
  }

 private:
  void convert_lines(const Tokenizer& tokenizer, const Context& context) const {
    JsonLines lines;
    while (const auto value = lines.next()) {
      const std::vector<TokenId> ids = ids_in(*value, lines);
      if (const std::string complaint = complaint_about(ids, tokenizer); !complaint.empty()) lines.refuse(complaint);
      context.out.print(nlohmann::json(tokenizer.decode(ids, skip_special_)).dump() + "\n");
    }
  }

  static std::vector<TokenId> ids_in(const nlohmann::json& value, const JsonLines& lines) {
    if (!value.is_array()) lines.refuse("must be an array of token ids");
    std::vector<TokenId> ids;
    for (const nlohmann::json& element : value) {
      const bool fits = element.is_number_integer() && element >= 0 && element <= INT32_MAX;
      if (!fits) lines.refuse("must be an array of token ids");
      ids.push_back(element.get<TokenId>());
    }
    return ids;
  }

  std::string model_;
  std::vector<std::string> ids_;
  bool jsonl_ = false;
  bool skip_special_ = false;
};

}  // namespace

std::unique_ptr<Command> make_detokenize(const Parser& parser) {
  return std::make_unique<DetokenizeCommand>(parser);
}

}  // namespace vitrine::cli
