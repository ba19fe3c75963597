#include "vitrine/line_editor.h"

#include <fcntl.h>
#include <histedit.h>
#include <langinfo.h>
#include <sys/stat.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <optional>
#include <string_view>

#include "vitrine/interrupt.h"
#include "vitrine/keyboard.h"

namespace vitrine::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrompt = ">>> ";
constexpr const char* kMorePrompt = "... ";
constexpr std::string_view kBlockMark = "\"\"\"";
constexpr int kMaxHistoryLines = 1000;

// The editor counts characters by the locale; one that knows bytes alone would cut them.
void use_utf8_locale() {
  std::setlocale(LC_CTYPE, "");
  if (std::string_view(::nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
}

// False where the file can't be had: then the history lasts as long as the process.
bool make_private_file(const fs::path& path) {
  if (path.empty()) return false;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0) return false;
  const bool is_private = ::fchmod(descriptor, S_IRUSR | S_IWUSR) == 0;
  ::close(descriptor);
  return is_private;
}

bool goes_on(const std::string& line) {
  return line.ends_with('\\');
}

}  // namespace

struct LineEditor::Parts {
  EditLine* line = nullptr;
  History* history = nullptr;
  HistEvent event{};
  const char* prompt = kPrompt;
  std::optional<Keyboard> keyboard;

  static char* prompt_of(EditLine* line) {
    Parts* parts = nullptr;
    ::el_get(line, EL_CLIENTDATA, &parts);
    return const_cast<char*>(parts->prompt);
  }
};

LineEditor::LineEditor(fs::path history_path)
    : history_path_(std::move(history_path)), parts_(std::make_unique<Parts>()) {
  use_utf8_locale();
  parts_->line = ::el_init("vitrine", stdin, stdout, stderr);
  parts_->history = ::history_init();
  ::history(parts_->history, &parts_->event, H_SETSIZE, kMaxHistoryLines);
  ::history(parts_->history, &parts_->event, H_SETUNIQUE, 1);
  ::el_set(parts_->line, EL_CLIENTDATA, parts_.get());
  ::el_set(parts_->line, EL_PROMPT, &Parts::prompt_of);
  ::el_set(parts_->line, EL_EDITOR, "emacs");
  ::el_set(parts_->line, EL_SIGNAL, 0);
  ::el_set(parts_->line, EL_HIST, ::history, parts_->history);
  parts_->keyboard.emplace(parts_->line);
  if (!make_private_file(history_path_)) history_path_.clear();
  if (!history_path_.empty()) ::history(parts_->history, &parts_->event, H_LOAD, history_path_.c_str());
}

LineEditor::~LineEditor() {
  ::history_end(parts_->history);
  ::el_end(parts_->line);
}

LineEditor::Input LineEditor::read_line(const char* prompt) {
  parts_->prompt = prompt;
  const Keyboard::Editing editing(parts_->line);
  int length = 0;
  const char* typed = ::el_gets(parts_->line, &length);
  if (InterruptScope().take()) {
    const LineInfo* info = ::el_line(parts_->line);
    const bool was_empty = info->lastchar == info->buffer;
    ::el_reset(parts_->line);
    return {was_empty ? Outcome::kInterrupted : Outcome::kCleared, "", false};
  }
  if (typed == nullptr || length <= 0) return {Outcome::kEnd, "", false};
  std::string text(typed, static_cast<std::size_t>(length));
  while (text.ends_with('\n') || text.ends_with('\r'))
    text.pop_back();
  return {Outcome::kText, std::move(text), false};
}

// `first` begins with the mark.
LineEditor::Input LineEditor::read_block(const Input& first) {
  std::string text = first.text.substr(kBlockMark.size());
  while (!text.ends_with(kBlockMark)) {
    const Input next = read_line(kMorePrompt);
    // Ctrl-C in an empty line of a block gives up the block, not the session.
    if (next.outcome != Outcome::kText)
      return {next.outcome == Outcome::kEnd ? Outcome::kEnd : Outcome::kCleared, "", false};
    if (!text.empty()) text += '\n';
    text += next.text;
  }
  text.resize(text.size() - kBlockMark.size());
  if (text.ends_with('\n')) text.pop_back();
  return {Outcome::kText, std::move(text), true};
}

LineEditor::Input LineEditor::read() {
  Input input = read_line(kPrompt);
  if (input.outcome != Outcome::kText) return input;
  if (input.text.starts_with(kBlockMark)) {
    input = read_block(input);
  } else {
    while (goes_on(input.text)) {
      const Input next = read_line(kMorePrompt);
      if (next.outcome != Outcome::kText) return {Outcome::kCleared, "", false};
      input.text.back() = '\n';
      input.text += next.text;
    }
  }
  if (input.outcome == Outcome::kText) remember(input.text);
  return input;
}

void LineEditor::remember(const std::string& text) {
  if (text.find_first_not_of(" \t\n") == std::string::npos) return;
  ::history(parts_->history, &parts_->event, H_ENTER, text.c_str());
  if (!history_path_.empty()) ::history(parts_->history, &parts_->event, H_SAVE, history_path_.c_str());
}

}  // namespace vitrine::cli
