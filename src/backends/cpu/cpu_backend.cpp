#include "backends/cpu/cpu_backend.h"

#include <algorithm>

#include "base/check.h"
#include "quant/quant_format.h"

namespace vitrine::backends::cpu {
namespace {

std::string_view path_name(NumericPath path) {
  switch (path) {
    case NumericPath::kThroughput:
      return "throughput";
    case NumericPath::kPairs:
      return "pairs";
    case NumericPath::kLatency:
      return "latency";
    case NumericPath::kReference:
      return "reference";
  }
  return "";
}

// Fewer rows than this are not worth waking another thread for.
constexpr std::size_t kRowGrain = 8;

void scale_row(float* row, std::size_t width, float scale) {
  if (scale == 1.0F) return;
  for (std::size_t i = 0; i < width; ++i)
    row[i] *= scale;
}

}  // namespace

PathTable PathTable::for_isa(Isa isa) {
  PathTable table;
  if (isa == Isa::kAmx) table.prompt = NumericPath::kThroughput;
  table.pairs_attention = isa == Isa::kAvx512Bf16;
  return table;
}

std::string PathTable::name() const {
  std::string all = "prompt=" + std::string(path_name(prompt)) + " generated=" + std::string(path_name(generated));
  if (pairs_attention) all += " attention=" + std::string(path_name(prompt_attention()));
  return all;
}

CpuBackend::CpuBackend(const Options& options)
    : options_(options),
      kernels_(options.kernels != nullptr ? *options.kernels : kernel_table(options.isa)),
      pool_(std::max<std::size_t>(1, options.num_threads), options.pinned_cpus),
      weights_(options.cache),
      thread_scratch_(pool_.num_threads()) {
  VT_CHECK((options.paths.prompt == NumericPath::kReference) == (options.paths.generated == NumericPath::kReference),
           "the reference path is for all rows or for none");
  throughput_rows_.throughput = true;
}

std::unique_ptr<ops::Matrix> CpuBackend::load_matrix(const tensor::TensorView& weight, ops::MatrixUse use) {
  const bool reference = options_.paths.generated == NumericPath::kReference;
  const PackedMatrix::Options options{.use = use, .as_float32 = reference, .screening = options_.screening};
  return std::make_unique<PackedMatrix>(weight, options, weights_, pool_);
}

bool CpuBackend::keeps_source(tensor::DType type) const {
  return options_.paths.generated != NumericPath::kReference && PackedMatrix::kind_of(type) == PackedKind::kRaw;
}

std::size_t CpuBackend::scratch_bytes() const {
  std::size_t total = 0;
  for (const PathRows* rows : {&latency_rows_, &throughput_rows_}) {
    total +=
        rows->codes.size_bytes() + rows->factors.size_bytes() + rows->floats.size_bytes() + rows->bf16.size_bytes();
  }
  for (const AlignedBuffer& buffer : thread_scratch_)
    total += buffer.size_bytes();
  return total + screening_.size_bytes() + attention_records_.size_bytes() + attention_slabs_.size_bytes();
}

void CpuBackend::do_embed(const tensor::TensorView& table, std::span<const TokenId> ids, float scale, ops::Rows out) {
  const quant::QuantFormat* format = quant::find_quant_format(table.type);
  VT_CHECK(format != nullptr, "every element type has a decoder");
  for (std::size_t row_idx = 0; row_idx < ids.size(); ++row_idx) {
    float* row = out.row(row_idx);
    format->decode(table.row(static_cast<std::size_t>(ids[row_idx])), row, out.width);
    scale_row(row, out.width, scale);
  }
}

void CpuBackend::for_each(std::size_t count, const std::function<void(std::size_t)>& task) {
  pool_.for_range(count, 1, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      task(i);
  });
}

// A packed tile holds its rows interleaved: the whole tile is unpacked for one of them.
void CpuBackend::do_embed_packed(const ops::Matrix& table, std::span<const TokenId> ids, float scale, ops::Rows out) {
  const PackedMatrix& matrix = packed(table);
  pool_.for_range(ids.size(), kRowGrain, [&](std::size_t thread_idx, std::size_t begin, std::size_t end) {
    for (std::size_t row_idx = begin; row_idx < end; ++row_idx) {
      const auto id = static_cast<std::size_t>(ids[row_idx]);
      const float* lane = decode_slab(matrix, id / kTileRows, false, thread_scratch_[thread_idx]) + id % kTileRows;
      float* row = out.row(row_idx);
      for (std::size_t i = 0; i < out.width; ++i)
        row[i] = lane[i * kTileRows];
      scale_row(row, out.width, scale);
    }
  });
}

void CpuBackend::do_rms_norm(ops::Rows x, std::span<const float> weight, float eps, ops::Rows out) {
  const std::size_t width = weight.size();
  const std::size_t parts = x.width / width;
  pool_.for_range(x.num_rows * parts, kRowGrain * parts, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t part = begin; part < end; ++part) {
      kernels_.rms_norm(x.data + part * width, weight.data(), out.data + part * width, width, eps);
    }
  });
}

void CpuBackend::do_add(ops::Rows x, ops::Rows y) {
  pool_.for_range(x.num_rows, kRowGrain, [&](std::size_t, std::size_t begin, std::size_t end) {
    float* sum = x.row(begin);
    const float* addend = y.row(begin);
    for (std::size_t i = 0; i < (end - begin) * x.width; ++i)
      sum[i] += addend[i];
  });
}

void CpuBackend::do_add_bias(ops::Rows x, std::span<const float> bias) {
  pool_.for_range(x.num_rows, kRowGrain, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t row_idx = begin; row_idx < end; ++row_idx) {
      float* row = x.row(row_idx);
      for (std::size_t i = 0; i < x.width; ++i)
        row[i] += bias[i];
    }
  });
}

void CpuBackend::do_activate_and_multiply(ops::Activation activation, ops::Rows gate, ops::Rows up) {
  const auto kernel = activation == ops::Activation::kSilu ? kernels_.silu_mul : kernels_.gelu_tanh_mul;
  pool_.for_range(gate.num_rows, kRowGrain, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t row_idx = begin; row_idx < end; ++row_idx)
      kernel(gate.row(row_idx), up.row(row_idx), gate.row(row_idx), gate.width);
  });
}

namespace {

// The pairs (2i, 2i + 1) of one head. A plain loop: the same roundings on every instruction set.
void rotate_neighbours(float* head, const float* cosines, const float* sines, std::size_t num_pairs) {
  for (std::size_t pair = 0; pair < num_pairs; ++pair) {
    float& first = head[2 * pair];
    float& second = head[2 * pair + 1];
    const float turned = first * cosines[pair] - second * sines[pair];
    second = second * cosines[pair] + first * sines[pair];
    first = turned;
  }
}

}  // namespace

void CpuBackend::do_rope(ops::Rows heads, std::size_t head_dim, const ops::RopeAngles& angles) {
  pool_.for_range(heads.num_rows, kRowGrain, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t row_idx = begin; row_idx < end; ++row_idx) {
      const float* cosines = angles.cosines.data() + row_idx * angles.num_pairs;
      const float* sines = angles.sines.data() + row_idx * angles.num_pairs;
      for (std::size_t start = 0; start < heads.width; start += head_dim) {
        float* head = heads.row(row_idx) + start;
        angles.interleaved ? rotate_neighbours(head, cosines, sines, angles.num_pairs)
                           : kernels_.rotate_pairs(head, head + angles.num_pairs, cosines, sines, angles.num_pairs);
      }
    }
  });
}

}  // namespace vitrine::backends::cpu
