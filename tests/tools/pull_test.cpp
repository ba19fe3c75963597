#include "tools/hub/pull.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"
#include "tools/fake_hub.h"
#include "tools/find_model.h"
#include "tools/hub/files.h"
#include "tools/hub/sha256.h"

namespace vitrine::hub {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Watcher final : public Observer {
 public:
  void note(std::string_view line) override { notes.emplace_back(line); }
  void progress(std::string_view, std::uint64_t done, std::uint64_t) override { last_bytes = done; }
  bool cancelled() const override { return last_bytes >= cancel_after_bytes; }

  std::vector<std::string> notes;
  std::uint64_t last_bytes = 0;
  std::uint64_t cancel_after_bytes = ~std::uint64_t{0};
};

class PullTest : public ::testing::Test {
 protected:
  base::Result<PullResult> pull(const std::string& text, const std::string& name = "") {
    PullSettings settings;
    settings.endpoint = {hub_.url(), token_};
    settings.timeouts = {5, 5};
    settings.download = {3, std::chrono::milliseconds(5)};
    Puller puller(store_, settings, watcher_);
    return puller.pull_hub(*parse_hub_spec(text), name, "");
  }

  std::string log() {
    HttpClient client({5, 5}, [] { return false; });
    std::string text;
    EXPECT_TRUE(client.get_text({hub_.url() + "/log", {}, ""}, 1 << 20, text));
    return text;
  }

  void expect_error(const std::string& text, base::ErrorKind kind, const std::string& message) {
    const auto result = pull(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().kind, kind) << result.error().message;
    EXPECT_THAT(result.error().message, HasSubstr(message));
  }

  testing::FakeHub hub_;
  testing::TempDir folder_;
  Store store_{folder_.path()};
  Watcher watcher_;
  std::string token_;
};

TEST_F(PullTest, ChoosesTheLikedTypeAndSaysSo) {
  const auto result = pull("hf:good/model");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->model.name, "hf:good/model:model-Q4_K_M.gguf");
  EXPECT_EQ(result->model.bytes, 300'000U);
  EXPECT_TRUE(is_sha256_hex(result->model.sha256));
  EXPECT_THAT(watcher_.notes, ::testing::Contains(HasSubstr("model-Q4_K_M.gguf chosen of 2 GGUF models")));
}

TEST_F(PullTest, ASecondPullFindsItThere) {
  ASSERT_TRUE(pull("hf:good/model"));
  const auto again = pull("hf:good/model");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->was_there);
  EXPECT_TRUE(store_.find("hf:good/model")->has_value());
  EXPECT_TRUE(store_.find("hf:good/model:model-Q4_K_M.gguf")->has_value());
  EXPECT_FALSE(store_.find("hf:good/model:model-Q8_0.gguf")->has_value());
}

TEST_F(PullTest, ANamedFileIsFetched) {
  const auto result = pull("hf:good/model:model-Q8_0.gguf", "mine");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->model.name, "mine");
  EXPECT_EQ(result->model.path.filename(), "model-Q8_0.gguf");
  EXPECT_EQ(*sha256_file(result->model.path, [](std::uint64_t) { return true; }), result->model.sha256);
}

TEST_F(PullTest, AllPartsOfASplitModelAreFetched) {
  const auto result = pull("hf:good/split");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->model.path.filename(), "big-Q4_0-00001-of-00002.gguf");
  EXPECT_TRUE(fs::exists(result->model.path.parent_path() / "big-Q4_0-00002-of-00002.gguf"));
}

TEST_F(PullTest, WithoutAGgufTheSafetensorsFolderIsFetched) {
  const auto result = pull("hf:good/safetensors");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(fs::is_directory(result->model.path));
  EXPECT_TRUE(fs::exists(result->model.path / "model-00002-of-00002.safetensors"));
  EXPECT_FALSE(fs::exists(result->model.path / "pytorch_model.bin"));
}

TEST_F(PullTest, ALostConnectionIsTakenUpWhereItEnded) {
  const auto result = pull("hf:drops/model");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(log(), HasSubstr("range=bytes=150000- if_range=\"one\""));
}

TEST_F(PullTest, AServerWithoutRangesIsAskedForAllOfItAgain) {
  const auto result = pull("hf:noranges/model");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(fs::file_size(result->model.path), 300'000U);
}

TEST_F(PullTest, AFileThatChangedMeanwhileIsFetchedFromItsStart) {
  const auto result = pull("hf:changed/model");
  ASSERT_TRUE(result) << result.error().message;
  std::ifstream file(result->model.path, std::ios::binary);
  file.seekg(-4, std::ios::end);
  std::string tail(4, ' ');
  file.read(tail.data(), 4);
  EXPECT_EQ(tail, "FUGG");
}

TEST_F(PullTest, ACancelledPullGoesOnLater) {
  watcher_.cancel_after_bytes = 60'000;
  const auto stopped = pull("hf:slow/model");
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, base::ErrorKind::kInterrupted);
  EXPECT_TRUE(store_.list()->empty());
  watcher_.cancel_after_bytes = ~std::uint64_t{0};
  const auto result = pull("hf:slow/model");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(watcher_.notes, ::testing::Contains(HasSubstr("going on after")));
}

TEST_F(PullTest, AWrongSumIsRefusedAndTheBytesAreDropped) {
  expect_error("hf:wrong/sha", base::ErrorKind::kBadFile, "SHA-256 is");
  EXPECT_TRUE(store_.list()->empty());
  EXPECT_EQ(tree_bytes(folder_.path() / "partial"), std::string("\"one\"").size());
}

