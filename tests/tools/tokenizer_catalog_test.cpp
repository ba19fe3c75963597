#include "tools/hub/tokenizer_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/hub/catalog.h"
#include "tools/hub/model_name.h"
#include "tools/hub/store.h"

namespace vitrine::hub {
namespace {

using ::testing::HasSubstr;

std::string tokenizer_row(const std::string& changes) {
  return "[[tokenizer]]\nname = \"a\"\nabout = \"x\"\nlicence = \"MIT\"\n" + changes;
}
const std::string kFile =
    "files = [{ member = \"m\", name = \"n\", bytes = 1, sha256 = \"" + std::string(64, '0') + "\" }]\n";

TEST(TokenizerCatalog, TheBuiltInOneIsValidAndShowsTheTermsItMust) {
  const auto tokenizers = parse_tokenizers(builtin_tokenizers_toml());
  ASSERT_TRUE(tokenizers) << tokenizers.error().message;
  EXPECT_EQ(tokenizers->size(), 20U);
  for (const TokenizerEntry& entry : *tokenizers) {
    if (entry.licence.find("Gemma") != std::string::npos || entry.licence.find("Llama") != std::string::npos) {
      EXPECT_FALSE(entry.notice.empty()) << entry.name;
    }
    if (!entry.model.empty()) {
      EXPECT_NE(find_entry(builtin_catalog(), entry.model), nullptr) << entry.name;
    }
    EXPECT_TRUE(is_tokenizer_name(entry.full_name()));
    EXPECT_EQ(find_tokenizer(entry.full_name())->name, entry.name);
  }
  EXPECT_EQ(find_tokenizer("llama3_1"), nullptr);
}

TEST(TokenizerCatalog, KnowsEachKindOfPackage) {
  for (const auto& [package, kind] :
       std::initializer_list<std::pair<const char*, PackageKind>>{{"npm:@a/b@1.0.0", PackageKind::kNpm},
                                                                  {"pip:a==1", PackageKind::kWheel},
                                                                  {"pip-source:a==1", PackageKind::kSource}}) {
    const auto parsed = parse_tokenizers(tokenizer_row("package = \"" + std::string(package) + "\"\n" + kFile));
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->front().kind, kind);
    EXPECT_EQ(parsed->front().bytes(), 1U);
  }
}

TEST(TokenizerCatalog, FaultsNameTheTokenizerAndTheField) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {tokenizer_row(""), "a: source"},
      {tokenizer_row("model = \"m\"\n" + kFile), "a: source"},
      {tokenizer_row(kFile), "a: package"},
      {tokenizer_row("package = \"npm:@a/b\"\n" + kFile), "a: package"},
      {tokenizer_row("package = \"pip:a==1\"\nfiles = [{ member = \"../m\", name = \"n\" }]\n"), "a: files"},
      {tokenizer_row("model = \"m\"\n") + tokenizer_row("model = \"m\"\n"), "a: listed twice"},
      {"tokenizer = 3\n", "no [[tokenizer]]"},
      {"[[tokenizer", "line 1"},
  };
  for (const auto& [text, wanted] : cases) {
    const auto parsed = parse_tokenizers(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, base::ErrorKind::kConfig);
    EXPECT_THAT(parsed.error().message, HasSubstr(wanted));
  }
}

TEST(TokenizerCatalog, TheStoreKeepsTokenizersApartFromModels) {
  EXPECT_EQ(store_key("tok:llama2"), "tok=llama2");
  EXPECT_FALSE(is_tokenizer_name("tok:"));
  EXPECT_FALSE(is_tokenizer_name("tok:../x"));
  EXPECT_FALSE(is_model_name("tok:llama2"));
}

}  // namespace
}  // namespace vitrine::hub
