#include "vitrine/parser.h"

#include <charconv>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace vitrine::cli {
namespace {

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

}  // namespace vitrine::cli
