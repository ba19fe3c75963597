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

class TrainBpeCommand final : public Command {
 public:
  explicit TrainBpeCommand(const Parser& parser) {
    std::vector<std::string> splitters;
    for (const std::string_view name : tokenizer::word_splitters())
      splitters.emplace_back(name);
    parser.add("files", files_, "Text files in UTF-8").required();
    parser.add("--vocab", training_.vocab_size, "Tokens of the vocabulary, the 256 bytes and special tokens included")
        .required()
        .positive();
    parser.add("--out", out_, "Folder for tokenizer.json; made where it is missing").required().type_name("DIR");
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
    training_.min_frequency = min_frequency_;
    const tokenizer::KnownPattern& splitter = tokenizer::known_pattern(splitter_);
    PhaseTimes times;
    const auto [words, trained] = train(splitter, times, context);
    timed(times.write_s, [&] { return write(to_tokenizer_json(trained, splitter)); });
    report(words, trained, times, context);
    return 0;
  }

 private:
  fs::path file() const { return fs::path(out_) / "tokenizer.json"; }

  void check_special_tokens() const {
    for (const std::string& token : training_.special_tokens) {
      if (token.empty() || token.size() > tokenizer::AddedTokenMatcher::kMaxContentBytes) {
        refuse(fmt::format("--special: a token has 1 to {} bytes", tokenizer::AddedTokenMatcher::kMaxContentBytes));
      }
      if (!base::is_valid_utf8(token)) refuse("--special: a token is not UTF-8");
    }
  }

  std::pair<WordCounts, TrainedBpe> train(const tokenizer::KnownPattern& splitter, PhaseTimes& times,
                                          const Context& context) const {
    TrainingProgress progress(context.err, context.flags.quiet);
    base::ThreadPool pool(num_threads_ != 0 ? num_threads_ : tools::read_cpus().num_threads());
    const std::vector<fs::path> files(files_.begin(), files_.end());
    auto words = timed(times.count_s, [&] {
      return tokenizer::count_files(files, {splitter.scan, by_line_}, pool, progress).value_or_throw();
    });
    auto trained =
        timed(times.merge_s, [&] { return tokenizer::train_bpe(words, training_, progress).value_or_throw(); });
    return {std::move(words), std::move(trained)};
  }

  // Put in place as a whole, so that a reader never sees half of it.
  bool write(const std::string& json) const {
    hub::make_directories(out_).value_or_throw();
    const fs::path partial = file().string() + ".partial";
    hub::write_text(partial, json).value_or_throw();
    hub::rename_path(partial, file()).value_or_throw();
    return true;
  }

  void report(const WordCounts& words, const TrainedBpe& trained, const PhaseTimes& times,
              const Context& context) const {
    if (trained.pieces.size() < training_.vocab_size && !context.flags.quiet) {
      context.err.print(
          fmt::format("note: the vocabulary has {} tokens, not {}: no pair is left that occurs {} times\n",
                      trained.pieces.size(), training_.vocab_size, min_frequency_));
    }
    if (context.flags.json) return print_json(context, to_json(words, trained, times));
    context.out.print(fmt::format(
        "{}: {} tokens, {} merges\n{} of text, {} words, {} distinct; {:.2f} bytes per token; {:.1f} s\n",
        printable(file().string()), trained.pieces.size(), trained.merges.size(), hub::format_bytes(words.num_bytes()),
        words.num_words(), words.num_distinct(), trained.bytes_per_token(), times.total_s()));
  }

  nlohmann::ordered_json to_json(const WordCounts& words, const TrainedBpe& trained, const PhaseTimes& times) const {
    return {{"file", file().string()},
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
  }

  std::vector<std::string> files_;
  tokenizer::BpeTraining training_;
  std::size_t min_frequency_ = 2;
  std::string out_;
  std::string splitter_ = "gpt2";
  bool by_line_ = false;
  std::size_t num_threads_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_train_bpe(const Parser& parser) {
  return std::make_unique<TrainBpeCommand>(parser);
}

}  // namespace vitrine::cli
