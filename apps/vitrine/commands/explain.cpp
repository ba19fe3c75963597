#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "explain/report.h"
#include "server/web_files.h"
#include "tools/hub/files.h"
#include "tools/machine.h"
#include "vitrine/answer.h"
#include "vitrine/commands/commands.h"
#include "vitrine/interrupt.h"
#include "vitrine/opened_prompt.h"
#include "vitrine/output.h"
#include "vitrine/xray_html.h"
#include "vitrine/xray_page.h"
#include "vitrine/xray_source.h"

namespace vitrine::cli {
namespace {

using base::ErrorKind;

constexpr std::size_t kUsualTokens = 32;
constexpr std::size_t kReplayChunk = 64;
// Of what is available, for what the X-ray holds.
constexpr std::size_t kMemoryShare = 4;

class ExplainCommand final : public Command {
 public:
  explicit ExplainCommand(const Parser& parser) {
    flags_.prompt.default_model = kDefaultModel;
    add_prompt_flags(parser, flags_.prompt);
    parser.add("--html", html_, "A file for the whole of it as a page that opens without a server").group("Explaining");
    parser
        .add_function(
            "--step", [this](const std::string& text) { read_step(text); },
            "The token of the answer whose choice is shown, from 0, or all of them")
        .type_name("STEP|all")
        .group("Explaining");
    parser
        .add_function(
            "--attention", [this](const std::string& text) { read_attention(text); },
            "LAYER or LAYER,HEAD: where it looks, as a heat map")
        .type_name("LAYER")
        .group("Explaining");
    parser.add("--request", request_, "Explain this request of a server instead, by its x-request-id")
        .group("Explaining");
    parser.add("--url", url_, "With --request: the server (default http://127.0.0.1:8080)").group("Explaining");
    parser.add("--api-key", api_key_, "With --request: the key (default: the environment's OPENAI_API_KEY)")
        .group("Explaining");
    add_runtime_flags(parser, flags_.runtime);
    flags_.generation.max_tokens = kUsualTokens;
    add_generation_flags(parser, flags_.generation);
  }

  int run(Context& context) override { return request_.empty() ? explain_prompt(context) : explain_request(context); }

 private:
  static std::size_t read_number(std::string_view text, const char* refusal) {
    std::size_t value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || rest != text.data() + text.size()) throw base::Exception(ErrorKind::kUsage, refusal);
    return value;
  }

  void read_step(const std::string& text) {
    view_.all_steps = text == "all";
    if (!view_.all_steps)
      view_.step = read_number(text, "--step: write the number of a token, from 0, or all for every one");
  }

  void read_attention(const std::string& text) {
    constexpr const char* kRefusal = "--attention: write LAYER or LAYER,HEAD, such as 16 or 16,4";
    const std::size_t comma = text.find(',');
    view_.attention_layer = read_number(std::string_view(text).substr(0, comma), kRefusal);
    if (comma != std::string::npos)
      view_.attention_head = read_number(std::string_view(text).substr(comma + 1), kRefusal);
  }

  int explain_request(Context& context) {
    if (!flags_.prompt.words.empty() || flags_.prompt.prompt || !flags_.prompt.ids.empty())
      throw base::Exception(ErrorKind::kUsage, "--request: it has its own prompt; leave PROMPT out");
    if (api_key_.empty()) {
      if (const char* key = std::getenv("OPENAI_API_KEY")) api_key_ = key;
    }
    show(context, *open_xray(url_, request_, api_key_));
    return 0;
  }

  int explain_prompt(Context& context) {
    trace::Timeline timeline;
    OpenedPrompt opened(context, flags_, timeline);
    // A seed that nobody gave is drawn here, so that the same tokens can be drawn again.
    if (!opened.options.sampling.seed) opened.options.sampling.seed = sampling::random_seed();
    const Answer answer = answer_it(opened, timeline);
    explain::Recording recording{
        .prompt = opened.prompt, .answer = answer.sampled_ids, .sampling = opened.options.sampling};
    const auto replay = replay_of(opened.runtime, std::move(recording));
    const tokenizer::Tokenizer* tokenizer = opened.runtime.bundle().tokenizer.get();
    opened.runtime.note_scratch();
    nlohmann::ordered_json document = explain::xray_json(*replay, {.id = {},
                                                                   .model = opened.given.model,
                                                                   .finish_reason = answer.finish_reason,
                                                                   .prompt_tokens = answer.prompt_tokens,
                                                                   .completion_tokens = answer.completion_tokens,
                                                                   .cached_tokens = answer.cached_tokens,
                                                                   .timeline = timeline,
                                                                   .token_times_s = answer.token_times_s,
                                                                   .tokenizer = tokenizer,
                                                                   .ledger = &opened.runtime.ledger(),
                                                                   .kernels = opened.runtime.kernels(),
                                                                   .roof = opened.runtime.measure_roof()});
    show(context, *open_xray(std::move(document), *replay, tokenizer));
    return answer.finish_reason == "abort" ? static_cast<int>(ErrorKind::kInterrupted) : 0;
  }

  static Answer answer_it(OpenedPrompt& opened, trace::Timeline& timeline) {
    const InterruptScope interrupt;
    AnswerHooks hooks;
    hooks.stop = &interrupt.requested();
    Answer answer = answer_prompt(opened.runtime, opened.prompt, opened.options, timeline, hooks);
    if (!answer.error.empty()) throw base::Exception(ErrorKind::kInternal, "answer: " + answer.error);
    return answer;
  }

  static std::unique_ptr<explain::Replay> replay_of(Runtime& runtime, explain::Recording recording) {
    const std::size_t available_bytes = tools::read_machine().available_memory_bytes;
    auto replay = explain::Replay::create(runtime.model(), std::move(recording),
                                          {.kv_type = runtime.engine().config().kv_type,
                                           .max_chunk_tokens = kReplayChunk,
                                           .max_bytes = available_bytes / kMemoryShare})
                      .value_or_throw();
    while (replay->advance()) {
    }
    return replay;
  }

  void show(const Context& context, XraySource& xray) const {
    if (!html_.empty()) {
      const server::WebFile* page = server::find_web_file("/report.html");
      if (page == nullptr) throw base::Exception(ErrorKind::kInternal, "--html: this build has no report page");
      hub::write_text(html_, xray_html(xray, page->content)).value_or_throw();
      if (!context.flags.quiet) context.err.print(fmt::format("{} written\n", html_));
    }
    if (context.flags.json) return print_json(context, xray.document());
    print_xray(context.out, xray, view_);
  }

  PromptCommandFlags flags_;
  std::string html_;
  XrayView view_;
  std::string request_;
  std::string url_ = "http://127.0.0.1:8080";
  std::string api_key_;
};

}  // namespace

std::unique_ptr<Command> make_explain(const Parser& parser) {
  return std::make_unique<ExplainCommand>(parser);
}

}  // namespace vitrine::cli
