#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hex.h"
#include "tools/open_model.h"
#include "vitrine/commands/commands.h"
#include "vitrine/models.h"
#include "vitrine/output.h"
#include "vitrine/parser.h"
#include "vitrine/text_input.h"

namespace vitrine::cli {
namespace {

using Json = nlohmann::ordered_json;
using tokenizer::EncodedToken;
using tokenizer::Tokenizer;

class TokenizeCommand final : public Command {
 public:
  explicit TokenizeCommand(const Parser& parser) {
    parser.add("model", model_, "A catalog name, a file or folder, or hf:ORG/REPO[:FILE]").required();
    parser.add("text", text_, "The text; what is piped in where none is given");
    parser.add_switch("--ids", wants_ids_, "Print the ids alone, with commas between them");
    parser.add_switch("--jsonl", jsonl_, "Read a JSON string a line, print an array of ids a line");
    parser.add_switch("--no-parse-special", no_parse_special_, "Special tokens written in the text stay plain text");
    parser.add_switch("--add-special", add_special_, "Put the tokens around the text that the model asks for");
  }

  int run(Context& context) override {
    if (jsonl_ && text_) throw base::Exception(base::ErrorKind::kUsage, "--jsonl: reads stdin; leave TEXT out");
    const auto tokenizer = tools::open_tokenizer(Models().find(model_).path).value_or_throw();
    if (jsonl_) {
      convert_lines(*tokenizer, context);
      return 0;
    }
    const std::string text = text_ ? *text_ : read_piped("text");
    const auto tokens = tokenizer->encode_with_offsets(text, options()).value_or_throw();
    if (context.flags.json) {
      print_json(context, to_json(*tokenizer, tokens));
    } else if (wants_ids_) {
      context.out.print(fmt::format("{}\n", fmt::join(ids_of(tokens), ",")));
    } else {
      print_tokens(*tokenizer, tokens, context);
    }
    return 0;
  }

 private:
  tokenizer::EncodeOptions options() const {
    return {.parse_special = !no_parse_special_, .add_special = add_special_};
  }

  static std::vector<TokenId> ids_of(const std::vector<EncodedToken>& tokens) {
    std::vector<TokenId> ids;
    for (const EncodedToken& token : tokens)
      ids.push_back(token.id);
    return ids;
  }

  static Json to_json(const Tokenizer& tokenizer, const std::vector<EncodedToken>& tokens) {
    Json rows = Json::array();
    for (const EncodedToken& token : tokens) {
      rows.push_back({{"id", token.id},
                      {"piece", tokenizer.piece(token.id)},
                      {"bytes_hex", base::to_hex(tokenizer.token_bytes(token.id))},
                      {"start", token.start},
                      {"end", token.end},
                      {"special", tokenizer.is_special(token.id)}});
    }
    return {{"ids", ids_of(tokens)}, {"tokens", rows}};
  }

  static void print_tokens(const Tokenizer& tokenizer, const std::vector<EncodedToken>& tokens,
                           const Context& context) {
    Table table{{"ID", "BYTES", "START", "END", "PIECE"}, {0, 2, 3}, {}};
    for (const EncodedToken& token : tokens) {
      const std::string mark = tokenizer.is_special(token.id) ? "  (special)" : "";
      table.rows.push_back({std::to_string(token.id), base::to_hex(tokenizer.token_bytes(token.id)),
                            std::to_string(token.start), std::to_string(token.end),
                            std::string(tokenizer.piece(token.id)) + mark});
    }
    print_table(context.out, table);
    if (!context.flags.quiet) context.err.print(fmt::format("{} tokens\n", tokens.size()));
  }

  void convert_lines(const Tokenizer& tokenizer, const Context& context) const {
    JsonLines lines;
    while (const auto value = lines.next()) {
      if (!value->is_string()) lines.refuse("must be a JSON string");
      const auto ids = tokenizer.encode(value->get_ref<const std::string&>(), options());
      if (!ids) lines.refuse(ids.error().message);
      context.out.print(fmt::format("[{}]\n", fmt::join(*ids, ",")));
    }
  }

  std::string model_;
  std::optional<std::string> text_;
  bool wants_ids_ = false;
  bool jsonl_ = false;
  bool no_parse_special_ = false;
  bool add_special_ = false;
};

}  // namespace

std::unique_ptr<Command> make_tokenize(const Parser& parser) {
  return std::make_unique<TokenizeCommand>(parser);
}

}  // namespace vitrine::cli
