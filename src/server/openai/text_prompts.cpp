#include "server/openai/text_prompts.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "server/api_error.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

bool is_ids(const Json& value) {
  return value.is_array() && !value.empty() && value.front().is_number();
}

// The items of the field, each a string or an array of ids.
std::vector<const Json*> prompt_items(Fields& fields, const PromptField& field) {
  const Json* prompt = fields.find(field.param);
  if (prompt == nullptr) throw bad_field(field.param, "give a text or token ids", "missing_field");
  if (prompt->is_string() || is_ids(*prompt)) return {prompt};
  if (!prompt->is_array() || prompt->empty()) throw bad_field(field.param, "give a text or token ids");
  if (prompt->size() > field.max_count)
    throw bad_field(field.param, fmt::format("at most {} at once", field.max_count));
  std::vector<const Json*> items;
  for (const Json& item : *prompt)
    items.push_back(&item);
  return items;
}

std::vector<TokenId> encode_item(const Json& item, const ServedModel& model, const std::string& param) {
  if (item.is_array()) return read_token_ids(item, param);
  if (!item.is_string()) throw bad_field(param, "must hold texts or token ids", "invalid_type");
  if (model.tokenizer == nullptr) throw bad_field(param, "the model has no tokenizer; give token ids");
  auto ids = model.tokenizer->encode(item.get_ref<const std::string&>(), {.parse_special = true, .add_special = true});
  if (!ids) throw bad_field(param, ids.error().message);
  return *std::move(ids);
}

}  // namespace

std::vector<TokenId> read_token_ids(const Json& array, const std::string& param) {
  std::vector<TokenId> ids;
  if (!array.is_array()) throw bad_field(param, "must be an array of token ids", "invalid_type");
  for (const Json& item : array) {
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() > std::numeric_limits<TokenId>::max())
      throw bad_field(param, "token ids are whole numbers from 0 on", "invalid_type");
    ids.push_back(item.get<TokenId>());
  }
  return ids;
}

std::vector<std::vector<TokenId>> read_text_prompts(Fields& fields, const ServedModel& model,
                                                    const PromptField& field) {
  std::vector<std::vector<TokenId>> prompts;
  for (const Json* item : prompt_items(fields, field))
    prompts.push_back(encode_item(*item, model, field.param));
  return prompts;
}

std::vector<std::string> echo_texts(Fields& fields, const std::vector<std::vector<TokenId>>& prompts,
                                    const ServedModel& model) {
  std::vector<std::string> texts;
  for (const Json* item : prompt_items(fields, {})) {
    const std::vector<TokenId>& ids = prompts[texts.size()];
    if (item->is_string()) {
      texts.push_back(item->get<std::string>());
    } else {
      texts.push_back(model.tokenizer == nullptr ? "" : model.tokenizer->decode(ids));
    }
  }
  return texts;
}

}  // namespace vitrine::server
