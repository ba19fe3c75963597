#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/elapsed.h"
#include "base/thread_pool.h"
#include "base/utf8.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/corpus_counter.h"
#include "tokenizer/trained_tokenizer.h"
#include "tools/cpus.h"
#include "tools/hub/files.h"
#include "vitrine/commands/commands.h"
#include "vitrine/output.h"
#include "vitrine/parser.h"
#include "vitrine/text_input.h"
#include "vitrine/training_progress.h"

namespace vitrine::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using tokenizer::MergeStep;
using tokenizer::TrainedBpe;
using tokenizer::WordCounts;

struct PhaseTimes {
  double count_s = 0;
  double merge_s = 0;
  double write_s = 0;
  double total_s() const { return count_s + merge_s + write_s; }
};

// What `work` answers, and how long it took.
template <typename Work>
auto timed(double& seconds, const Work& work) {
  const Clock::time_point start = Clock::now();
  auto result = work();
  seconds = base::seconds_since(start);
  return result;
}

// Shows how far a training is, and keeps its merges if they are to be explained.
class MergeRecorder final : public tokenizer::TrainingObserver {
 public:
  MergeRecorder(TrainingProgress& progress, bool keeps) : progress_(progress), keeps_(keeps) {}

  void counted(std::uint64_t bytes, std::uint64_t total_bytes) override { progress_.counted(bytes, total_bytes); }
  void merged(std::size_t merges, std::size_t most_merges, double bytes_per_token) override {
    progress_.merged(merges, most_merges, bytes_per_token);
  }
  void merge_made(const MergeStep& step) override {
    if (keeps_) steps_.push_back(step);
  }
  bool cancelled() const override { return progress_.cancelled(); }

  std::vector<MergeStep> take() { return std::move(steps_); }

 private:
  TrainingProgress& progress_;
  bool keeps_;
  std::vector<MergeStep> steps_;
};

struct Training {
  WordCounts words;
  TrainedBpe trained;
  std::vector<MergeStep> steps;  // with --explain
};

// Bytes that are a part of a character as \xNN, a space as a mark that can be seen.
std::string visible(const std::string& bytes) {
  std::string shown;
  for (const char c : printable(bytes)) {
    if (c == ' ') {
      shown += "\u2423";
    } else {
      shown += c;
    }
  }
  return shown;
}

double bytes_per_token(const MergeStep& step) {
  return static_cast<double>(step.num_bytes) / static_cast<double>(step.num_tokens);
}

class TrainBpeCommand final : public Command {
 public:
  explicit TrainBpeCommand(const Parser& parser) {
    std::vector<std::string> splitters;
    for (const std::string_view name : tokenizer::word_splitters())
      splitters.emplace_back(name);
    parser.add("files", files_, "Text files in UTF-8").required();
    parser.add("--vocab", training_.vocab_size, "Tokens of the vocabulary, the 256 bytes and special tokens included")
        .positive();
    parser.add("--merges", training_.num_merges, "Merges to make, in place of --vocab");
    parser.add("--out", out_, "Folder for tokenizer.json; made where it is missing").type_name("DIR");
    parser.add_switch("--explain", explain_,
                      "Show every merge with its count and the compression so far; "
                      "--out may be left out then");
    parser.add_switch("--characters", training_.from_characters,
                      "With --explain: start from the characters of the text instead of the bytes");
    parser.add("--special", training_.special_tokens, "A special token, such as <|endoftext|> (may be repeated)")
        .type_name("TOKEN");
    parser.add("--min-frequency", min_frequency_, "A pair that occurs less often is not merged (default 2)").positive();
    parser.add("--splitter", splitter_, "How text is cut into words: as the tokenizer of this name does (default gpt2)")
        .one_of(splitters);
    parser.add_switch("--by-line", by_line_,
                      "Take every line as a text of its own, so that no token holds a line end "
                      "and what follows it");
    parser.add("-t,--threads", num_threads_, "Threads (default: every CPU this process may use)").between(1, 1024);
  }

  int run(Context& context) override {
    check_special_tokens();
    check_output();
    training_.min_frequency = min_frequency_;
    const tokenizer::KnownPattern& splitter = tokenizer::known_pattern(splitter_);
    PhaseTimes times;
    const Training training = train(splitter, times, context);
    if (!out_.empty()) timed(times.write_s, [&] { return write(to_tokenizer_json(training.trained, splitter)); });
    report(training, times, context);
    return 0;
  }

 private:
  fs::path file() const { return fs::path(out_) / "tokenizer.json"; }

  void check_output() const {
    if (out_.empty() && !explain_) refuse("--out: missing; name a folder for tokenizer.json");
    if (training_.from_characters && (!explain_ || !out_.empty()))
      refuse("--characters: makes no byte-level tokenizer; give --explain, and leave --out out");
    if (training_.num_merges.has_value() == (training_.vocab_size > 0)) refuse("--vocab: give it or --merges");
  }

  void check_special_tokens() const {
    for (const std::string& token : training_.special_tokens) {
      if (token.empty() || token.size() > tokenizer::AddedTokenMatcher::kMaxContentBytes) {
        refuse(fmt::format("--special: a token has 1 to {} bytes", tokenizer::AddedTokenMatcher::kMaxContentBytes));
      }
      if (!base::is_valid_utf8(token)) refuse("--special: a token is not UTF-8");
    }
  }

