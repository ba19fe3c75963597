#include "tools/synth/synth.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "loader/gguf.h"
#include "quant/quant_format.h"
#include "support/temp_dir.h"
#include "tools/open_model.h"
#include "tools/synth/synth_tokenizer.h"

namespace vitrine::tools {
namespace {

using plan::ModelShape;
using plan::TensorTypes;

class Silent final : public hub::Observer {
 public:
  explicit Silent(std::size_t most_calls = 1'000'000) : calls_left_(most_calls) {}
  void note(std::string_view /*line*/) override {}
  void progress(std::string_view /*what*/, std::uint64_t done, std::uint64_t total) override {
    EXPECT_LE(done, total);
    if (calls_left_ > 0) --calls_left_;
  }
  bool cancelled() const override { return calls_left_ == 0; }

 private:
  std::size_t calls_left_;
};

TensorTypes types(std::string_view name) {
  return TensorTypes::parse(name).value_or_throw();
}

loader::GgufModel write(const std::filesystem::path& path, std::string_view shape, std::string_view type,
                        const SynthOptions& options = {}) {
  Silent observer;
  write_synth(path, synth_outline(*plan::find_model_shape(shape), types(type)), options, observer);
  return loader::open_gguf(path).value_or_throw();
}

std::string bytes_of(const std::filesystem::path& path) {
  const auto file = base::MappedFile::open(path).value_or_throw();
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(Synth, TheSeedAloneDecidesTheBytes) {
  const testing::TempDir folder;
  const auto path = [&](const char* name) { return folder.path() / name; };
  write(path("a"), "tiny-moe", "q4_k_m", {.seed = 3, .num_threads = 1});
  write(path("b"), "tiny-moe", "q4_k_m", {.seed = 3, .num_threads = 2});
  write(path("c"), "tiny-moe", "q4_k_m", {.seed = 4, .num_threads = 2});
  EXPECT_EQ(bytes_of(path("a")), bytes_of(path("b")));
  EXPECT_NE(bytes_of(path("a")), bytes_of(path("c")));
}

TEST(Synth, WeightsHaveMeanZeroAndTheDeviationOfTheirWidth) {
  const testing::TempDir folder;
  const auto model = write(folder.path() / "model.gguf", "tiny-llama", "f32");
  const tensor::TensorView* view = model.weights->find("blk.1.ffn_up.weight");
  std::vector<float> values(view->shape.num_elements());
  quant::find_quant_format(view->type)->decode(view->data, values.data(), values.size());
  double sum = 0.0;
  double squares = 0.0;
  for (const float value : values) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 0.0, 1e-3);
  EXPECT_NEAR(std::sqrt(squares / count), 1.0 / 16.0, 1e-3);
}

TEST(Synth, EveryShapeHasAnOutlineOfDifferentNames) {
  for (const ModelShape& shape : plan::model_shapes()) {
    if (shape.vocab_size > 60'000 || !shape.is_computed()) continue;
    const loader::GgufOutline outline = synth_outline(shape, types("q4_k_m"));
    std::set<std::string> names;
    for (const auto& tensor : outline.tensors())
      names.insert(tensor.name);
    EXPECT_EQ(names.size(), outline.tensors().size()) << shape.name;
  }
}

TEST(Synth, ACancelledFileLeavesNothingBehind) {
  const testing::TempDir folder;
  Silent observer(3);
  const loader::GgufOutline outline = synth_outline(*plan::find_model_shape("tiny-llama"), types("q8_0"));
  EXPECT_THROW(write_synth(folder.path() / "model.gguf", outline, {}, observer), base::Exception);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SynthVocabulary, OfEverySizeHasDifferentTokensAndMergesInOrder) {
  for (const std::size_t size : {512U, 32000U, 70000U}) {
    const SynthVocabulary vocabulary = synth_vocabulary(size);
    EXPECT_EQ(vocabulary.tokens.size(), size);
    EXPECT_EQ(vocabulary.merges.size(), size - 256 - 3);
    EXPECT_EQ(std::set<std::string>(vocabulary.tokens.begin(), vocabulary.tokens.end()).size(), size);
  }
}

TEST(SynthVocabulary, EncodesTextInFewerTokensThanBytes) {
  const testing::TempDir folder;
  write(folder.path() / "model.gguf", "tiny-llama", "q8_0");
  const auto tokenizer = open_tokenizer(folder.path() / "model.gguf").value_or_throw();
  const std::string text = "there is an old tree on the hill\n\xE6\xA0\x91";
  const auto ids = tokenizer->encode(text, {}).value_or_throw();
  EXPECT_LT(ids.size(), text.size() - 5);
  EXPECT_EQ(tokenizer->decode(ids), text);
}

}  // namespace
}  // namespace vitrine::tools