TEST_F(PullTest, ABusyServerIsAskedAgain) {
  ASSERT_TRUE(pull("hf:flaky/model"));
  EXPECT_THAT(watcher_.notes, ::testing::Contains(HasSubstr("HTTP status 503; trying again")));
}

TEST_F(PullTest, RefusalsSayWhatToDo) {
  expect_error("hf:gated/model", base::ErrorKind::kNoPermission, "set HF_TOKEN");
  expect_error("hf:private/model", base::ErrorKind::kNoPermission, "HTTP 401");
  expect_error("hf:good/absent", base::ErrorKind::kMissing, "check the name");
  expect_error("hf:good/model:none.gguf", base::ErrorKind::kMissing, "no such file");
  expect_error("hf:good/empty", base::ErrorKind::kMissing, "neither GGUF nor safetensors");
}

TEST_F(PullTest, TheTokenOpensAGatedModel) {
  token_ = "let-me-in";
  const auto result = pull("hf:gated/model");
  ASSERT_TRUE(result) << result.error().message;
}

TEST_F(PullTest, TheTokenIsNotSentToAnotherHost) {
  token_ = "secret";
  const auto result = pull("hf:moved/model");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(log(),
              HasSubstr("127.0.0.1 /moved/model/resolve/main/model.gguf range=None if_range=None auth=Bearer secret"));
  EXPECT_THAT(log(), HasSubstr("localhost /elsewhere/model.gguf range=None if_range=None auth=None"));
}

TEST_F(PullTest, TwoPullsAtOnceFetchOnce) {
  Watcher other;
  base::Result<PullResult> second = base::usage_error("not run");
  std::thread thread([&] {
    Puller puller(store_, {{hub_.url(), ""}, {5, 5}, {3, std::chrono::milliseconds(5)}}, other);
    second = puller.pull_hub(*parse_hub_spec("hf:slow/model"), "", "");
  });
  const auto first = pull("hf:slow/model");
  thread.join();
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_NE(first->was_there, second->was_there);
}

TEST(PullOffline, NoServerIsAClearError) {
  const testing::TempDir folder;
  const Store store(folder.path());
  Watcher watcher;
  Puller puller(store, {{"http://127.0.0.1:9", ""}, {2, 2}, {1, std::chrono::milliseconds(1)}}, watcher);
  const auto result = puller.pull_hub(*parse_hub_spec("hf:a/b"), "", "");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, base::ErrorKind::kUnavailable);
  EXPECT_THAT(result.error().message, HasSubstr("127.0.0.1:9"));
}

TEST(PullPath, AFileIsLinkedIntoTheStore) {
  const testing::TempDir folder;
  const Store store(folder.path() / "store");
  std::ofstream(folder.path() / "My Model.gguf") << "GGUF";
  Watcher watcher;
  Puller puller(store, {}, watcher);
  const auto result = puller.pull_path(folder.path() / "My Model.gguf", "");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->model.name, "My-Model");
  EXPECT_EQ(fs::hard_link_count(result->model.path), 2U);
}

TEST(Store, ARemovedModelIsGone) {
  const testing::TempDir folder;
  const Store store(folder.path());
  std::ofstream(folder.path() / "a.gguf") << "GGUF";
  Watcher watcher;
  Puller puller(store, {}, watcher);
  const auto pulled = puller.pull_path(folder.path() / "a.gguf", "a");
  ASSERT_TRUE(pulled);
  ASSERT_TRUE(store.remove(pulled->model));
  EXPECT_FALSE(store.find("a")->has_value());
  EXPECT_TRUE(fs::exists(folder.path() / "a.gguf"));
}

TEST(Store, NamesThatLeaveTheStoreAreNotFound) {
  const testing::TempDir folder;
  const Store store(folder.path());
  for (const char* name : {"..", "../x", "/etc", "", "hf:../x", "a/b"})
    EXPECT_FALSE(store.find(name)->has_value()) << name;
}

TEST(Store, KeysOfDifferentNamesDiffer) {
  EXPECT_EQ(store_key("gemma-3-270m"), "gemma-3-270m");
  EXPECT_EQ(store_key("hf:a/b:c/d.gguf"), "hf=a+b=c+d.gguf");
  EXPECT_NE(store_key("hf:a/b"), store_key("hf-a-b"));
}

TEST(Store, BrokenManifestsAreLeftOut) {
  const testing::TempDir folder;
  for (const char* text : {"", "[", "{}", R"({"name":3})", R"({"name":"x","file":"../../etc/passwd"})"}) {
    fs::create_directories(folder.path() / "models/x");
    std::ofstream(folder.path() / "models/x/vitrine-model.json") << text;
    EXPECT_TRUE(Store(folder.path()).list()->empty()) << text;
  }
}

TEST(FindModel, TellsWhatToDoAboutAMissingOne) {
  const testing::TempDir folder;
  const Store store(folder.path());
  const auto catalog = builtin_catalog();
  const auto message = [&](const char* model) {
    const auto found = tools::find_model(model, store, catalog);
    return found ? std::string() : found.error().message;
  };
  EXPECT_THAT(message("gemma-3-270m"), HasSubstr("vitrine pull gemma-3-270m"));
  EXPECT_THAT(message("gema-3-270m"), HasSubstr("did you mean gemma-3-270m?"));
  EXPECT_THAT(message("hf:a/b"), HasSubstr("vitrine pull hf:a/b"));
  EXPECT_THAT(message("hf:a"), HasSubstr("not of the form"));
  EXPECT_THAT(message("/no/such/file.gguf"), HasSubstr("no such model or file"));
}

}  // namespace
}  // namespace vitrine::hub
