#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace vitrine::cli {

// One flag or positional as it is being described; a handle on what the command's parser owns.
class Flag {
 public:
  explicit Flag(CLI::Option& option) : option_(&option) {}
  Flag required() const;
  Flag positive() const;      // 0 and below are refused
  Flag not_negative() const;  // below 0 is refused
  Flag between(int lowest, int highest) const;
  Flag one_of(const std::vector<std::string>& words) const;
  Flag words(int fewest, int most) const;  // of a positional
  Flag with_commas() const;                // 1,2,3 is three values
  Flag one_each() const;                   // of a flag that may be repeated: one word follows it each time
  Flag shows_default() const;
  Flag group(const std::string& title) const;  // a heading in --help; "" hides the flag
  Flag type_name(const std::string& name) const;
  Flag append_help(const std::string& text) const;

 private:
  CLI::Option* option_;
};

// What a command line offers, for completion scripts.
struct FlagInfo {
  std::vector<std::string> names;  // as they are typed: "--ctx", "-c"; empty for a positional
  std::string positional;          // the name of a positional
  std::string help;
  bool takes_value = false;
};
struct CommandInfo {
  std::string name;
  std::string help;
  std::vector<FlagInfo> flags;
  std::vector<CommandInfo> commands;
};

// Describes the flags of one command. Commands use this instead of the parser library, which costs ten seconds of
// compilation in every file that touches it. Values are bound by reference and set during parsing.
class Parser {
 public:
  explicit Parser(CLI::App& app) : app_(&app) {}

  // names: "-c,--ctx,--ctx-size", or a bare word for a positional.
  Flag add(const std::string& names, std::string& value, const std::string& help) const;
  Flag add(const std::string& names, std::optional<std::string>& value, const std::string& help) const;
  Flag add(const std::string& names, std::vector<std::string>& values, const std::string& help) const;
  Flag add(const std::string& names, std::size_t& value, const std::string& help) const;
  Flag add(const std::string& names, std::optional<std::size_t>& value, const std::string& help) const;
  Flag add(const std::string& names, std::vector<std::size_t>& values, const std::string& help) const;
  // A flag without a value.
  Flag add_switch(const std::string& names, bool& value, const std::string& help) const;
  Flag add_switch(const std::string& names, const std::function<void()>& action, const std::string& help) const;
  // A flag whose value goes to a function, which may throw base::Exception.
  Flag add_function(const std::string& names, const std::function<void(const std::string&)>& take,
                    const std::string& help) const;
  // The same of a flag that may be repeated: one word follows it each time.
  Flag add_each_function(const std::string& names, const std::function<void(const std::string&)>& take,
                         const std::string& help) const;
  Flag find(const std::string& name) const;
  // Flags of this command that the command line leaves out may be set by the environment (PREFIX_PORT for --port), and
  // those that it leaves out too by the TOML file that the flag `name` names.
  Flag add_settings_file(const std::string& name, const std::string& prefix, const std::string& help) const;

  // A command below this one, which must then be given one. The common flags are those of the command above.
  Parser add_command(const std::string& name, const std::string& help) const;
  bool was_given() const;

 private:
  CLI::App* app_;
};

// The parser of the whole command line.
class RootParser {
 public:
  RootParser(const std::string& about, const std::string& version);
  ~RootParser();
  RootParser(const RootParser&) = delete;
  RootParser& operator=(const RootParser&) = delete;

  // For flags that stand before a command. Lives no longer than this.
  Parser top() const { return Parser(*app_); }
  Parser add_command(const std::string& name, const std::string& help, const std::string& group,
                     const std::string& footer);

  // The name of the command that `words` (without the program's name) choose; nothing where they asked for help or the
  // version, which is printed then. Throws base::Exception: kUsage with the nearest right word, kConfig for a value
  // from elsewhere.
  std::optional<std::string> parse(std::vector<std::string> words);

  CommandInfo describe() const;

 private:
  bool parse_words(std::vector<std::string> words);

  std::unique_ptr<CLI::App> app_;
};

}  // namespace vitrine::cli
