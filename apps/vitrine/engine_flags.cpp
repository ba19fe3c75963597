#include "vitrine/engine_flags.h"

#include <fmt/format.h>

#include "base/result.h"
#include "server/model_pool.h"

namespace vitrine::cli {
namespace {

constexpr std::size_t kMaxSequences = 32;
constexpr const char* kRunningGroup = "Running";

base::Exception unknown_mode(const char* flag, const std::string& mode, const char* modes) {
  return {base::ErrorKind::kUsage, fmt::format("{} {}: use {}", flag, mode, modes)};
}

void set_prefix_cache(const std::string& mode, EngineFlags& flags) {
  if (mode != "exact" && mode != "fast" && mode != "off")
    throw unknown_mode("--prefix-cache", mode, "exact, fast or off");
  flags.prefix_cache = mode;
}

void set_batching(const std::string& mode, EngineFlags& flags) {
  if (mode != "continuous" && mode != "static" && mode != "none")
    throw unknown_mode("--batching", mode, "continuous, static or none");
  flags.runtime.static_batches = mode == "static";
  flags.is_unbatched = mode == "none";
}

void add_queue_flags(const Parser& parser, EngineFlags& flags) {
  parser
      .add("--max-sequences,--max-num-seqs,--parallel", flags.runtime.max_sequences,
           fmt::format("Answers that are made at once; others wait (default {})", kMaxSequences))
      .between(1, 4096)
      .group(kRunningGroup);
  parser
      .add("--max-queue", flags.max_queue,
           fmt::format("Answers that may wait for their turn; more are refused with 503 (default {})",
                       server::ModelPool::Options().max_waiting))
      .between(0, 1'000'000)
      .group(kRunningGroup);
  parser
      .add("--itl-target", flags.runtime.target_gap_ms,
           "Milliseconds between two tokens of an answer up to which others' long prompts may slow it (default: twice "
           "what it takes without them)")
      .between(0, 60000)
      .group(kRunningGroup);
}

void add_mode_flags(const Parser& parser, EngineFlags& flags) {
  parser
      .add_function(
          "--prefix-cache", [&flags](const std::string& mode) { set_prefix_cache(mode, flags); },
          "exact (default): what prompts have in common is computed once, answers when they come back in a "
          "prompt too; fast: answers are shared as they were generated, and the bits of a later turn then depend on "
          "how the conversation came about; off")
      .group(kRunningGroup);
  parser
      .add_function(
          "--batching", [&flags](const std::string& mode) { set_batching(mode, flags); },
          "continuous (default): answers begin and end at any step; static: a batch begins when all of the one "
          "before have ended; none: one answer after the other")
      .group(kRunningGroup);
}

// The parser of the words of one table. Its command's name is in no message.
class TableParser {
 public:
  explicit TableParser(EngineFlags& flags) : root_("", ""), parser_(root_.add_command(kCommand, "", "", "")) {
    add_engine_flags(parser_, flags);
  }

  std::vector<FlagInfo> flags() const { return root_.describe().commands.front().flags; }
  void parse(std::vector<std::string> words) {
    words.insert(words.begin(), kCommand);
    root_.parse(std::move(words));
  }
  // A refusal without what is for command lines only.
  static std::string reason_of(std::string refusal) {
    const std::string prefix = std::string(kCommand) + ": ";
    if (refusal.starts_with(prefix)) refusal.erase(0, prefix.size());
    return refusal.substr(0, refusal.find("; see vitrine "));
  }

 private:
  static constexpr const char* kCommand = "model";

  RootParser root_;
  Parser parser_;
};

}  // namespace

EngineFlags::EngineFlags() {
  runtime.max_sequences = kMaxSequences;
  runtime.settle_answers = true;
}

RuntimeFlags EngineFlags::resolved() const {
  RuntimeFlags resolved = runtime;
  if (is_unbatched) resolved.max_sequences = 1;
  std::string mode = prefix_cache;
  if (runtime.contiguous_kv) {  // a run of blocks belongs to one request
    if (!mode.empty() && mode != "off")
      throw base::Exception(
          base::usage_error(fmt::format("--kv-layout contiguous: there is nothing to share with --prefix-cache {}; "
                                        "leave one of them out",
                                        mode)));
    mode = "off";
  }
  resolved.no_prefix_cache = mode == "off";
  resolved.publish_answers = mode == "fast";
  resolved.settle_answers = mode.empty() || mode == "exact";
  return resolved;
}

void add_engine_flags(const Parser& parser, EngineFlags& flags) {
  add_runtime_flags(parser, flags.runtime);
  parser.add("--chat-template", flags.chat_template, "A file to take in place of the model's own chat template");
  parser
      .add("--keep-alive", flags.keep_alive_s,
           "Seconds after which a model that nobody asks for is unloaded (default: never)")
      .between(1, 1'000'000'000)
      .group(kRunningGroup);
  add_queue_flags(parser, flags);
  add_mode_flags(parser, flags);
}

std::vector<std::string> engine_flag_names() {
  EngineFlags flags;
  std::vector<std::string> names;
  for (const FlagInfo& flag : TableParser(flags).flags()) {
    for (const std::string& name : flag.names) {
      if (name.starts_with("--") && name != "--help") names.push_back(name.substr(2));
    }
  }
  return names;
}

void apply_engine_words(const std::vector<std::string>& words, EngineFlags& flags) {
  try {
    TableParser(flags).parse(words);
  } catch (const base::Exception& exception) {
    throw base::Exception(base::ErrorKind::kUsage, TableParser::reason_of(exception.what()));
  }
}

}  // namespace vitrine::cli
