#include "vitrine/chat_session.h"

#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/suggest.h"
#include "vitrine/interrupt.h"
#include "vitrine/prefill_progress.h"

namespace vitrine::cli {
namespace {

struct SessionCommand {
  std::string_view name;
  std::string_view argument;  // empty: takes none
  std::string_view help;
};

constexpr std::array kSessionCommands = {
    SessionCommand{"/help", "", "this list"},
    SessionCommand{"/system", "TEXT", "replace the system message; without TEXT take it away"},
    SessionCommand{"/reset", "", "begin a new conversation"},
    SessionCommand{"/stats", "", "times and memory of the last answer"},
    SessionCommand{"/save", "FILE", "write the conversation as JSON"},
    SessionCommand{"/load", "FILE", "go on with a conversation from a file"},
    SessionCommand{"/exit", "", "leave"},
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") + 1 - begin);
}

std::string unknown_command(std::string_view name) {
  std::vector<std::string> names;
  for (const SessionCommand& command : kSessionCommands)
    names.emplace_back(command.name);
  const auto near = tools::nearest(name, names);
  return fmt::format("{}: no such command; {}", printable(name),
                     near ? "did you mean " + *near + "?" : "/help lists them");
}

std::filesystem::path history_path() {
  const std::filesystem::path directory = state_directory();
  return directory.empty() ? directory : directory / "chat_history";
}

}  // namespace

ChatSession::ChatSession(const Context& context, Runtime& runtime, Conversation& conversation, Settings settings)
    : context_(context),
      runtime_(runtime),
      conversation_(conversation),
      settings_(std::move(settings)),
      editor_(history_path()) {}

int ChatSession::run() {
  if (!context_.flags.quiet) say("/help lists the commands; Ctrl-C stops an answer, Ctrl-D leaves");
  while (true) {
    std::fflush(context_.out.stream());
    const LineEditor::Input input = editor_.read();
    if (input.outcome == LineEditor::Outcome::kText) {
      if (!take(input.text)) return 0;
      continue;
    }
    context_.out.print("\n");
    if (input.outcome == LineEditor::Outcome::kEnd) return 0;
    if (input.outcome == LineEditor::Outcome::kInterrupted) return static_cast<int>(base::ErrorKind::kInterrupted);
  }
}

bool ChatSession::take(const std::string& text) {
  const std::string_view line = trimmed(text);
  if (line.empty()) return true;
  try {
    if (line.front() == '/') return obey(line);
    ask(text);
  } catch (const base::Exception& exception) {
    if (exception.error().kind == base::ErrorKind::kInternal) throw;
    say(exception.error().message);
  }
  return true;
}

bool ChatSession::obey(std::string_view line) {
  const std::size_t space = line.find_first_of(" \t\n");
  const std::string_view name = line.substr(0, space);
  const std::string_view argument = space == std::string_view::npos ? "" : trimmed(line.substr(space));
  if (name == "/exit") return false;
  if (name == "/help") {
    help();
  } else if (name == "/system") {
    conversation_.set_system(argument);
    say(argument.empty() ? "no system message" : "system message set");
  } else if (name == "/reset") {
    conversation_.reset();
    say("a new conversation");
  } else if (name == "/stats") {
    show_last_stats();
  } else if (name == "/save" || name == "/load") {
    save_or_load(name, argument);
  } else {
    say(unknown_command(name));
  }
  return true;
}

void ChatSession::help() const {
  for (const SessionCommand& command : kSessionCommands)
    context_.out.print(fmt::format("{:<8}{:<6}{}\n", command.name, command.argument, command.help));
  context_.out.print("A line that ends in \\ goes on in the next one; \"\"\" opens and closes a block of lines.\n");
}

void ChatSession::show_last_stats() const {
  if (!last_answer_) return say("no answer yet");
  print_stats(*last_answer_, runtime_, context_.out);
}

void ChatSession::save_or_load(std::string_view name, std::string_view path) {
  if (path.empty()) return say(fmt::format("{}: name a file", name));
  if (name == "/save") {
    conversation_.save(std::string(path));
  } else {
    conversation_.load(std::string(path));
  }
  say(fmt::format("{} messages {} {}", conversation_.num_messages(), name == "/save" ? "written to" : "read from",
                  printable(path)));
}

void ChatSession::ask(const std::string& text) {
  conversation_.add_user(text);
  std::optional<Answer> made;
  try {
    made = answer();
  } catch (const base::Exception&) {
    conversation_.drop_last();
    throw;
  }
  if (!made) return conversation_.drop_last();
  keep(*std::move(made));
}

// nullopt where the conversation no longer fits.
std::optional<Answer> ChatSession::answer() {
  trace::Timeline timeline;
  std::vector<TokenId> prompt = conversation_.prompt(timeline);
  const std::size_t max_total_tokens = runtime_.engine().max_total_tokens();
  if (prompt.size() >= max_total_tokens) {
    say(
        fmt::format("the conversation has {} tokens and the context holds {}: /reset begins a new one, --ctx may allow "
                    "more",
                    prompt.size(), max_total_tokens));
    return std::nullopt;
  }
  PrefillProgress progress(context_.err, context_.flags.quiet);
  const InterruptScope interrupt;
  AnswerHooks hooks;
  hooks.on_prefill = [&](std::size_t done, std::size_t all) { progress.show(done, all); };
  hooks.stop = &interrupt.requested();
  hooks.on_text = [&](std::string_view piece) {
    progress.clear();
    context_.out.print(piece);
    std::fflush(context_.out.stream());
  };
  return answer_prompt(runtime_, std::move(prompt), settings_.answer, timeline, hooks);
}

void ChatSession::keep(Answer answer) {
  context_.out.print("\n");
  if (!answer.error.empty()) say("answer: " + answer.error);
  if (answer.finish_reason == "abort") say("stopped");
  if (!answer.length_note.empty()) say(answer.length_note + "; /reset begins a new conversation");
  if (settings_.show_stats) print_stats(answer, runtime_, context_.err);
  if (answer.text.empty()) {
    conversation_.drop_last();
  } else {
    conversation_.add_assistant(answer.text);
  }
  last_answer_ = std::move(answer);
}

void ChatSession::say(std::string_view line) const {
  context_.out.print(context_.out.dim(fmt::format("{}", line)) + "\n");
}

}  // namespace vitrine::cli
