#include "vitrine/conversation.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "chat/messages.h"
#include "vitrine/model_template.h"
#include "vitrine/text_input.h"

namespace vitrine::cli {
namespace {

using base::ErrorKind;
using Json = nlohmann::ordered_json;

// A plain completion has no place for these.
void refuse_without_template(const ConversationOptions& options) {
  for (const auto& [flag, value] : {std::pair{"--system", &options.system}, {"--examples", &options.examples}}) {
    if (value->empty()) continue;
    throw base::Exception(ErrorKind::kUsage,
                          fmt::format("{}: the model has no chat template; give one with --chat-template", flag));
  }
}

bool is_system(const Json& message) {
  return message.at("role") == "system";
}

void replace_system(Json& messages, std::string_view text) {
  if (!messages.empty() && is_system(messages.front())) messages.erase(messages.begin());
  if (!text.empty()) messages.insert(messages.begin(), chat::make_message("system", text));
}

}  // namespace

Conversation::Conversation(const Runtime& runtime, const ConversationOptions& options)
    : runtime_(runtime), template_(compile_template(runtime.bundle(), options.chat_template)), opening_(Json::array()) {
  if (!template_) refuse_without_template(options);
  replace_system(opening_, options.system);
  if (!options.examples.empty()) {
    const Json examples = chat::parse_examples(read_file(options.examples), options.examples).value_or_throw();
    opening_.insert(opening_.end(), examples.begin(), examples.end());
  }
  messages_ = opening_;
}

void Conversation::add_user(std::string_view text) {
  messages_.push_back(chat::make_message("user", text));
}

void Conversation::add_assistant(std::string_view text) {
  messages_.push_back(chat::make_message("assistant", text));
}

void Conversation::drop_last() {
  messages_.erase(messages_.end() - 1);
}

void Conversation::set_system(std::string_view text) {
  replace_system(opening_, text);
  replace_system(messages_, text);
}

std::vector<TokenId> Conversation::prompt(trace::Timeline& timeline) const {
  return template_ ? chat_ids(timeline) : plain_ids(timeline);
}

std::vector<TokenId> Conversation::chat_ids(trace::Timeline& timeline) const {
  const chat::RenderedChat rendered = render(timeline);
  trace::ScopedSpan span(timeline, trace::Stage::kTokenize);
  std::vector<TokenId> ids = chat::encode_rendered(rendered, runtime_.tokenizer()).value_or_throw();
  span.annotate("bytes", static_cast<std::int64_t>(rendered.text.size()));
  span.annotate("tokens", static_cast<std::int64_t>(ids.size()));
  return ids;
}

chat::RenderedChat Conversation::render(trace::Timeline& timeline) const {
  chat::RenderRequest request;
  request.messages = messages_;
  request.variables = runtime_.bundle().special_tokens;
  trace::ScopedSpan span(timeline, trace::Stage::kTemplate);
  chat::RenderedChat rendered = chat::render_chat(*template_, request, runtime_.tokenizer()).value_or_throw();
  span.annotate("bytes", static_cast<std::int64_t>(rendered.text.size()));
  return rendered;
}

std::vector<TokenId> Conversation::plain_ids(trace::Timeline& timeline) const {
  const auto& text = messages_.back().at("content").get_ref<const std::string&>();
  return encode_text(runtime_.tokenizer(), text, {.parse_special = false, .add_special = true}, timeline);
}

void Conversation::save(const std::string& path) const {
  const std::string text = messages_.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  std::FILE* file = std::fopen(path.c_str(), "we");
  const bool is_written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool is_closed = file != nullptr && std::fclose(file) == 0;
  if (is_written && is_closed) return;
  throw base::Exception(ErrorKind::kIo, fmt::format("{}: can't be written: {}", path, std::strerror(errno)));
}

void Conversation::load(const std::string& path) {
  auto loaded = chat::parse_messages(read_file(path));
  if (!loaded) throw base::Exception(loaded.error().kind, path + ": " + loaded.error().message);
  messages_ = *std::move(loaded);
  opening_ = Json::array();
  if (!messages_.empty() && is_system(messages_.front())) opening_.push_back(messages_.front());
}

}  // namespace vitrine::cli
