#include "tools/synth/synth.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/thread_pool.h"
#include "quant/quant_format.h"

namespace vitrine::tools {
namespace {

// Values that are made at a time, so that memory stays bounded and every thread has rows to work on.
constexpr std::size_t kPieceElements = std::size_t{4} << 20U;

// SplitMix64 (Steele, Lea, Flood, 2014): a stream for each row, which therefore does not depend on who makes it.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t tensor_idx, std::uint64_t row_idx)
      : state_(mix(mix(mix(seed) + tensor_idx) + row_idx)) {}

  // Mean 0, standard deviation 1: the sum of four uniform numbers of 16 bits, which is bell-shaped, cheap and the same
  // on every machine.
  float next() {
    state_ += kStep;
    const std::uint64_t bits = mix(state_);
    const std::uint64_t sum = (bits & 0xFFFFU) + (bits >> 16U & 0xFFFFU) + (bits >> 32U & 0xFFFFU) + (bits >> 48U);
    constexpr float kMean = 2.0F * 65535.0F;
    constexpr float kInverseDeviation = 1.0F / 37837.23F;  // 65536 * sqrt(4 / 12)
    return (static_cast<float>(sum) - kMean) * kInverseDeviation;
  }

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15U;
  static std::uint64_t mix(std::uint64_t value) {
    value += kStep;
    value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
    value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
    return value ^ (value >> 31U);
  }

  std::uint64_t state_;
};

struct Distribution {
  float mean;
  float deviation;
};

// Frequency divisors of Llama 3 stay 1: what is measured does not depend on them.
Distribution distribution_of(const loader::GgufOutline::Entry& tensor) {
  if (tensor.name == "rope_freqs.weight") return {1.0F, 0.0F};
  if (tensor.shape.rank() == 1) return {1.0F, 0.05F};
  return {0.0F, 1.0F / std::sqrt(static_cast<float>(tensor.shape.row_elements()))};
}

class Synthesis {
 public:
  Synthesis(const std::filesystem::path& path, const loader::GgufOutline& outline, const SynthOptions& options,
            hub::Observer& observer)
      : file_(path, outline),
        outline_(outline),
        seed_(options.seed),
        pool_(std::max<std::size_t>(1, options.num_threads)),
        rows_(pool_.num_threads()),
        observer_(observer),
        what_(path.filename().string()),
        done_bytes_(outline.header().size()),
        total_bytes_(outline.file_bytes()) {}

  void write() {
    for (std::size_t tensor_idx = 0; tensor_idx < outline_.tensors().size(); ++tensor_idx)
      write_tensor(tensor_idx);
    file_.finish();
    observer_.progress(what_, total_bytes_, total_bytes_);
  }

 private:
  void write_tensor(std::size_t tensor_idx) {
    const loader::GgufOutline::Entry& tensor = outline_.tensors()[tensor_idx];
    const std::size_t num_rows = tensor.shape.num_rows();
    const std::size_t rows_at_once = std::max<std::size_t>(1, kPieceElements / tensor.shape.row_elements());
    for (std::size_t first_row = 0; first_row < num_rows; first_row += rows_at_once) {
      if (observer_.cancelled()) throw base::Exception(base::ErrorKind::kInterrupted, what_ + ": cancelled");
      make_rows(tensor_idx, first_row, std::min(rows_at_once, num_rows - first_row));
      file_.append(piece_);
      done_bytes_ += piece_.size();
      observer_.progress(what_, std::min(done_bytes_, total_bytes_ - 1), total_bytes_);
    }
  }

  void make_rows(std::size_t tensor_idx, std::size_t first_row, std::size_t num_rows) {
    const loader::GgufOutline::Entry& tensor = outline_.tensors()[tensor_idx];
    const std::size_t width = tensor.shape.row_elements();
    const std::size_t row_bytes = *tensor::dtype_bytes(tensor.type, width);
    const quant::QuantFormat* format = quant::find_quant_format(tensor.type);
    const auto [mean, deviation] = distribution_of(tensor);
    piece_.resize(num_rows * row_bytes);
    pool_.for_range(
        num_rows, 16,
        [&, mean = mean, deviation = deviation](std::size_t thread_idx, std::size_t begin, std::size_t end) {
          std::vector<float>& values = rows_[thread_idx];
          values.resize(width);
          for (std::size_t row = begin; row < end; ++row) {
            RandomStream random(seed_, tensor_idx, first_row + row);
            for (float& value : values)
              value = mean + deviation * random.next();
            format->encode(values.data(), piece_.data() + row * row_bytes, width);
          }
        });
  }

  loader::GgufFile file_;
  const loader::GgufOutline& outline_;
  std::uint64_t seed_;
  base::ThreadPool pool_;
  std::vector<std::vector<float>> rows_;  // [num_threads]
  std::vector<std::byte> piece_;
  hub::Observer& observer_;
  std::string what_;
  std::uint64_t done_bytes_;
  std::uint64_t total_bytes_;
};

}  // namespace

void write_synth(const std::filesystem::path& path, const loader::GgufOutline& outline, const SynthOptions& options,
                 hub::Observer& observer) {
  Synthesis(path, outline, options, observer).write();
}

}  // namespace vitrine::tools
