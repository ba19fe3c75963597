#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "vitrine/answer.h"
#include "vitrine/command.h"
#include "vitrine/conversation.h"
#include "vitrine/interrupt.h"
#include "vitrine/line_editor.h"

namespace vitrine::cli {

// The interactive conversation of chat: reads lines, answers them, and obeys what begins with a slash. Keys and values
// of earlier turns stay in the engine's prefix cache, so that each turn reads its own text only. Everything referred to
// must outlive it; used by one thread.
class ChatSession {
 public:
  struct Settings {
    AnswerOptions answer;
    bool show_stats = false;  // after every answer
  };

  ChatSession(const Context& context, Runtime& runtime, Conversation& conversation, Settings settings);

  // Until the person leaves; the exit code.
  int run();

 private:
  // False: leave.
  bool take(const LineEditor::Input& input);
  bool obey(std::string_view line);
  bool leaves(LineEditor::Outcome outcome);
  void help() const;
  void show_last_stats() const;
  void save_or_load(std::string_view name, std::string_view path);
  void ask(const std::string& text);
  std::optional<Answer> answer();
  void keep(Answer answer);
  void say_full(std::size_t num_tokens) const;
  void say(std::string_view line) const;

  const Context& context_;
  Runtime& runtime_;
  Conversation& conversation_;
  Settings settings_;
  InterruptScope interrupt_;
  LineEditor editor_;
  bool was_interrupted_ = false;  // by the last key
  std::optional<Answer> last_answer_;
};

}  // namespace vitrine::cli