  Training train(const tokenizer::KnownPattern& splitter, PhaseTimes& times, const Context& context) const {
    TrainingProgress progress(context.err, context.flags.quiet);
    MergeRecorder recorder(progress, explain_);
    base::ThreadPool pool(num_threads_ != 0 ? num_threads_ : tools::read_cpus().num_threads());
    const std::vector<fs::path> files(files_.begin(), files_.end());
    auto words = timed(times.count_s, [&] {
      return tokenizer::count_files(files, {splitter.scan, by_line_}, pool, recorder).value_or_throw();
    });
    auto trained =
        timed(times.merge_s, [&] { return tokenizer::train_bpe(words, training_, recorder).value_or_throw(); });
    return {std::move(words), std::move(trained), recorder.take()};
  }

  // Put in place as a whole, so that a reader never sees half of it.
  bool write(const std::string& json) const {
    hub::make_directories(out_).value_or_throw();
    const fs::path partial = file().string() + ".partial";
    hub::write_text(partial, json).value_or_throw();
    hub::rename_path(partial, file()).value_or_throw();
    return true;
  }

  // What the text takes before the first merge.
  std::pair<std::string, std::uint64_t> start_of(const Training& training) const {
    if (!training_.from_characters) return {"the bytes", training.words.num_bytes()};
    std::uint64_t num_characters = 0;
    for (std::size_t i = 0; i < training.words.num_distinct(); ++i)
      num_characters += training.words.times(i) * cli::num_characters(training.words.word(i));
    return {"the characters", num_characters};
  }

  void explain(const Training& training, const Context& context) const {
    Table table{{"MERGE", "COUNT", "LEFT", "RIGHT", "NEW TOKEN", "TOKENS", "BYTES/TOKEN"}, {0, 1, 5, 6}, {}};
    const auto [start, num_tokens] = start_of(training);
    table.rows.push_back(
        {"-", "-", "-", "-", start, std::to_string(num_tokens),
         fmt::format("{:.2f}", static_cast<double>(training.words.num_bytes()) / static_cast<double>(num_tokens))});
    for (const MergeStep& step : training.steps) {
      table.rows.push_back({std::to_string(table.rows.size()), std::to_string(step.count), visible(step.left),
                            visible(step.right), visible(step.merged), std::to_string(step.num_tokens),
                            fmt::format("{:.2f}", bytes_per_token(step))});
    }
    print_table(context.out, table);
    context.out.print("\n");
  }

  void report(const Training& training, const PhaseTimes& times, const Context& context) const {
    const auto& [words, trained, steps] = training;
    const std::size_t wanted = training_.num_merges.value_or(training_.vocab_size);
    const std::size_t made = training_.num_merges ? trained.merges.size() : trained.pieces.size();
    if (made < wanted && !context.flags.quiet) {
      context.err.print(fmt::format("note: the vocabulary has {} {}, not {}: no pair is left that occurs {} times\n",
                                    made, training_.num_merges ? "merges" : "tokens", wanted, min_frequency_));
    }
    if (context.flags.json) return print_json(context, to_json(training, times));
    if (explain_) explain(training, context);
    context.out.print(
        fmt::format("{}: {} tokens, {} merges\n{} of text, {} words, {} distinct; {:.2f} bytes per token; {:.1f} s\n",
                    out_.empty() ? "not written" : printable(file().string()), trained.pieces.size(),
                    trained.merges.size(), hub::format_bytes(words.num_bytes()), words.num_words(),
                    words.num_distinct(), trained.bytes_per_token(), times.total_s()));
  }

  nlohmann::ordered_json to_json(const Training& training, const PhaseTimes& times) const {
    const auto& [words, trained, steps] = training;
    nlohmann::ordered_json json = {
        {"file", out_.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(file().string())},
        {"files", files_.size()},
        {"bytes", words.num_bytes()},
        {"words", words.num_words()},
        {"distinct_words", words.num_distinct()},
        {"merges", trained.merges.size()},
        {"vocab_size", trained.pieces.size()},
        {"tokens", trained.num_tokens},
        {"bytes_per_token", trained.bytes_per_token()},
        {"count_s", times.count_s},
        {"merge_s", times.merge_s},
        {"write_s", times.write_s},
        {"seconds", times.total_s()}};
    if (!explain_) return json;
    nlohmann::ordered_json& list = json["steps"] = nlohmann::ordered_json::array();
    for (const MergeStep& step : steps) {
      list.push_back({{"left", visible(step.left)},
                      {"right", visible(step.right)},
                      {"merged", visible(step.merged)},
                      {"count", step.count},
                      {"tokens", step.num_tokens},
                      {"bytes_per_token", bytes_per_token(step)}});
    }
    return json;
  }

  std::vector<std::string> files_;
  tokenizer::BpeTraining training_;
  std::size_t min_frequency_ = 2;
  std::string out_;
  std::string splitter_ = "gpt2";
  bool by_line_ = false;
  bool explain_ = false;
  std::size_t num_threads_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_train_bpe(const Parser& parser) {
  return std::make_unique<TrainBpeCommand>(parser);
}

}  // namespace vitrine::cli
