#include "loader/gguf.h"

#include <chrono>
#include <map>
#include <random>

#include "loader/expect_error.h"
#include "support/gguf_writer.h"
#include "support/random_seed.h"
#include "support/reference_data.h"
#include "support/temp_dir.h"

namespace vitrine::loader {
namespace {

using base::ErrorKind::kBadFile;
using base::ErrorKind::kMissing;
using testing::GgufWriter;
using testing::TempDir;

const std::vector<float> kEight{1, 2, 3, 4, 5, 6, 7, 8};

GgufWriter small_model() {
  return GgufWriter()
      .add("general.architecture", "llama")
      .add("llama.block_count", 2U)
      .add_array("tokenizer.ggml.tokens", std::vector<std::string>{"a", "", "bc"})
      .add_tensor("first", {2, 4}, kEight)
      .add_tensor("second", {8}, kEight);
}

base::Result<GgufModel> open_bytes(std::string_view file) {
  const TempDir directory;
  return open_gguf(directory.write("model.gguf", file));
}

base::Result<GgufModel> open_built(const GgufWriter& writer) {
  return open_bytes(writer.build());
}

// The hex files by name.
std::map<std::string, std::string> malformed_files() {
  std::map<std::string, std::string> files;
  for (const auto& row : testing::read_json(testing::data_path("gguf_malformed.json"))) {
    files[row.at("name").get<std::string>()] = testing::from_hex(row.at("hex").get<std::string>());
  }
  return files;
}

// Whether every byte of every tensor can be read: a range outside the mapping would be a fault or a sanitizer report.
void read_everything(const GgufModel& model) {
  unsigned sum = 0;
  for (const NamedTensor& tensor : model.weights->tensors()) {
    for (const std::byte byte : tensor.view.bytes())
      sum += std::to_integer<unsigned>(byte);
  }
  static_cast<void>(sum);
}

TEST(Gguf, ReadsKeysAndTensorsOfASmallFile) {
  auto model = open_built(small_model());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->version, 3U);
  EXPECT_EQ(model->metadata.entries().size(), 3U);
  EXPECT_EQ(**model->metadata.string_value("general.architecture"), "llama");
  ASSERT_EQ(model->weights->tensors().size(), 2U);
  EXPECT_EQ(model->weights->tensors()[0].name, "first");
  EXPECT_EQ(model->weights->find("first")->shape, (tensor::Shape{2, 4}));
  EXPECT_EQ(model->weights->find("third"), nullptr);
  EXPECT_EQ(model->weights->file_bytes(), small_model().build().size());
}

TEST(Gguf, TurnsDimensionsSoThatTheOutermostComesFirst) {
  auto model = open_built(GgufWriter().add_tensor("t", {2, 4}, kEight));
  ASSERT_TRUE(model);
  const tensor::TensorView& view = *model->weights->find("t");
  float fifth = 0;
  std::memcpy(&fifth, view.row(1), sizeof(fifth));
  EXPECT_EQ(view.shape.row_elements(), 4U);
  EXPECT_EQ(fifth, 5.0F);
}

TEST(Gguf, AcceptsVersion2) {
  GgufWriter writer(2);
  const auto model = open_built(writer.add("a", 1U));
  ASSERT_TRUE(model);
  EXPECT_EQ(model->version, 2U);
}

TEST(Gguf, AcceptsAFileWithoutTensorsThatEndsAtItsHeader) {
  EXPECT_TRUE(open_built(GgufWriter().add("a", 1U)));
}

TEST(Gguf, HonoursTheAlignmentOfTheFile) {
  for (const std::uint32_t alignment : {8U, 32U, 64U, 4096U}) {
    auto model = open_built(GgufWriter()
                                .alignment(alignment)
                                .add_tensor("a", {3}, std::span(kEight).first(3))
                                .add_tensor("b", {8}, kEight));
    ASSERT_TRUE(model) << model.error().message;
    float first = 0;
    std::memcpy(&first, model->weights->find("b")->data, sizeof(first));
    EXPECT_EQ(first, 1.0F);
  }
}

TEST(Gguf, ReadsBlockTypesByTheirStoredSize) {
  auto model = open_built(GgufWriter().add_tensor("q", {2, 64}, tensor::DType::kQ4_1, std::string(2 * 2 * 20, 'x')));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->weights->find("q")->size_bytes(), 80U);
}

TEST(Gguf, MissingFileIsMissing) {
  expect_error(open_gguf("/nonexistent/model.gguf"), kMissing, "/nonexistent/model.gguf");
}

