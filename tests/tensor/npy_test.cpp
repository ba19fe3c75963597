#include "tensor/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/reference_data.h"
#include "support/temp_dir.h"

namespace vitrine::tensor {
namespace {

using testing::TempDir;

base::Result<NpyArray> parse(const std::string& file) {
  return parse_npy(std::as_bytes(std::span(file.data(), file.size())));
}

// A file of version 1.0 with this dict and data.
std::string npy_file(const std::string& dict, std::size_t data_bytes) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(dict.size() & 0xFFU);
  file += static_cast<char>(dict.size() >> 8U);
  return file + dict + std::string(data_bytes, '\0');
}

template <typename T>
void expect_round_trip(DType type, const Shape& shape, const std::vector<T>& values) {
  const TempDir directory;
  const auto path = directory.path() / "array.npy";
  ASSERT_TRUE(write_npy(path, {type, shape, reinterpret_cast<const std::byte*>(values.data())}));
  auto array = read_npy(path);
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->type, type);
  EXPECT_EQ(array->shape, shape);
  EXPECT_TRUE(std::ranges::equal(array->bytes, std::as_bytes(std::span(values))));
}

TEST(Npy, EveryTypeAndRankComesBackAsItWasWritten) {
  expect_round_trip<float>(DType::kF32, {2, 3}, {1, 2, 3, 4, 5, -6.5F});
  expect_round_trip<std::int32_t>(DType::kI32, {4}, {1, -2, 3, INT32_MIN});
  expect_round_trip<std::int64_t>(DType::kI64, {1, 1, 2, 1}, {INT64_MAX, -1});
  expect_round_trip<float>(DType::kF32, {}, {7});
  expect_round_trip<float>(DType::kF32, {0, 5}, {});
}

TEST(Npy, DataBeginsAtAMultipleOf64Bytes) {
  const TempDir directory;
  const float value = 1;
  ASSERT_TRUE(write_npy(directory.path() / "a.npy", {DType::kF32, {1}, reinterpret_cast<const std::byte*>(&value)}));
  EXPECT_EQ(testing::read_file(directory.path() / "a.npy").size() % 64, 4U);
}

TEST(Npy, ReadsWhatNumpyWrote) {
  auto array = read_npy(testing::data_path("models/llama/logits_7.npy"));
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->shape, (Shape{7, 320}));
  EXPECT_EQ(array->type, DType::kF32);
}

TEST(Npy, RefusesOtherKindsAndWrongSizes) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  ASSERT_TRUE(parse(npy_file(good, 8)));
  EXPECT_FALSE(parse(npy_file(good, 7)));
  EXPECT_FALSE(parse(npy_file(good, 9)));
  for (const char* dict : {
           "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }",
           "{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2 2), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,2), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387906,), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}",
           "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }",
           "",
       }) {
    EXPECT_FALSE(parse(npy_file(dict, 8))) << dict;
  }
}

TEST(Npy, EveryPrefixIsRefused) {
  const std::string whole = npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 8);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse(whole.substr(0, size))) << size;
}

TEST(Npy, ErrorsNameTheFile) {
  EXPECT_EQ(read_npy("/nonexistent.npy").error().kind, base::ErrorKind::kMissing);
  const TempDir directory;
  const auto path = directory.write("bad.npy", "text");
  EXPECT_THAT(read_npy(path).error().message, ::testing::HasSubstr(path.string()));
}

TEST(Npy, AnUnwritablePlaceIsAnError) {
  const float value = 1;
  const TensorView view{DType::kF32, {1}, reinterpret_cast<const std::byte*>(&value)};
  EXPECT_EQ(write_npy("/nonexistent/a.npy", view).error().kind, base::ErrorKind::kIo);
}

}  // namespace
}  // namespace vitrine::tensor
