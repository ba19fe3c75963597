#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/hub/files.h"
#include "tools/machine.h"
#include "trace/export.h"
#include "vitrine/answer.h"
#include "vitrine/commands/commands.h"
#include "vitrine/forward_trace.h"
#include "vitrine/interrupt.h"
#include "vitrine/opened_prompt.h"
#include "vitrine/output.h"
#include "vitrine/parser.h"
#include "vitrine/tensor_dump.h"

namespace vitrine::cli {
namespace {

// Every layer of every step has its span.
constexpr std::size_t kMaxSpans = std::size_t{1} << 20U;

std::string attribute_text(const trace::AttributeValue& value) {
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
}

// [num_spans]: "key value, ..." of each.
std::vector<std::string> details_of(const trace::Timeline& timeline) {
  std::vector<std::string> details(timeline.spans().size());
  for (const trace::Attribute& attribute : timeline.attributes()) {
    std::string& text = details[attribute.span.index];
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", attribute.key, attribute_text(attribute.value));
  }
  return details;
}

std::size_t depth_of(std::span<const trace::Span> spans, const trace::Span& span) {
  std::size_t depth = 0;
  for (trace::SpanId parent = span.parent; parent.index < spans.size(); parent = spans[parent.index].parent)
    ++depth;
  return depth;
}

// Spans in the order in which they began, what contains others before them.
std::vector<std::size_t> reading_order(std::span<const trace::Span> spans) {
  std::vector<std::size_t> order(spans.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return std::pair(spans[i].time.start_ns, depth_of(spans, spans[i])); });
  return order;
}

std::string milliseconds(std::int64_t ns) {
  return fmt::format("{:.3f}", static_cast<double>(ns) * 1e-6);
}

Table timeline_table(const trace::Timeline& timeline) {
  Table table{{"SPAN", "START ms", "TIME ms", "DETAIL"}, {1, 2}, {}};
  const auto spans = timeline.spans();
  const std::vector<std::string> details = details_of(timeline);
  for (const std::size_t i : reading_order(spans)) {
    const trace::Span& span = spans[i];
    table.rows.push_back({std::string(2 * depth_of(spans, span), ' ') + std::string(span.name),
                          milliseconds(span.time.start_ns), milliseconds(span.time.end_ns - span.time.start_ns),
                          details[i]});
  }
  table.rows.push_back({"in no span", "", milliseconds(timeline.unaccounted_ns()), ""});
  table.rows.push_back({"wall", "", milliseconds(timeline.wall_ns()), ""});
  return table;
}

class TraceCommand final : public Command {
 public:
  explicit TraceCommand(const Parser& parser) {
    add_prompt_flags(parser, flags_.prompt);
    parser.add("--dump", dump_, "A folder for the values of every part, as .npy files");
    parser.add("--chrome", chrome_, "A file for chrome://tracing or Perfetto");
    add_runtime_flags(parser, flags_.runtime);
    flags_.generation.max_tokens = 1;
    add_generation_flags(parser, flags_.generation);
  }

  int run(Context& context) override {
    trace::Timeline timeline(kMaxSpans);
    OpenedPrompt opened(context, flags_, timeline);
    const Answer answer = trace_answer(opened, timeline);
    if (!chrome_.empty()) hub::write_text(chrome_, trace::to_chrome_trace(timeline)).value_or_throw();
    if (!dump_.empty()) dump(opened.runtime, opened.prompt);
    report(context, timeline);
    if (flags_.generation.stats) print_stats(answer, opened.runtime, context.err);
    return answer.finish_reason == "abort" ? static_cast<int>(base::ErrorKind::kInterrupted) : 0;
  }

 private:
  static Answer trace_answer(OpenedPrompt& opened, trace::Timeline& timeline) {
    ForwardTrace parts(timeline);
    const InterruptScope interrupt;
    AnswerHooks hooks;
    hooks.stop = &interrupt.requested();
    opened.runtime.engine().set_observer(&parts);
    Answer answer = answer_prompt(opened.runtime, opened.prompt, opened.options, timeline, hooks);
    opened.runtime.engine().set_observer(nullptr);
    if (!answer.error.empty()) throw base::Exception(base::ErrorKind::kInternal, "answer: " + answer.error);
    parts.add_spans(timeline);
    return answer;
  }

  void dump(Runtime& runtime, const std::vector<TokenId>& prompt) const {
    dump_tensors(runtime.model(), prompt, dump_,
                 {.kv_type = runtime.engine().config().kv_type,
                  .max_chunk_tokens = flags_.runtime.max_chunk_tokens,
                  .available_bytes = tools::read_machine().available_memory_bytes});
  }

  static void report(const Context& context, const trace::Timeline& timeline) {
    if (context.flags.json) return print_json(context, nlohmann::ordered_json(trace::to_json(timeline)));
    print_table(context.out, timeline_table(timeline));
  }

  PromptCommandFlags flags_;
  std::string dump_;
  std::string chrome_;
};

}  // namespace

std::unique_ptr<Command> make_trace(const Parser& parser) {
  return std::make_unique<TraceCommand>(parser);
}

}  // namespace vitrine::cli