TEST(Gguf, ErrorsNameTheFile) {
  const TempDir directory;
  const auto path = directory.write("broken.gguf", "GGUF");
  expect_error(open_gguf(path), kBadFile, path.string());
}

// Every malformed file with the reason it is refused for; "" where the file is sound as far as the loader can tell
// (what its vocabulary says is for the tokenizer to judge).
const std::map<std::string, std::string> kExpectations{
    {"control_valid", ""},
    {"empty_file", "cut short"},
    {"version_0", "version 0"},
    {"version_1", "version 1"},
    {"version_99", "version 99"},
    {"version_big_endian_3", "big-endian"},
    {"n_tensors_huge", "tensors"},
    {"n_tensors_negative", "tensors"},
    {"n_kv_huge", "metadata entries"},
    {"n_kv_negative", "metadata entries"},
    {"key_length_2^64-1", "metadata entries"},
    {"key_empty", "metadata key is empty"},
    {"value_type_99", "unknown value type 99"},
    {"array_count_overflow", "array elements"},
    {"array_type_bad", "unknown value type 77"},
    {"alignment_0", "general.alignment"},
    {"alignment_3", "not a power of two"},
    {"alignment_wrong_type", "must be uint32"},
    {"dim_zero", "is 0"},
    {"dims_product_overflow", "overflows"},
    {"dims_product_wraps_to_small", "overflows"},
    {"n_dims_0", "0 dimensions"},
    {"n_dims_9", "9 dimensions"},
    {"n_dims_1000000", "1000000 dimensions"},
    {"n_dims_2^32-1", "4294967295 dimensions"},
    {"tensor_type_999", "unknown tensor type 999"},
    {"tensor_type_removed_4", "unknown tensor type 4"},
    {"row_not_multiple_of_block", "whole q8_0 blocks"},
    {"tensor_name_duplicate", "more than once"},
    {"tensor_name_64_bytes", ""},
    {"offset_past_end", "pass the end"},
    {"offset_wraps", "pass the end"},
    {"data_truncated", "cut short"},
    {"overlapping_tensors", "overlap"},
    {"header_cut_in_tensor_info", "cut short"},
    {"string_with_nul_key", "NUL"},
    {"string_not_utf8", ""},
    {"vocab_scores_short", ""},
    {"vocab_types_short", ""},
    {"vocab_bos_out_of_range", ""},
    {"vocab_no_tokens", ""},
    {"vocab_model_unknown", ""},
    {"vocab_duplicate_token", ""},
    {"vocab_bpe_merge_without_space", ""},
    {"vocab_bpe_empty_token", ""},
};

TEST(GgufMalformed, EveryFileIsRefusedForItsOwnReason) {
  const auto files = malformed_files();
  for (const auto& [name, bytes] : files) {
    SCOPED_TRACE(name);
    const auto expected = kExpectations.find(name);
    ASSERT_NE(expected, kExpectations.end());
    const auto model = open_bytes(bytes);
    if (expected->second.empty()) {
      EXPECT_TRUE(model) << model.error().message;
    } else {
      expect_error(model, kBadFile, expected->second);
    }
  }
  testing::count_cases("gguf_malformed", files.size());
}

// Public bug reports, by number. bug050: dimensions whose product wraps around 64 bits.
TEST(GgufBugs, Bug050DimensionProductThatWrapsIsRefused) {
  expect_error(open_bytes(malformed_files().at("dims_product_overflow")), kBadFile, "overflows");
  testing::count_cases("bugs", 1);
}

TEST(GgufBugs, Bug052NumberOfDimensionsIsBoundedBeforeTheyAreRead) {
  expect_error(open_bytes(malformed_files().at("n_dims_1000000")), kBadFile, "1 to 4");
  testing::count_cases("bugs", 1);
}

TEST(GgufBugs, Bug054ArrayCountTimesElementSizeDoesNotWrap) {
  expect_error(open_bytes(malformed_files().at("array_count_overflow")), kBadFile, "can hold");
  testing::count_cases("bugs", 1);
}

TEST(GgufTruncation, EveryPrefixIsRefused) {
  const std::string whole = small_model().build();
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    const std::string prefix = whole.substr(0, size);
    const auto header = catch_result([&] { return parse_gguf(as_bytes(prefix)); });
    EXPECT_FALSE(header);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  testing::count_cases("gguf_truncations", whole.size());
}

