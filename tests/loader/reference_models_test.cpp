#include <gtest/gtest.h>

#include <map>
#include <string>

#include "loader/hf_directory.h"
#include "support/reference_data.h"

namespace vitrine::loader {
namespace {

namespace fs = std::filesystem;

const std::map<std::string, tensor::DType> kTypes{{"F32", tensor::DType::kF32},
                                                  {"F16", tensor::DType::kF16},
                                                  {"BF16", tensor::DType::kBF16},
                                                  {"U8", tensor::DType::kI8}};

void expect_tensor(const WeightSource& weights, const std::string& name, const nlohmann::json& type_and_shape) {
  const tensor::TensorView* view = weights.find(name);
  ASSERT_NE(view, nullptr) << name;
  const auto dims = type_and_shape.at(1).get<std::vector<std::size_t>>();
  EXPECT_EQ(view->shape, tensor::Shape(std::span<const std::size_t>(dims))) << name;
  EXPECT_EQ(view->type, kTypes.at(type_and_shape.at(0).get<std::string>())) << name;
}

// Opens a reference model and compares every tensor's name, type and shape with the list beside it.
void expect_listed_tensors(const fs::path& directory) {
  SCOPED_TRACE(directory.string());
  auto model = open_hf_directory(directory);
  ASSERT_TRUE(model) << model.error().message;
  const nlohmann::json listed = testing::read_json(directory / "reference.json").at("tensors");
  EXPECT_EQ(model->weights->tensors().size(), listed.size());
  for (const auto& [name, type_and_shape] : listed.items())
    expect_tensor(*model->weights, name, type_and_shape);
}

// All model folders below `root`; their number.
std::size_t expect_all_models(const fs::path& root) {
  std::size_t num_models = 0;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (!entry.is_directory()) continue;
    expect_listed_tensors(entry.path());
    ++num_models;
  }
  testing::count_cases("models_opened", num_models);
  return num_models;
}

TEST(ReferenceModels, ThoseOfTheRepositoryOpenWithTheListedTensors) {
  EXPECT_GE(expect_all_models(testing::data_path("models")), 11U);
}

TEST(ReferenceModels, AllOpenWithTheListedTensors) {
  const auto root = testing::reference_path("models");
  if (!root) VT_SKIP_WITHOUT("reference models");
  EXPECT_EQ(expect_all_models(*root), 31U);
}

}  // namespace
}  // namespace vitrine::loader
