#include "vitrine/keyboard.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "vitrine/interrupt.h"
#include "vitrine/terminal.h"

namespace vitrine::cli {
namespace {

constexpr std::string_view kPasteOn = "\033[?2004h";
constexpr std::string_view kPasteOff = "\033[?2004l";
constexpr std::wstring_view kPasteEnd = L"\033[201~";
constexpr std::size_t kPromptColumns = 4;
// A signal between looking at its flag and waiting for a key is seen after this time.
constexpr int kMaxWaitMs = 500;

struct Binding {
  const char* keys;
  const char* action;
};

constexpr std::array kBindings = std::to_array<Binding>({
    {"^R", "em-inc-search-prev"},
    {"\\e[200~", "vitrine-paste"},
    {"\\e^M", "vitrine-newline"},  // Alt-Enter, and as a terminal that maps CR to LF hands it on
    {"\\e^J", "vitrine-newline"},
    {"\\e[3~", "ed-delete-next-char"},
    {"\\e[1~", "ed-move-to-beg"},
    {"\\e[H", "ed-move-to-beg"},
    {"\\eOH", "ed-move-to-beg"},
    {"\\e[4~", "ed-move-to-end"},
    {"\\e[F", "ed-move-to-end"},
    {"\\eOF", "ed-move-to-end"},
    {"\\e[1;3C", "em-next-word"},
    {"\\e[1;5C", "em-next-word"},
    {"\\e[1;3D", "ed-prev-word"},
    {"\\e[1;5D", "ed-prev-word"},
});

// What signal handlers reach.
std::atomic<bool> width_changed{false};
std::atomic<bool> stop_requested{false};
termios first_modes{};
std::atomic<bool> has_first_modes{false};
std::atomic<bool> brackets_paste{false};

void on_signal(int signal) {
  (signal == SIGTSTP ? stop_requested : width_changed).store(true);
}

void set_action(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

void write_now(std::string_view text) {
  [[maybe_unused]] const ssize_t ignored = ::write(STDOUT_FILENO, text.data(), text.size());
}

void bring_back_modes() {
  if (has_first_modes.load()) ::tcsetattr(STDIN_FILENO, TCSANOW, &first_modes);
}

void leave_at_once() {
  if (brackets_paste.load()) write_now(kPasteOff);
  write_now("\n");
  bring_back_modes();
}

bool terminal_brackets_paste() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

void set_paste_mode(bool is_on) {
  if (!terminal_brackets_paste()) return;
  std::fflush(stdout);
  write_now(is_on ? kPasteOn : kPasteOff);
  brackets_paste.store(is_on);
}

// Rows between the first one of the edited line and the cursor, once the terminal has wrapped it anew.
std::size_t num_rows_above_cursor(EditLine* line, std::size_t width) {
  std::size_t num_rows = 0;
  std::size_t column = kPromptColumns;
  const LineInfoW* info = ::el_wline(line);
  for (const wchar_t* c = info->buffer; c < info->cursor; ++c) {
    column += *c == L'\n' ? 0 : static_cast<std::size_t>(std::max(::wcwidth(*c), 0));
    if (*c != L'\n' && column < width) continue;
    ++num_rows;
    column = 0;
  }
  return num_rows;
}

void follow_width(EditLine* line) {
  const auto width = static_cast<std::size_t>(Terminal(stdout).width());
  const std::size_t num_rows = num_rows_above_cursor(line, width);
  std::fflush(stdout);
  if (num_rows > 0) write_now(fmt::format("\033[{}A", num_rows));
  write_now("\r\033[J");
  ::el_resize(line);
  ::el_set(line, EL_REFRESH);
}

// Ctrl-Z: the shell gets the terminal as it was, and the line is there again afterwards.
void stop_process(EditLine* line) {
  set_paste_mode(false);
  ::el_set(line, EL_PREP_TERM, 0);
  bring_back_modes();
  set_action(SIGTSTP, SIG_DFL);
  std::raise(SIGTSTP);
  set_action(SIGTSTP, on_signal);
  ::el_set(line, EL_PREP_TERM, 1);
  ::el_resize(line);
  set_paste_mode(true);
  ::el_set(line, EL_REFRESH);
}

// False where Ctrl-C came instead.
bool wait_for_input(EditLine* line) {
  const InterruptScope interrupt;
  while (!interrupt.requested().load()) {
    if (stop_requested.exchange(false)) stop_process(line);
    if (width_changed.exchange(false)) follow_width(line);
    pollfd keys{STDIN_FILENO, POLLIN, 0};
    if (::poll(&keys, 1, kMaxWaitMs) > 0) return true;
  }
  return false;
}

// As libedit wants it: 1 and a character, 0 at the end, -1 where reading failed. Bytes that are not UTF-8 are left out.
int read_character(EditLine* line, wchar_t* result) {
  std::mbstate_t state{};
  while (wait_for_input(line)) {
    char byte = 0;
    const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
    if (count == 0) return 0;
    if (count < 0 && errno != EINTR && errno != EAGAIN) return -1;
    if (count < 0) continue;
    const std::size_t length = std::mbrtowc(result, &byte, 1, &state);
    if (length <= 1) return 1;
    if (length == static_cast<std::size_t>(-1)) state = {};
  }
  return -1;
}

// A terminal sends lines as Enter would, and may send keys that would act on the line.
std::wstring as_text(std::wstring_view pasted) {
  std::wstring text;
  for (std::size_t i = 0; i < pasted.size(); ++i) {
    const bool ends_pair = pasted[i] == L'\n' && i > 0 && pasted[i - 1] == L'\r';
    if (ends_pair) continue;
    const wchar_t c = pasted[i] == L'\r' ? L'\n' : pasted[i];
    if (c == L'\n' || c == L'\t' || (c >= L' ' && c != L'\x7F')) text += c;
  }
  return text;
}

unsigned char paste(EditLine* line, int /*key*/) {
  std::wstring pasted;
  wchar_t character = 0;
  while (!pasted.ends_with(kPasteEnd)) {
    if (::el_wgetc(line, &character) != 1) return CC_ERROR;
    pasted += character;
  }
  const std::wstring text = as_text(std::wstring_view(pasted).substr(0, pasted.size() - kPasteEnd.size()));
  return ::el_winsertstr(line, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
}

unsigned char newline(EditLine* line, int /*key*/) {
  return ::el_winsertstr(line, L"\n") == 0 ? CC_REFRESH : CC_ERROR;
}

}  // namespace

Keyboard::Keyboard(EditLine* line) {
  has_first_modes.store(::tcgetattr(STDIN_FILENO, &first_modes) == 0);
  set_last_act(leave_at_once);
  ::el_set(line, EL_SETTY, "-x", "-icanon", "-echo", nullptr);
  ::el_wset(line, EL_GETCFN, read_character);
  ::el_wset(line, EL_ADDFN, L"vitrine-paste", L"Insert what is pasted", paste);
  ::el_wset(line, EL_ADDFN, L"vitrine-newline", L"Begin a new line", newline);
  for (const Binding& binding : kBindings)
    ::el_set(line, EL_BIND, binding.keys, binding.action, nullptr);
}

Keyboard::~Keyboard() {
  bring_back_modes();
  set_last_act(nullptr);
}

Keyboard::Editing::Editing(EditLine* line) {
  ::el_resize(line);
  set_paste_mode(true);
  set_action(SIGTSTP, on_signal);
  set_action(SIGWINCH, on_signal);
}

Keyboard::Editing::~Editing() {
  set_action(SIGTSTP, SIG_DFL);
  set_action(SIGWINCH, SIG_DFL);
  set_paste_mode(false);
}

}  // namespace vitrine::cli
