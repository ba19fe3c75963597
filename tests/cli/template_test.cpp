// `vitrine template`.

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/run_vitrine.h"
#include "support/temp_dir.h"

namespace vitrine::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using OrderedJson = nlohmann::ordered_json;

class TemplateTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    const fs::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  std::string write_messages() const { return write("messages.json", R"([{"role": "user", "content": "hi"}])"); }

  TempDir temp_;
  fs::path folder_ = temp_.path();
};

constexpr const char* kTemplate =
    "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    "{{ tools | length if tools else '' }}{% if thinking %}!{% endif %}{% if add_generation_prompt %}<assistant>{% "
    "endif %}";

TEST_F(TemplateTest, RendersAJinjaFile) {
  const std::string source = write("t.jinja", kTemplate);
  const RunResult result = run_vitrine({"template", source, "--messages", write_messages(), "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(OrderedJson::parse(result.out), (OrderedJson{{"text", "<user>hi<assistant>"}, {"ids", nullptr}}));
}

TEST_F(TemplateTest, TakesToolsOptionsAndSpecialTokensFromFiles) {
  const std::string source = write("t.jinja", kTemplate);
  const RunResult result =
      run_vitrine({"template", source, "--messages", write_messages(), "--tools", write("tools.json", "[{}, {}]"),
                   "--options", write("options.json", R"({"thinking": true, "add_generation_prompt": false})"),
                   "--special-tokens", write("special.json", R"({"bos_token": "<s>"})")});
  EXPECT_EQ(result.out, "<s><user>hi2!") << result.err;
}

TEST_F(TemplateTest, ReadsATokenizerConfig) {
  const OrderedJson config = {{"bos_token", {{"content", "<s>"}}}, {"chat_template", kTemplate}};
  const RunResult result = run_vitrine({"template", write("tokenizer_config.json", config.dump()), "--messages",
                                        write_messages(), "--no-generation-prompt"});
  EXPECT_EQ(result.out, "<s><user>hi") << result.err;
}

TEST_F(TemplateTest, NowIsTheTimeOfStrftimeNow) {
  const std::string source = write("t.jinja", "{{ strftime_now('%d %B %Y %H:%M') }}");
  const RunResult result =
      run_vitrine({"template", source, "--messages", write_messages(), "--now", "2025-03-14T15:09:26"});
  EXPECT_EQ(result.out, "14 March 2025 15:09") << result.err;
}

TEST_F(TemplateTest, AFaultyFileIsRefusedByName) {
  const std::string good = write("t.jinja", kTemplate);
  const std::string endless = write("endless.jinja", "{% macro x() %}{{ x() }}{% endmacro %}{{ x() }}");
  const std::string messages = write_messages();
  const std::string broken = write("broken.json", "[");
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"template", endless, "--messages", messages},
                                             {"template", good, "--messages", broken},
                                             {"template", broken, "--messages", messages},
                                             {"template", good, "--messages", messages, "--tools", broken}}) {
    const RunResult result = run_vitrine(words);
    EXPECT_EQ(result.exit_code, 65) << result.err;
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(run_vitrine({"template", good, "--messages", (folder_ / "none.json").string()}).exit_code, 66);
}

}  // namespace
}  // namespace vitrine::testing
