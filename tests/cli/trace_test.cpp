#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/run_vitrine.h"
#include "support/reference_data.h"
#include "support/temp_dir.h"
#include "tensor/npy.h"

namespace vitrine::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr double kTolerance = 1e-4;

std::vector<float> floats(const tensor::NpyArray& array) {
  std::vector<float> values(array.bytes.size() / sizeof(float));
  std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
  return values;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return largest;
}

class TraceTest : public ::testing::Test {
 protected:
  std::vector<float> dumped(const std::string& name) const {
    return floats(tensor::read_npy(folder_ / (name + ".npy")).value_or_throw());
  }
  void expect_equal_to_reference(const fs::path& model) const {
    const auto reference = [&](const char* name) {
      return floats(tensor::read_npy(model / (std::string(name) + ".npy")).value_or_throw());
    };
    EXPECT_LT(largest_difference(dumped("embedding"), reference("embed_7")), kTolerance) << model;
    EXPECT_LT(largest_difference(dumped("final_norm"), reference("final_norm_7")), kTolerance) << model;
    EXPECT_LT(largest_difference(dumped("logits"), reference("logits_7")), kTolerance) << model;
    std::vector<float> hidden;
    for (int i = 0; fs::exists(folder_ / ("hidden_0" + std::to_string(i) + ".npy")); ++i) {
      const std::vector<float> layer = dumped("hidden_0" + std::to_string(i));
      hidden.insert(hidden.end(), layer.begin(), layer.end());
    }
    EXPECT_LT(largest_difference(hidden, reference("hidden_7")), kTolerance) << model;
  }

  TempDir temp_;
  fs::path folder_ = temp_.path() / "dump";
};

std::string ids_of(const fs::path& model) {
  return read_json(model / "reference.json").at("input_ids").at("7").dump();
}

TEST_F(TraceTest, DumpsOfEveryTinyModelAreTheReferenceWhateverTheChunk) {
  std::size_t num_models = 0;
  for (const auto& entry : fs::directory_iterator(data_path("models"))) {
    if (!fs::exists(entry.path() / "logits_7.npy")) continue;
    for (const char* chunk : {"3", "512"}) {
      fs::remove_all(folder_);
      const RunResult result =
          run_vitrine({"trace", entry.path().string(), "--ids", ids_of(entry.path()), "--reference", "--kv-type", "f32",
                       "--chunk", chunk, "--dump", folder_.string()});
      ASSERT_EQ(result.exit_code, 0) << result.err;
      expect_equal_to_reference(entry.path());
    }
    ++num_models;
  }
  EXPECT_GT(num_models, 0U);
  count_cases("tiny models through trace --dump", num_models);
}

TEST_F(TraceTest, DumpedIdsAreThoseOfThePrompt) {
  ASSERT_EQ(run_vitrine({"trace", data_path("models/llama").string(), "--ids", "5,6,7", "--dump", folder_.string()})
                .exit_code,
            0);
  const auto ids = tensor::read_npy(folder_ / "input_ids.npy").value_or_throw();
  EXPECT_EQ(ids.type, tensor::DType::kI64);
  EXPECT_EQ(ids.shape, tensor::Shape({3}));
}

TEST_F(TraceTest, JsonHoldsEverySpanWithShapesAndParents) {
  const RunResult result = run_vitrine(
      {"trace", data_path("models/llama").string(), "--ids", "1,2,3,4,5", "-n", "3", "--chunk", "2", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json trace = Json::parse(result.out);
  const Json& spans = trace.at("spans");
  const auto count = [&](const std::string& name) {
    return std::ranges::count_if(spans, [&](const Json& span) { return span.at("name") == name; });
  };
  EXPECT_EQ(count("prefill"), 3);
  EXPECT_EQ(count("decode"), 2);
  EXPECT_EQ(count("sample"), 3);
  EXPECT_EQ(count("head"), 3);
  EXPECT_EQ(count("embed"), 5);
  EXPECT_GT(count("layer"), 5);
  for (const Json& span : spans) {
    EXPECT_LE(span.at("start_s").get<double>(), span.at("end_s").get<double>());
    EXPECT_LE(span.at("end_s").get<double>(), trace.at("wall_s").get<double>());
    if (span.at("name") != "layer") continue;
    const Json& parent = spans.at(span.at("parent").get<std::size_t>());
    EXPECT_TRUE(parent.at("name") == "prefill" || parent.at("name") == "decode");
    EXPECT_GE(span.at("start_s").get<double>(), parent.at("start_s").get<double>());
    EXPECT_TRUE(span.at("attributes").contains("shape"));
    EXPECT_GT(span.at("attributes").at("bytes").get<int>(), 0);
  }
}

TEST_F(TraceTest, ChromeFileIsATraceWithoutLeftoversOfAnOlderOne) {
  fs::create_directories(folder_);
  const std::string path = folder_ / "trace.json";
  std::ofstream(path) << std::string(1 << 20, 'x');
  ASSERT_EQ(run_vitrine({"trace", data_path("models/llama").string(), "--ids", "1,2", "--chrome", path}).exit_code, 0);
  EXPECT_GT(read_json(path).at("traceEvents").size(), 5U);
}

TEST_F(TraceTest, AFolderThatCantBeMadeIsAnIoError) {
  const RunResult result =
      run_vitrine({"trace", data_path("models/llama").string(), "--ids", "1,2", "--dump", "/dev/null/x"});
  EXPECT_EQ(result.exit_code, 74) << result.err;
}

}  // namespace
}  // namespace vitrine::testing
