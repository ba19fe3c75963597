#include "vitrine/parser.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/result.h"
#include "base/suggest.h"
#include "settings/settings_file.h"

namespace vitrine::cli {
namespace {

constexpr std::size_t kHelpColumn = 38;  // where --help explains a flag
constexpr long long kNoLimit = 9'000'000'000'000'000'000;

std::string range_text(long long lowest, long long highest) {
  return highest == kNoLimit ? fmt::format("{} or more", lowest) : fmt::format("{} to {}", lowest, highest);
}

// The library's own checks speak of ranges up to 1e308.
CLI::Validator integer_in(long long lowest, long long highest) {
  const auto check = [lowest, highest](const std::string& text) -> std::string {
    long long value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_integer = code == std::errc() && end == text.data() + text.size();
    if (is_integer && value >= lowest && value <= highest) return "";
    return fmt::format("{} is not an integer of {}", text, range_text(lowest, highest));
  };
  return {check, range_text(lowest, highest)};
}

// The deepest command that the words name so far.
const CLI::App& chosen(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : chosen(*parsed.back());
}

std::string full_name(const CLI::App& app) {
  if (app.get_parent() == nullptr) return app.get_name();
  return full_name(*app.get_parent()) + " " + app.get_name();
}

FlagInfo describe_flag(const CLI::Option& option) {
  FlagInfo info;
  info.help = option.get_description();
  info.takes_value = option.get_items_expected_max() > 0;
  for (const std::string& name : option.get_lnames())
    info.names.push_back("--" + name);
  for (const std::string& name : option.get_snames())
    info.names.push_back("-" + name);
  if (option.get_positional()) info.positional = option.get_name(true);
  return info;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (std::string& name : describe_flag(*option).names)
      names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr))
    names.push_back(command->get_name());
  return names;
}

base::Error unexpected_word(const CLI::App& app, const std::string& word) {
  const bool is_flag = word.starts_with("-");
  const bool is_command = !is_flag && !command_names(app).empty();
  const std::string bare = word.substr(0, is_flag ? word.find('=') : word.size());
  const auto near = base::nearest(bare, is_flag ? flag_names(app) : command_names(app));
  const std::string fix = near ? fmt::format("did you mean {}?", *near) : fmt::format("see {} --help", full_name(app));
  const char* what = is_flag ? "flag" : is_command ? "command" : "argument";
  if (!is_flag && !is_command) {
    return base::usage_error(
        fmt::format("{}: one argument too many for '{}'; put text with spaces in quotes", bare, full_name(app)));
  }
  return base::usage_error(fmt::format("{}: no such {} of '{}'; {}", bare, what, full_name(app), fix));
}

// A parser's refusal as an error with the nearest right word.
base::Error explain_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = chosen(app);
  const auto remaining = command.remaining();
  // A word that fits nowhere is the likeliest reason for a missing one too.
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const bool is_missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if ((is_extra || is_missing) && !remaining.empty()) return unexpected_word(command, remaining.front());
  if (is_missing && command.get_parent() == nullptr) return base::usage_error("no command given; see vitrine --help");
  std::string reason = error.what();
  while (!reason.empty() && (reason.back() == '\n' || reason.back() == '.'))
    reason.pop_back();
  return base::usage_error(fmt::format("{}: {}; see {} --help", command.get_name(), reason, full_name(command)));
}

// A value that does not come from the command line, as a word for it.
struct Setting {
  std::string flag;    // "--port"
  std::string origin;  // the file, or the name of the variable
  std::string word;    // "--port=8080"
};

std::string long_name(const CLI::Option& option) {
  return option.get_lnames().empty() ? "" : option.get_lnames().front();
}

std::string variable_name(const std::string& prefix, std::string flag) {
  std::ranges::transform(flag, flag.begin(), [](unsigned char c) { return c == '-' ? '_' : std::toupper(c); });
  return prefix + "_" + flag;
}

// Those options of a command that have a long name, but for the ones about the command line itself.
std::vector<const CLI::Option*> settable_options(const CLI::App& command) {
  std::vector<const CLI::Option*> settable;
  for (const CLI::Option* option : command.get_options()) {
    const bool is_meta = option == command.get_config_ptr() || option == command.get_help_ptr();
    if (!is_meta && !option->get_lnames().empty()) settable.push_back(option);
  }
  return settable;
}

