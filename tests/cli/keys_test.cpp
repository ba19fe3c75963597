#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/run_vitrine.h"
#include "support/temp_dir.h"

namespace vitrine::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class KeysCommand : public ::testing::Test {
 protected:
  RunResult keys(std::vector<std::string> words) const {
    words.insert(words.begin(), "keys");
    return run_vitrine(words, {"VITRINE_STATE=" + state().string()});
  }
  json keys_json(std::vector<std::string> words) const {
    words.emplace_back("--json");
    const RunResult result = keys(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return json::parse(result.out);
  }
  fs::path state() const { return folder_.path() / "state"; }

  TempDir folder_;
};

constexpr const char* kKeyLine = "sk-[0-9a-z]+-[0-9A-Za-z]+-[0-9A-Za-z]+\n";

TEST_F(KeysCommand, AKeyIsShownOnceAndListedWithoutItsSecret) {
  const RunResult made = keys({"create", "laptop"});
  EXPECT_EQ(made.exit_code, 0);
  EXPECT_THAT(made.out, MatchesRegex(kKeyLine));
  EXPECT_EQ(made.out.size(), 61U);
  EXPECT_THAT(made.err, HasSubstr("keep it now"));
  const RunResult listed = keys({"list"});
  EXPECT_THAT(listed.out, HasSubstr(made.out.substr(3, 8)));
  EXPECT_THAT(listed.out, HasSubstr("laptop"));
  EXPECT_THAT(listed.out, HasSubstr(made.out.substr(56, 4)));
  EXPECT_EQ(listed.out.find(made.out.substr(12, 20)), std::string::npos);
  EXPECT_EQ(keys({"list", "--quiet"}).out, made.out.substr(3, 8) + "\n");
}

TEST_F(KeysCommand, APlanIsPartOfTheLimits) {
  const RunResult made = keys({"create", "laptop", "--plan", "free", "--priority", "3"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("[plans.free]"));
  const std::string id = made.out.substr(3, 8);
  EXPECT_THAT(keys({"list"}).out, HasSubstr("priority 3, plan free"));
  EXPECT_EQ(keys_json({"limits", id, "--plan", "gold"}).at("limits"), json({{"priority", 3}, {"plan", "gold"}}));
  EXPECT_EQ(keys_json({"limits", id, "--plan", "none"}).at("limits"), json({{"priority", 3}}));
  EXPECT_EQ(keys({"limits", id, "--plan", "a b"}).exit_code, 64);
}

TEST_F(KeysCommand, JsonHasTheDocumentedFields) {
  EXPECT_EQ(keys_json({"list"}), json({{"keys", json::array()}}));
  const json made = keys_json({"create", "boss", "--admin"});
  EXPECT_THAT(made.at("key").get<std::string>() + "\n", MatchesRegex(kKeyLine));
  EXPECT_EQ(made.at("name"), "boss");
  const json row = keys_json({"list"}).at("keys").at(0);
  EXPECT_EQ(row.at("id"), made.at("id"));
  EXPECT_EQ(row.at("role"), "admin");
  EXPECT_TRUE(row.at("created").is_number_integer());
  EXPECT_TRUE(row.at("last_used").is_null());
  EXPECT_TRUE(row.at("revoked").is_null());
  EXPECT_TRUE(row.at("limits").is_object());
  const json rotated = keys_json({"rotate", made.at("id")});
  EXPECT_EQ(rotated.at("id"), made.at("id"));
  EXPECT_NE(rotated.at("key"), made.at("key"));
  const json revoked = keys_json({"revoke", made.at("id")});
  EXPECT_TRUE(revoked.at("revoked").is_number_integer());
  EXPECT_EQ(keys_json({"list"}).at("keys").at(0).at("revoked"), revoked.at("revoked"));
}

TEST_F(KeysCommand, AKeyHasOneRole) {
  keys({"create", "laptop"});
  keys({"create", "boss", "--admin"});
  keys({"create", "prometheus", "--scrape"});
  std::vector<std::string> roles;
  const json listed = keys_json({"list"});
  for (const json& row : listed.at("keys"))
    roles.push_back(row.at("role"));
  EXPECT_THAT(roles, ::testing::UnorderedElementsAre("user", "admin", "scrape"));
  EXPECT_THAT(keys({"list"}).out, HasSubstr("scrape"));
  expect_refusal(keys({"create", "both", "--admin", "--scrape"}), 64, "a key has one role");
}

TEST_F(KeysCommand, ErrorsSayWhatToDo) {
  expect_refusal(keys({"revoke", "nobody00"}), 66, "vitrine keys list");
  expect_refusal(keys({"rotate", "a\nb"}), 66, "no key has this id");
  expect_refusal(keys({"create", ""}), 64, "1 to 100 bytes");
  expect_refusal(keys({"create"}), 64, "name");
  expect_refusal(keys({}), 64, "keys");
  expect_refusal(keys({"revok", "x"}), 64, "did you mean revoke?");
  const std::string id = keys_json({"create", "laptop"}).at("id");
  EXPECT_EQ(keys({"revoke", id}).exit_code, 0);
  EXPECT_EQ(keys({"revoke", id}).exit_code, 0) << "what is to be so is so";
  expect_refusal(keys({"rotate", id}), 64, "vitrine keys create");
}

TEST_F(KeysCommand, ADamagedDatabaseIsRefusedByAllWhoNeedIt) {
  keys({"create", "laptop"});
  std::ofstream(state() / "keys.db", std::ios::trunc) << std::string(5000, 'x');
  expect_refusal(keys({"list"}), 74, "restore it from a backup");
  expect_refusal(keys({"create", "another"}), 74, "keys.db");
  expect_refusal(run_vitrine({"serve", "/no/such/model.gguf"}, {"VITRINE_STATE=" + state().string()}), 74, "keys.db");
  EXPECT_EQ(fs::file_size(state() / "keys.db"), 5000U);
}

TEST_F(KeysCommand, AStateFolderThatIsNoneIsAnError) {
  std::ofstream(state()) << "a file";
  EXPECT_EQ(keys({"list"}).exit_code, 74);
}

}  // namespace
}  // namespace vitrine::testing
