// Any bytes as the body of a request, through all that comes before the engine: JSON, the fields of each endpoint, the
// chat template and the tokenizer. Whatever is wrong ends in an answer with a 400 or 422 that can be sent; what passes
// is within its limits.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "chat/stop_matcher.h"
#include "sampling/sampling_params.h"
#include "server/api_error.h"
#include "server/openai/answer_options.h"
#include "server/openai/chat_prompt.h"
#include "server/openai/fields.h"
#include "server/openai/text_prompts.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/tokenizer.h"

namespace {

using namespace vitrine;
using server::Fields;
using server::Flavour;

constexpr std::string_view kTemplate =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% if m.tool_calls %}{{ m.tool_calls | tojson }}"
    "{% endif %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

std::unique_ptr<tokenizer::Tokenizer> make_tokenizer() {
  static std::vector<std::string> tokens;
  for (unsigned byte = 0; byte < 256; ++byte)
    tokens.emplace_back(tokenizer::spelling_of_byte(static_cast<unsigned char>(byte)));
  for (const char* piece : {"th", "the", "<|im_start|>", "<|im_end|>"})
    tokens.emplace_back(piece);
  tokenizer::GgufVocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = "smollm";
  vocabulary.tokens.assign(tokens.begin(), tokens.end());
  vocabulary.token_types.assign(tokens.size(), 1);
  vocabulary.token_types[258] = vocabulary.token_types[259] = 3;
  vocabulary.merges = {"t h", "th e"};
  return tokenizer::Tokenizer::from_gguf(vocabulary).value_or_throw();
}

struct SmallModel {
  std::unique_ptr<tokenizer::Tokenizer> tokens = make_tokenizer();
  chat::ChatTemplate chat_template =
      chat::ChatTemplate::compile(kTemplate, {.num_steps = 20'000, .depth = 8, .output_bytes = std::size_t{1} << 16U})
          .value_or_throw();
  server::ServedModel served;

  SmallModel() {
    served.name = "small";
    served.tokenizer = tokens.get();
    served.chat_template = &chat_template;
    served.special_tokens = nlohmann::ordered_json::object();
  }
};

void check_ids(const std::vector<TokenId>& ids, const tokenizer::Tokenizer& tokens) {
  for (const TokenId id : ids)
    VT_CHECK(id >= 0 && static_cast<std::size_t>(id) < tokens.vocab_size(), "an id that is none");
}

void check_options(const server::AnswerOptions& options) {
  VT_CHECK(options.num_choices >= 1 && options.num_choices <= server::kMaxChoices, "choices out of range");
  VT_CHECK(options.stops.size() <= chat::StopMatcher::kMaxStops, "too many stop strings");
  VT_CHECK(chat::StopMatcher::create(options.stops), "stop strings that can't be matched");
  sampling::SamplingParams params = options.sampling;
  params.logit_bias.clear();  // which tokens there are is the engine's question
  VT_CHECK(sampling::validate(params, 260), "sampling parameters out of range");
}

void check_error(const server::ApiError& error) {
  VT_CHECK(error.status == 400 || error.status == 422, "a status that is not the client's fault");
  VT_CHECK(!error.message.empty() && error.message.find('\n') == std::string::npos, "a message of several lines");
  VT_CHECK(base::is_valid_utf8(error.json()), "an answer that is not UTF-8");
  VT_CHECK(error.param.size() < 1000, "a field's name without bounds");
}

// Runs one endpoint's reading of the body.
template <typename Read>
void try_to(std::string_view body, Read read) {
  try {
    const auto json = server::parse_body(body);
    Fields fields(json);
    read(fields);
    fields.unread();
  } catch (const server::ApiException& exception) {
    check_error(exception.error());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const SmallModel model;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  try_to(body, [](Fields& fields) { check_options(server::read_answer_options(fields, Flavour::kChat)); });
  try_to(body, [](Fields& fields) { check_options(server::read_answer_options(fields, Flavour::kText)); });
  try_to(body, [](Fields& fields) {
    const auto request = server::read_chat_prompt(fields, model.served);
    check_ids(server::encode_chat_prompt(request, model.served), *model.tokens);
  });
  try_to(body, [](Fields& fields) {
    const auto prompts = server::read_text_prompts(fields, model.served);
    VT_CHECK(prompts.size() <= server::kMaxPrompts, "too many prompts");
    server::echo_texts(fields, prompts, model.served);
  });
  return 0;
}
