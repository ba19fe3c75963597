#include "tools/hub/catalog.h"

#include <gtest/gtest.h>

#include "tools/hub/model_name.h"

namespace vitrine::hub {
namespace {

std::string row(const std::string& changes) {
  return "[[model]]\nname = \"a\"\nabout = \"x\"\nlicence = \"MIT\"\nparameters = 1\nbytes = 1\ncontext = 1\n" +
         changes;
}

TEST(Catalog, TheBuiltInOneIsValid) {
  const auto catalog = parse_catalog(builtin_catalog_toml());
  ASSERT_TRUE(catalog) << catalog.error().message;
  EXPECT_GE(catalog->size(), 15U);
  for (const CatalogEntry& entry : *catalog) {
    // Terms that have to be passed on are shown before the download.
    if (entry.licence.find("Gemma") != std::string::npos || entry.licence.find("Llama") != std::string::npos) {
      EXPECT_FALSE(entry.notice.empty()) << entry.name;
    }
  }
}

TEST(Catalog, KnowsTheTwoModelsThatComeAsPackages) {
  const auto catalog = builtin_catalog();
  const CatalogEntry* smollm = find_entry(catalog, "smollm2-135m-instruct");
  const CatalogEntry* gemma = find_entry(catalog, "gemma-3-270m");
  ASSERT_NE(smollm, nullptr);
  ASSERT_NE(gemma, nullptr);
  EXPECT_EQ(smollm->packages.size(), 1U);
  EXPECT_EQ(gemma->packages.size(), 4U);
  EXPECT_EQ(find_entry(catalog, "smollm2-135m"), nullptr);
}

TEST(Catalog, AnEntryWithOneSourceIsAccepted) {
  const auto catalog = parse_catalog(row("hub = \"org/repo\"\n"));
  ASSERT_TRUE(catalog) << catalog.error().message;
  EXPECT_EQ(catalog->front().hub, "org/repo");
}

TEST(Catalog, FaultsNameTheModelAndTheField) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {row(""), "a: source"},
      {row("hub = \"org\"\n"), "a: hub"},
      {row("hub = \"o/r\"\nsha256 = \"12\"\n"), "a: sha256"},
      {row("packages = [{ package = \"p\", file = \"f\", bytes = 1 }]\n"), "a: packages"},
      {row("packages = [{ package = \"p==1\", file = \"f\", bytes = 1 }]\n"), "a: sha256: missing"},
      {row("hub = \"o/r\"\n") + row("hub = \"o/r\"\n"), "a: listed twice"},
      {"[[model]]\nname = \"../a\"\n", "../a: name"},
      {"model = 3\n", "no [[model]]"},
      {"[[model", "line 1"},
  };
  for (const auto& [text, wanted] : cases) {
    const auto catalog = parse_catalog(text);
    ASSERT_FALSE(catalog) << text;
    EXPECT_EQ(catalog.error().kind, base::ErrorKind::kConfig);
    EXPECT_NE(catalog.error().message.find(wanted), std::string::npos) << catalog.error().message;
  }
}

TEST(ModelName, OnlyPlainNamesAreNames) {
  for (const char* good : {"a", "gemma-3-270m", "Qwen3_0.6B", "3b"})
    EXPECT_TRUE(is_model_name(good)) << good;
  for (const char* bad : {"", ".", "..", ".hidden", "-rf", "a/b", "a b", "a\\b", "a\nb", "\xC3\xA4"}) {
    EXPECT_FALSE(is_model_name(bad)) << bad;
  }
  EXPECT_FALSE(is_model_name(std::string(129, 'a')));
}

TEST(ModelName, AnyTextMakesAName) {
  EXPECT_EQ(make_model_name("My Model (v2)"), "My-Model--v2-");
  EXPECT_EQ(make_model_name("../../etc"), "etc");
  EXPECT_EQ(make_model_name("\xE6\x97\xA5"), "model");
  EXPECT_EQ(make_model_name(""), "model");
}

TEST(HubSpec, IsParsedIntoItsParts) {
  const auto spec = parse_hub_spec("hf:Qwen/Qwen3-0.6B-GGUF:sub/file.gguf");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->repo_id(), "Qwen/Qwen3-0.6B-GGUF");
  EXPECT_EQ(spec->file, "sub/file.gguf");
  EXPECT_EQ(spec->text(), "hf:Qwen/Qwen3-0.6B-GGUF:sub/file.gguf");
}

TEST(HubSpec, PathsThatLeaveTheRepositoryAreRefused) {
  for (const char* bad : {"hf:", "hf:a", "hf:a/", "hf:/a", "hf:a/b/c", "hf:../b", "hf:a/b:", "hf:a/b:../x",
                          "hf:a/b:x/../y", "hf:a/b:/x", "hf:a/b:x//y", "hf:a/b?x", "a/b"}) {
    EXPECT_FALSE(parse_hub_spec(bad)) << bad;
  }
}

}  // namespace
}  // namespace vitrine::hub