class SettingsReader {
 public:
  explicit SettingsReader(const CLI::App& command) : command_(command), config_(command.get_config_ptr()) {}

  // Of the options that the command line leaves out.
  std::vector<Setting> read() {
    if (config_ == nullptr) return {};
    const std::string variable = config_->get_envname();  // the library has looked at it
    const std::string prefix = variable.substr(0, variable.rfind('_'));
    if (config_->count() > 0) file_ = config_->as<std::string>();
    if (!file_.empty()) values_ = settings::read_settings(file_);
    check_names();
    for (const CLI::Option* option : settable_options(command_)) {
      if (option->count() == 0) read_option(*option, prefix);
    }
    return std::move(settings_);
  }

 private:
  void check_names() const {
    for (const auto& [name, values] : values_) {
      const auto is_named = [&](const CLI::Option* option) { return option->check_lname(name); };
      if (std::ranges::any_of(settable_options(command_), is_named)) continue;
      const auto near = base::nearest("--" + name, flag_names(command_));
      const std::string fix = near ? fmt::format("; did you mean {}?", near->substr(near->rfind("--") + 2)) : "";
      throw base::Exception(base::ErrorKind::kConfig, fmt::format("{}: {}: no such setting{}", file_, name, fix));
    }
  }

  void read_option(const CLI::Option& option, const std::string& prefix) {
    const std::string flag = long_name(option);
    const std::string variable = variable_name(prefix, flag);
    if (const char* value = std::getenv(variable.c_str())) {
      add(flag, variable, value);
      return;
    }
    for (const auto& [name, values] : values_) {
      if (!option.check_lname(name)) continue;
      for (const std::string& value : values)
        add(flag, file_, value);
    }
  }

  void add(const std::string& flag, const std::string& origin, const std::string& value) {
    settings_.push_back({"--" + flag, origin, fmt::format("--{}={}", flag, value)});
  }

  const CLI::App& command_;
  const CLI::Option* config_;  // null: the command takes its values from the command line alone
  std::string file_;
  std::map<std::string, std::vector<std::string>> values_;  // of the file
  std::vector<Setting> settings_;
};

// What a word that came from a setting is refused for, with the setting's origin.
base::Exception refuse_settings(const std::vector<Setting>& settings, const std::string& reason) {
  const auto is_meant = [&](const Setting& setting) { return reason.find(setting.flag) != std::string::npos; };
  const auto found = std::ranges::find_if(settings, is_meant);
  const std::string& origin = found != settings.end() ? found->origin : settings.front().origin;
  return {base::ErrorKind::kConfig, fmt::format("{}: {}", origin, reason)};
}

CommandInfo describe_command(const CLI::App& app) {
  CommandInfo info{app.get_name(), app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options())
    info.flags.push_back(describe_flag(*option));
  for (const CLI::App* command : app.get_subcommands(nullptr))
    info.commands.push_back(describe_command(*command));
  return info;
}

}  // namespace

Flag Flag::required() const {
  option_->required();
  return *this;
}
Flag Flag::positive() const {
  option_->check(integer_in(1, kNoLimit));
  return *this;
}
Flag Flag::not_negative() const {
  option_->check(integer_in(0, kNoLimit));
  return *this;
}
Flag Flag::between(int lowest, int highest) const {
  option_->check(integer_in(lowest, highest));
  return *this;
}
Flag Flag::one_of(const std::vector<std::string>& words) const {
  option_->check(CLI::IsMember(words));
  return *this;
}
Flag Flag::words(int fewest, int most) const {
  option_->expected(fewest, most);
  return *this;
}
Flag Flag::with_commas() const {
  option_->delimiter(',');
  return *this;
}
Flag Flag::one_each() const {
  option_->allow_extra_args(false);
  return *this;
}
Flag Flag::shows_default() const {
  option_->capture_default_str();
  return *this;
}
Flag Flag::group(const std::string& title) const {
  option_->group(title);
  return *this;
}
Flag Flag::type_name(const std::string& name) const {
  option_->type_name(name);
  return *this;
}
Flag Flag::append_help(const std::string& text) const {
  option_->description(option_->get_description() + text);
  return *this;
}

