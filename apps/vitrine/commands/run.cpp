#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "vitrine/answer.h"
#include "vitrine/commands/commands.h"
#include "vitrine/interrupt.h"
#include "vitrine/model_or_prompt.h"
#include "vitrine/models.h"
#include "vitrine/output.h"
#include "vitrine/runtime.h"
#include "vitrine/sampling_flags.h"

namespace vitrine::cli {
namespace {

std::string read_stdin() {
  std::string text;
  char buffer[65536];
  std::size_t count = 0;
  while ((count = std::fread(buffer, 1, sizeof(buffer), stdin)) > 0)
    text.append(buffer, count);
  return text;
}

std::vector<TokenId> parse_ids(const std::string& text) {
  std::vector<TokenId> ids;
  const char* next = text.data();
  const char* end = text.data() + text.size();
  while (next < end) {
    if (*next == ' ' || *next == ',' || *next == '[' || *next == ']') {
      ++next;
      continue;
    }
    TokenId id = 0;
    const auto [after, code] = std::from_chars(next, end, id);
    if (code != std::errc()) {
      throw base::Exception(base::ErrorKind::kUsage, "--ids " + text + ": write token ids like 1,2,3");
    }
    ids.push_back(id);
    next = after;
  }
  return ids;
}

class RunCommand final : public Command {
 public:
  explicit RunCommand(CLI::App& app) {
    app.add_option("words", words_, "MODEL and PROMPT; piped text is the prompt where none is given")->expected(0, 2);
    app.add_option("-m,--model,--model-path", model_, "A catalog name, a file or folder, or hf:ORG/REPO[:FILE]");
    app.add_option("-p,--prompt", prompt_, "The prompt");
    app.add_option("--ids", ids_, "The prompt as token ids, such as 1,2,3");
    app.add_option("-n,--max-tokens", max_tokens_, "Most tokens of the answer")->check(CLI::NonNegativeNumber);
    app.add_option("--stop", stops_, "A text that ends the answer; may be repeated");
    app.add_flag("--ignore-eos", ignore_eos_, "Go on after the model's end token");
    app.add_flag("--stats", stats_, "Times and memory after the answer");
    add_runtime_flags(app, runtime_flags_);
    add_sampling_flags(app, sampling_flags_);
  }

  int run(Context& context) override {
    const Models models;
    ModelAndPrompt given = sort_positionals(words_, {model_, prompt_}, models.names()).value_or_throw();
    if (!given.model) {
      throw base::Exception(base::ErrorKind::kUsage, "model: none given; name one, such as smollm2-135m-instruct");
    }
    if (!given.prompt && ids_.empty() && ::isatty(STDIN_FILENO) == 0) given.prompt = read_stdin();
    if (!given.prompt && ids_.empty()) {
      throw base::Exception(base::ErrorKind::kUsage, "prompt: none given; add it as the last argument or pipe it in");
    }
    Runtime runtime(models.find_or_pull(*given.model, context).path.string(), runtime_flags_);
    AnswerTimings timings;
    timings.load_s = runtime.load_s();
    const std::vector<TokenId> prompt = ids_.empty() ? tokenize(runtime, *given.prompt, timings) : parse_ids(ids_);
    return answer(context, runtime, prompt, timings);
  }

 private:
  static std::vector<TokenId> tokenize(const Runtime& runtime, const std::string& text, AnswerTimings& timings) {
    const auto start = std::chrono::steady_clock::now();
    auto ids = runtime.tokenizer().encode(text, {.parse_special = true, .add_special = true}).value_or_throw();
    timings.tokenize_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return ids;
  }

  int answer(const Context& context, Runtime& runtime, const std::vector<TokenId>& prompt,
             const AnswerTimings& timings) {
    AnswerOptions options;
    options.sampling = sampling_flags_.parsed();
    options.max_tokens = max_tokens_;
    options.stops = stops_;
    options.ignore_eos = ignore_eos_;
    const std::vector<std::string> advice = sampling::advice(options.sampling);
    if (!context.flags.quiet && !context.flags.json) {
      for (const std::string& line : advice)
        context.err.print("advice: " + line + "\n");
    }
    const OnText on_text = [&](std::string_view text) {
      if (context.flags.json) return;
      context.out.print(text);
      std::fflush(context.out.stream());
    };
    const InterruptScope interrupt;
    const Answer result = answer_prompt(runtime, prompt, options, timings, on_text, &interrupt.requested());
    if (!result.error.empty()) throw base::Exception(base::ErrorKind::kInternal, "answer: " + result.error);
    if (context.flags.json) {
      print_json(context, to_json(result, runtime, advice));
    } else {
      context.out.print("\n");
    }
    if (stats_) print_stats(result, runtime, context.err);
    return result.finish_reason == "abort" ? static_cast<int>(base::ErrorKind::kInterrupted) : 0;
  }

  std::vector<std::string> words_;
  std::optional<std::string> model_;
  std::optional<std::string> prompt_;
  std::string ids_;
  std::optional<std::size_t> max_tokens_;
  std::vector<std::string> stops_;
  bool ignore_eos_ = false;
  bool stats_ = false;
  RuntimeFlags runtime_flags_;
  SamplingFlags sampling_flags_;
};

}  // namespace

std::unique_ptr<Command> make_run(CLI::App& app) {
  return std::make_unique<RunCommand>(app);
}

}  // namespace vitrine::cli
