#include "tools/remote_headers.h"

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loader/gguf.h"
#include "loader/gguf_writer.h"
#include "support/temp_dir.h"
#include "tools/fake_hub.h"

namespace vitrine::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::size_t kMatrixBytes = std::size_t{12} << 20U;

class NoteTaker final : public hub::Observer {
 public:
  void note(std::string_view line) override { notes.emplace_back(line); }
  void progress(std::string_view /*what*/, std::uint64_t /*done*/, std::uint64_t /*total*/) override {}
  bool cancelled() const override { return false; }

  std::vector<std::string> notes;
};

// A header of a bit more than 2 MiB, rope factors 1 to 4 behind a matrix of 12 MiB, each of its bytes 1.
void write_large_header(const fs::path& path) {
  const std::vector<std::string> words(64 * 1024, std::string(24, 'w'));
  loader::GgufOutline outline;
  outline.add("general.architecture", std::string_view("llama"));
  outline.add_array("tokenizer.ggml.tokens", words);
  const std::array<std::size_t, 2> matrix = {1024, kMatrixBytes / 1024 / sizeof(float)};
  const std::array<std::size_t, 1> factors = {4};
  outline.add_tensor("blk.0.attn_q.weight", tensor::Shape(matrix), tensor::DType::kF32);
  outline.add_tensor("rope_freqs.weight", tensor::Shape(factors), tensor::DType::kF32);
  fs::create_directories(path.parent_path());
  loader::GgufFile file(path, outline);
  file.append(std::vector<std::byte>(kMatrixBytes, std::byte{1}));
  const std::array<float, 4> values = {1, 2, 3, 4};
  file.append(std::as_bytes(std::span(values)));
  file.finish();
}

class RemoteHeadersTest : public ::testing::Test {
 protected:
  base::Result<RemoteHeaders> fetch(const std::string& text) {
    const hub::PullSettings settings{{hub_.url(), ""}, {5, 5}, {2, std::chrono::milliseconds(5)}};
    return RemoteHeaders::fetch(*hub::parse_hub_spec(text), settings, notes_);
  }

  std::string log() {
    hub::HttpClient client({5, 5}, [] { return false; });
    std::string text;
    EXPECT_TRUE(client.get_text({hub_.url() + "/log", {}, ""}, 1 << 20, text));
    return text;
  }

  void expect_large_header(const std::string& repo) {
    const auto headers = fetch("hf:" + repo);
    ASSERT_TRUE(headers) << headers.error().message;
    EXPECT_EQ(headers->name(), "hf:" + repo + ":model-Q8_0.gguf");
    EXPECT_EQ(fs::file_size(headers->model()), fs::file_size(folder_.path() / repo / "model-Q8_0.gguf"));
    EXPECT_LT(headers->fetched_bytes(), std::uint64_t{5} << 20U);
    const auto model = loader::open_gguf(headers->model());
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(model->metadata.find("tokenizer.ggml.tokens")->count, 64U * 1024);
    const tensor::TensorView* factors = model->weights->find("rope_freqs.weight");
    std::array<float, 4> values{};
    std::memcpy(values.data(), factors->data, sizeof(values));
    EXPECT_THAT(values, ::testing::ElementsAre(1, 2, 3, 4));
    const auto weights = model->weights->find("blk.0.attn_q.weight")->bytes();
    EXPECT_EQ(weights.back(), std::byte{0});
  }

  void expect_failure(const std::string& text, base::ErrorKind kind, const std::string& message) {
    const auto headers = fetch(text);
    ASSERT_FALSE(headers) << text;
    EXPECT_EQ(headers.error().kind, kind) << headers.error().message;
    EXPECT_THAT(headers.error().message, HasSubstr(message));
  }

  testing::TempDir folder_;
  testing::FakeHub hub_{folder_.path().string()};
  NoteTaker notes_;
};

TEST_F(RemoteHeadersTest, AHeaderIsFetchedUpToItsEndAndNoWeightBehindIt) {
  write_large_header(folder_.path() / "real/model/model-Q8_0.gguf");
  expect_large_header("real/model");
  const std::string requests = log();
  EXPECT_THAT(requests, HasSubstr("range=bytes=0-1048575 "));
  EXPECT_THAT(requests, HasSubstr("range=bytes=1048576-4194303 "));
  EXPECT_THAT(requests, ::testing::Not(HasSubstr("range=bytes=4194304-")));
}

TEST_F(RemoteHeadersTest, AServerThatKnowsNoRangesIsLeftWhenThereIsEnough) {
  write_large_header(folder_.path() / "real/model-noranges/model-Q8_0.gguf");
  expect_large_header("real/model-noranges");
}

TEST_F(RemoteHeadersTest, NothingStaysBehind) {
  write_large_header(folder_.path() / "real/model/model-Q8_0.gguf");
  fs::path model;
  {
    auto headers = fetch("hf:real/model");
    ASSERT_TRUE(headers);
    const RemoteHeaders moved = std::move(*headers);
    model = moved.model();
    EXPECT_TRUE(fs::exists(model));
  }
  EXPECT_FALSE(fs::exists(model.parent_path()));
}

TEST_F(RemoteHeadersTest, SaysWhatIsWrong) {
  expect_failure("hf:no/where", base::ErrorKind::kMissing, "hf:no/where");
  expect_failure("hf:good/empty", base::ErrorKind::kMissing, "neither GGUF nor safetensors");
  expect_failure("hf:gated/model", base::ErrorKind::kNoPermission, "hf:gated/model");
  // The hub's own files have no more of a GGUF than its first four bytes.
  expect_failure("hf:good/model", base::ErrorKind::kBadFile, "hf:good/model:model-Q4_K_M.gguf: ");
  EXPECT_THAT(notes_.notes, ::testing::Contains(HasSubstr("model-Q4_K_M.gguf chosen of 2 GGUF models")));
  expect_failure("hf:good/safetensors", base::ErrorKind::kBadFile, "its header claims");
  fs::create_directories(folder_.path() / "real/text");
  fs::create_directories(folder_.path() / "real/empty");
  folder_.write("real/text/model.gguf", "not a model");
  folder_.write("real/empty/model.gguf", "");
  expect_failure("hf:real/empty", base::ErrorKind::kBadFile, "states no size");
  expect_failure("hf:real/text", base::ErrorKind::kBadFile, "does not begin with");
}

TEST_F(RemoteHeadersTest, ABusyServerIsAskedAgainAndOneThatBreaksOffThreeTimes) {
  expect_failure("hf:flaky/model", base::ErrorKind::kBadFile, "GGUF version");
  expect_failure("hf:drops/model", base::ErrorKind::kUnavailable, "hf:drops/model:model.gguf: ");
}

}  // namespace
}  // namespace vitrine::tools
