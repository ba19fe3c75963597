#include "settings/settings_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result.h"

namespace vitrine::settings {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal_of(std::string_view text) {
  try {
    read_settings_text(text, "serve.toml");
  } catch (const base::Exception& exception) {
    EXPECT_EQ(exception.error().kind, base::ErrorKind::kConfig);
    return exception.what();
  }
  return "";
}

TEST(SettingsText, HasEachValueAsACommandLineWouldWriteIt) {
  const auto settings = read_settings_text(R"(
port = 8080
top-p = 0.5
strict = true
host = "localhost"
model = ["a", "b"]
alias = { small = "a", "large one" = "b" }
empty = []
)",
                                           "serve.toml");
  EXPECT_THAT(settings.at("port"), ElementsAre("8080"));
  EXPECT_THAT(settings.at("top-p"), ElementsAre("0.5"));
  EXPECT_THAT(settings.at("strict"), ElementsAre("true"));
  EXPECT_THAT(settings.at("host"), ElementsAre("localhost"));
  EXPECT_THAT(settings.at("model"), ElementsAre("a", "b"));
  EXPECT_THAT(settings.at("alias"), ElementsAre("large one=b", "small=a"));
  EXPECT_THAT(settings.at("empty"), ElementsAre());
}

TEST(SettingsText, ARefusalNamesFileLineAndSetting) {
  EXPECT_THAT(refusal_of("port = 1\nwhen = 2025-01-01\n"), HasSubstr("serve.toml: line 2: when: must be"));
  EXPECT_THAT(refusal_of("a = [[1]]"), HasSubstr("line 1: a: must be"));
  EXPECT_THAT(refusal_of("port = 1\nport = 2\n"), HasSubstr("serve.toml: line 2"));
  EXPECT_THAT(refusal_of("port ="), HasSubstr("serve.toml: line 1"));
  EXPECT_THAT(refusal_of("a = \"\xFF\""), HasSubstr("serve.toml: line 1"));
}

}  // namespace
}  // namespace vitrine::settings