TEST(GgufBitFlips, NeverCrashAndNeverGiveATensorOutsideTheFile) {
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string whole = small_model().build();
  for (int round = 0; round < 2000; ++round) {
    std::string flipped = whole;
    for (unsigned flips = 1 + random() % 4; flips > 0; --flips) {
      flipped[random() % flipped.size()] ^= static_cast<char>(1U << (random() % 8));
    }
    const auto header = catch_result([&] { return parse_gguf(as_bytes(flipped)); });
    if (!header) continue;
    for (const NamedTensor& tensor : header->tensors) {
      EXPECT_GE(tensor.view.data, as_bytes(flipped).data());
      EXPECT_LE(tensor.view.data + tensor.view.size_bytes(), as_bytes(flipped).data() + flipped.size());
    }
  }
  testing::count_cases("gguf_bit_flips", 2000);
}

// Fault row 1: a count or size whose product wraps.
TEST(GgufFaults, Row1SizesThatWrapAreRefusedByTensorName) {
  GgufWriter writer;
  writer.add_tensor_info("huge", {(std::size_t{1} << 62U) + 1}, 0, 0);
  expect_error(open_built(writer), kBadFile, "tensor \"huge\"");
  GgufWriter padded;
  padded.add_tensor_info("max", {SIZE_MAX / 4}, 0, 0);
  expect_error(open_built(padded), kBadFile, "tensor \"max\"");
}

// Fault row 2: a range past the end of the file.
TEST(GgufFaults, Row2TensorOfAGibibyteInASmallFileIsRefused) {
  GgufWriter writer;
  writer.add_tensor_info("big", {std::size_t{1} << 28U}, 0, 0);
  expect_error(open_built(writer), kBadFile, "tensor \"big\"");
}

// Fault row 3: a zero that somebody will divide by.
TEST(GgufFaults, Row3ZeroDimensionIsRefused) {
  GgufWriter writer;
  writer.add_tensor_info("t", {0, 4}, 0, 0);
  expect_error(open_built(writer), kBadFile, "dimension 1 is 0");
}

TEST(GgufFaults, Row3ZeroHeadCountIsRefusedByTheRangeOfTheGetter) {
  auto model = open_built(GgufWriter().add("llama.attention.head_count", 0U));
  ASSERT_TRUE(model);
  expect_error(model->metadata.uint_value("llama.attention.head_count", 1, 1024), kBadFile, "must be 1 to 1024, is 0");
}

// Fault row 4: wrong type or enumerator.
TEST(GgufFaults, Row4AlignmentOfAnotherTypeIsRefused) {
  expect_error(open_built(GgufWriter().add("general.alignment", std::int32_t{32})), kBadFile,
               "must be uint32, is int32");
  expect_error(open_built(GgufWriter().add("general.alignment", "32")), kBadFile, "must be uint32, is string");
}

TEST(GgufFaults, Row4UnknownValueTypeIsRefusedById) {
  expect_error(open_built(GgufWriter().add_raw("k", 128, "payload")), kBadFile, "unknown value type 128");
}

// Fault row 5: a claim before the bytes.
TEST(GgufFaults, Row5ClaimsPastTheFileAreRefusedBeforeAnyAllocation) {
  const auto u32 = [](std::uint32_t value) { return GgufWriter::bytes_of(value); };
  const auto u64 = [](std::uint64_t value) { return GgufWriter::bytes_of(value); };
  const std::vector<std::string> arrays{u32(8) + u64(std::uint64_t{1} << 62U), u32(0) + u64(std::uint64_t{1} << 40U),
                                        u32(9) + u64(UINT64_MAX), u32(8) + u64(1) + u64(std::uint64_t{1} << 40U)};
  for (const std::string& payload : arrays) {
    expect_error(open_built(GgufWriter().add_raw("k", 9, payload)), kBadFile, "GGUF header");
  }
  expect_error(open_built(GgufWriter().add_raw("k", 8, u64(std::uint64_t{1} << 40U))), kBadFile, "cut short");
}

std::string nested_array(std::size_t depth) {
  std::string payload;
  for (std::size_t level = 1; level < depth; ++level)
    payload += GgufWriter::bytes_of(9U) + GgufWriter::bytes_of(std::uint64_t{1});
  return payload + GgufWriter::bytes_of(0U) + GgufWriter::bytes_of(std::uint64_t{0});
}