Flag Parser::add(const std::string& names, std::string& value, const std::string& help) const {
  return Flag(*app_->add_option(names, value, help));
}
Flag Parser::add(const std::string& names, std::optional<std::string>& value, const std::string& help) const {
  return Flag(*app_->add_option(names, value, help));
}
Flag Parser::add(const std::string& names, std::vector<std::string>& values, const std::string& help) const {
  return Flag(*app_->add_option(names, values, help));
}
Flag Parser::add(const std::string& names, std::size_t& value, const std::string& help) const {
  return Flag(*app_->add_option(names, value, help));
}
Flag Parser::add(const std::string& names, std::optional<std::size_t>& value, const std::string& help) const {
  return Flag(*app_->add_option(names, value, help));
}
Flag Parser::add(const std::string& names, std::vector<std::size_t>& values, const std::string& help) const {
  return Flag(*app_->add_option(names, values, help));
}
Flag Parser::add_switch(const std::string& names, bool& value, const std::string& help) const {
  return Flag(*app_->add_flag(names, value, help));
}
Flag Parser::add_switch(const std::string& names, const std::function<void()>& action, const std::string& help) const {
  return Flag(*app_->add_flag_callback(names, action, help));
}
Flag Parser::add_function(const std::string& names, const std::function<void(const std::string&)>& take,
                          const std::string& help) const {
  return Flag(*app_->add_option_function<std::string>(names, take, help));
}
Flag Parser::add_each_function(const std::string& names, const std::function<void(const std::string&)>& take,
                               const std::string& help) const {
  const auto take_all = [take](const std::vector<std::string>& words) { std::ranges::for_each(words, take); };
  return Flag(*app_->add_option_function<std::vector<std::string>>(names, take_all, help)).one_each();
}
Flag Parser::add_settings_file(const std::string& name, const std::string& prefix, const std::string& help) const {
  CLI::Option* option = app_->set_config(name, "", help);
  option->envname(prefix + "_CONFIG");
  return Flag(*option);
}
Flag Parser::find(const std::string& name) const {
  return Flag(*app_->get_option(name));
}

Parser Parser::add_command(const std::string& name, const std::string& help) const {
  app_->require_subcommand(1);
  CLI::App* command = app_->add_subcommand(name, help);
  command->fallthrough();
  return Parser(*command);
}
bool Parser::was_given() const {
  return app_->parsed();
}

RootParser::RootParser(const std::string& about, const std::string& version)
    : app_(std::make_unique<CLI::App>(about, "vitrine")) {
  app_->set_version_flag("--version", version, "Print the version");
  app_->set_help_flag("-h,--help", "Print this help");
  app_->require_subcommand(1);
  app_->footer("vitrine COMMAND --help shows the flags and two examples of a command.");
  app_->get_formatter()->column_width(kHelpColumn);
}

RootParser::~RootParser() = default;

Parser RootParser::add_command(const std::string& name, const std::string& help, const std::string& group,
                               const std::string& footer) {
  CLI::App* command = app_->add_subcommand(name, help);
  command->group(group);
  command->footer(footer);
  command->get_formatter()->column_width(kHelpColumn);
  return Parser(*command);
}

// False where they asked for help or the version.
bool RootParser::parse_words(std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());  // the library takes them from the back
  try {
    app_->parse(std::move(words));
  } catch (const CLI::Success& success) {  // --help, --version
    app_->exit(success);
    return false;
  } catch (const CLI::ParseError& error) {
    throw base::Exception(explain_parse_error(*app_, error));
  }
  return true;
}

std::optional<std::string> RootParser::parse(std::vector<std::string> words) {
  if (!parse_words(words)) return std::nullopt;
  const CLI::App& command = *app_->get_subcommands().front();
  std::string name = command.get_name();
  const std::vector<Setting> settings = SettingsReader(command).read();
  if (settings.empty()) return name;
  auto place = std::ranges::find(words, name) + 1;
  for (const Setting& setting : settings)
    place = words.insert(place, setting.word) + 1;
  try {
    parse_words(std::move(words));
  } catch (const base::Exception& exception) {
    throw refuse_settings(settings, exception.what());
  }
  return name;
}

CommandInfo RootParser::describe() const {
  return describe_command(*app_);
}

}  // namespace vitrine::cli
