#include "vitrine/chat_session.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/suggest.h"
#include "vitrine/output.h"
#include "vitrine/state_directory.h"
#include "vitrine/stream_answer.h"

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
  const auto near = base::nearest(name, names);
  return fmt::format(
      "{}: no such command; {}", printable(name),
      near ? "did you mean " + *near + "?" : "/help lists them; a space before the / makes it a message");
}

const SessionCommand* find_command(std::string_view name) {
  const auto* found = std::ranges::find(kSessionCommands, name, &SessionCommand::name);
  return found == kSessionCommands.end() ? nullptr : found;
}

// A shell would have done that.
std::string with_home(std::string_view path) {
  const char* home = std::getenv("HOME");
  return path.starts_with("~/") && home != nullptr ? home + std::string(path.substr(1)) : std::string(path);
}

// `text` with line ends between words, so that no line is wider than `width` unless a word is.
std::string wrapped(std::string_view text, std::size_t width) {
  std::string result;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    const std::size_t columns = num_columns(word);
    if (used > 0) result += used + 1 + columns > width ? '\n' : ' ';
    used = used == 0 || used + 1 + columns > width ? columns : used + 1 + columns;
    result += word;
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return result;
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
    if (input.outcome != LineEditor::Outcome::kText) {
      context_.out.print("\n");
      if (input.outcome == LineEditor::Outcome::kEnd) return 0;
      if (leaves(input.outcome)) return static_cast<int>(base::ErrorKind::kInterrupted);
      continue;
    }
    was_interrupted_ = false;
    if (!take(input)) return 0;
  }
}

// One Ctrl-C may have been meant for an answer that had just ended: only the second in a row leaves.
bool ChatSession::leaves(LineEditor::Outcome outcome) {
  const bool is_on_empty_line = outcome == LineEditor::Outcome::kInterrupted;
  if (is_on_empty_line && was_interrupted_) return true;
  if (is_on_empty_line) say("Ctrl-C again leaves, and so does Ctrl-D");
  was_interrupted_ = is_on_empty_line;
  return false;
}

bool ChatSession::take(const LineEditor::Input& input) {
  const std::string_view line = trimmed(input.text);
  if (line.empty()) return true;
  try {
    if (input.text.front() == '/' && !input.is_block) return obey(line);
    ask(input.text);
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
  const SessionCommand* command = find_command(name);
  if (command == nullptr) {
    say(unknown_command(name));
  } else if (command->argument.empty() && !argument.empty()) {
    say(fmt::format("{}: it takes no text; a space before the / makes it a message", name));
  } else if (name == "/exit") {
    return false;
  } else if (name == "/help") {
    help();
  } else if (name == "/system") {
    conversation_.set_system(argument);
    say(argument.empty() ? "no system message" : "system message set");
  } else if (name == "/reset") {
    conversation_.reset();
    say("a new conversation");
  } else if (name == "/stats") {
    show_last_stats();
  } else {
    save_or_load(name, argument);
  }
  return true;
}

void ChatSession::help() const {
  for (const SessionCommand& command : kSessionCommands)
    context_.out.print(fmt::format("{:<8}{:<6}{}\n", command.name, command.argument, command.help));
  context_.out.print(
      "A line that ends in \\ goes on in the next one, as after Alt-Enter; \"\"\" opens and closes a block of\n"
      "lines; lines that are pasted stay together. A space before a / makes it part of a message.\n");
}

void ChatSession::show_last_stats() const {
  if (!last_answer_) return say("no answer yet");
  print_stats(*last_answer_, runtime_, context_.out);
}

void ChatSession::save_or_load(std::string_view name, std::string_view path) {
  if (path.empty()) return say(fmt::format("{}: name a file", name));
  const bool saves = name == "/save";
  if (saves) {
    conversation_.save(with_home(path));
  } else {
    conversation_.load(with_home(path));
  }
  say(fmt::format("{} messages {} {}", conversation_.num_messages(), saves ? "written to" : "read from",
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
  if (prompt.size() >= runtime_.engine().max_total_tokens()) {
    say_full(prompt.size());
    return std::nullopt;
  }
  return stream_answer(context_, runtime_, std::move(prompt), settings_.answer, timeline);
}

void ChatSession::say_full(std::size_t num_tokens) const {
  say(
      fmt::format("the context is full: this conversation has {} tokens and there is room for {}; {}, and a larger "
                  "--ctx would hold more",
                  num_tokens, runtime_.engine().max_total_tokens(),
                  conversation_.is_at_first_message() ? "shorten the message" : "/reset begins a new one"));
}

void ChatSession::keep(Answer answer) {
  const bool was_stopped = answer.finish_reason == "abort";
  if (was_stopped) interrupt_.take();
  if (!answer.text.empty()) context_.out.print("\n");
  if (!answer.error.empty()) say("answer: " + answer.error);
  if (was_stopped) say("stopped");
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
  const auto width = static_cast<std::size_t>(std::max(context_.out.width(), 20));
  context_.out.print(context_.out.dim(wrapped(line, width)) + "\n");
}

}  // namespace vitrine::cli