TEST(GgufFaults, Row5NestedArraysAreBoundedInDepth) {
  EXPECT_TRUE(open_built(GgufWriter().add_raw("k", 9, nested_array(64))));
  expect_error(open_built(GgufWriter().add_raw("k", 9, nested_array(65))), kBadFile, "nested more than 64 deep");
  expect_error(open_built(GgufWriter().add_raw("k", 9, nested_array(100'000))), kBadFile, "nested more than 64 deep");
}

// Fault row 6: the four bytes of the magic.
TEST(GgufFaults, Row6MagicAloneIsRefused) {
  expect_error(open_bytes("GGUF"), kBadFile, "cut short");
}

// Fault row 7: the loader keeps vocabulary text as bytes and gives it no meaning.
TEST(GgufFaults, Row7VocabularyTextIsKeptAsItIs) {
  const std::vector<std::string> tokens{"<0x-1>", "<0xZZ>", std::string("a\0b", 3), "\xff"};
  auto model = open_built(GgufWriter().add_array("tokenizer.ggml.tokens", tokens));
  ASSERT_TRUE(model);
  const auto read = model->metadata.string_array("tokenizer.ggml.tokens");
  EXPECT_THAT(**read, ::testing::ElementsAreArray(tokens));
}

TEST(Gguf, RefusesDuplicateKeys) {
  expect_error(open_built(GgufWriter().add("k", 1U).add("k", 2U)), kBadFile,
               "metadata key \"k\" occurs more than once");
}

TEST(Gguf, RefusesNamesThatAreNotText) {
  expect_error(open_built(GgufWriter().add("\xff", 1U)), kBadFile, "not UTF-8");
  expect_error(open_built(GgufWriter().add_tensor("a\xc0", {8}, kEight)), kBadFile, "not UTF-8");
}

TEST(Gguf, MessagesEscapeWhatAFileSays) {
  expect_error(open_built(GgufWriter().add("a\n\x1b[31m", 1U).add("a\n\x1b[31m", 2U)), kBadFile, R"("a\x0a\x1b[31m")");
}

TEST(Gguf, RefusesAnOffsetThatIsNotAligned) {
  GgufWriter writer;
  writer.add_tensor("a", {8}, kEight).add_tensor_info("b", {1}, 0, 33);
  expect_error(open_built(writer), kBadFile, "multiple of the alignment 32");
}

TEST(Gguf, ManyTensorsAndKeysOpenInLinearTime) {
  GgufWriter writer;
  for (int i = 0; i < 50'000; ++i) {
    writer.add("key." + std::to_string(i), 1U);
    writer.add_tensor_info("t." + std::to_string(i), {8}, 0, static_cast<std::uint64_t>(i) * 32);
  }
  const std::string file = writer.build() + std::string(50'000 * 32, '\0');
  const auto begin = std::chrono::steady_clock::now();
  const auto model = open_bytes(file);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_NE(model->weights->find("t.49999"), nullptr);
}

TEST(GgufFaults, Row5NumbersOfKeysAndTensorsAreBounded) {
  const auto claim = [](std::uint64_t num_tensors, std::uint64_t num_entries) {
    return "GGUF" + GgufWriter::bytes_of(3U) + GgufWriter::bytes_of(num_tensors) + GgufWriter::bytes_of(num_entries) +
           std::string(10'000'000, '\0');
  };
  expect_error(open_bytes(claim(250'001, 0)), kBadFile, "at most 250000");
  expect_error(open_bytes(claim(0, 100'001)), kBadFile, "at most 100000");
}

TEST(Gguf, LargeVocabularyIsReadAsViewsInMilliseconds) {
  std::vector<std::string> tokens(262'144);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = "token" + std::to_string(i);
  auto model = open_built(GgufWriter().add_array("tokenizer.ggml.tokens", tokens));
  ASSERT_TRUE(model);
  const auto begin = std::chrono::steady_clock::now();
  const auto read = model->metadata.string_array("tokenizer.ggml.tokens");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(200));
  ASSERT_EQ((**read).size(), tokens.size());
  EXPECT_EQ((**read)[262'143], "token262143");
}

TEST(Gguf, WeightsStayReadableAfterTheirPagesAreReleased) {
  std::vector<float> values(100'000, 3.5F);
  auto model = open_built(GgufWriter().add_tensor("t", {1000, 100}, values));
  ASSERT_TRUE(model);
  const tensor::TensorView& view = *model->weights->find("t");
  model->weights->release_pages(view);
  float last = 0;
  std::memcpy(&last, view.bytes().last(4).data(), sizeof(last));
  EXPECT_EQ(last, 3.5F);
  read_everything(*model);
}

}  // namespace
}  // namespace vitrine::loader
