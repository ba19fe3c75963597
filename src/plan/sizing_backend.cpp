#include "plan/sizing_backend.h"

#include "base/check.h"

namespace vitrine::plan {
namespace {

class SizedMatrix final : public ops::Matrix {
 public:
  // What the file's memory keeps is counted by whoever loads it.
  SizedMatrix(const ops::MatrixSize& size, const ops::MemoryModel& memory)
      : size_(size), bytes_(memory.keeps_source(size.type) ? 0 : memory.matrix_bytes(size)) {}

  std::size_t out_features() const override { return size_.out_features; }
  std::size_t in_features() const override { return size_.in_features; }
  std::size_t size_bytes() const override { return bytes_; }

 private:
  ops::MatrixSize size_;
  std::size_t bytes_;
};

[[noreturn]] void refuse_to_compute() {
  VT_CHECK(false, "a backend that counts computes nothing");
  __builtin_unreachable();
}

}  // namespace

std::unique_ptr<ops::Matrix> SizingBackend::load_matrix(const tensor::TensorView& weight, ops::MatrixUse use) {
  matrices_.push_back({weight.type, weight.shape[0], weight.shape[1], use});
  return std::make_unique<SizedMatrix>(matrices_.back(), memory_);
}

void SizingBackend::for_each(std::size_t, const std::function<void(std::size_t)>&) {
  refuse_to_compute();
}

void SizingBackend::do_embed(const tensor::TensorView&, std::span<const TokenId>, float, ops::Rows) {
  refuse_to_compute();
}
void SizingBackend::do_embed_packed(const ops::Matrix&, std::span<const TokenId>, float, ops::Rows) {
  refuse_to_compute();
}
void SizingBackend::do_rms_norm(ops::Rows, std::span<const float>, float, ops::Rows) {
  refuse_to_compute();
}
void SizingBackend::do_matmul(ops::Rows, std::span<const ops::Role>, std::span<const ops::MatmulOutput>) {
  refuse_to_compute();
}
bool SizingBackend::do_matmul_peaks(ops::Rows, std::span<const ops::Role>, const ops::Matrix&,
                                    std::span<std::optional<base::RowPeak>>) {
  refuse_to_compute();
}
void SizingBackend::do_expert_matmul(ops::Rows, std::span<const ops::Role>, const ops::ExpertChoices&,
                                     std::span<const ops::ExpertOutput>) {
  refuse_to_compute();
}
void SizingBackend::do_combine_experts(ops::Rows, const ops::ExpertChoices&, ops::Rows) {
  refuse_to_compute();
}
void SizingBackend::do_add(ops::Rows, ops::Rows) {
  refuse_to_compute();
}
void SizingBackend::do_add_bias(ops::Rows, std::span<const float>) {
  refuse_to_compute();
}
void SizingBackend::do_activate_and_multiply(ops::Activation, ops::Rows, ops::Rows) {
  refuse_to_compute();
}
void SizingBackend::do_rope(ops::Rows, std::size_t, const ops::RopeAngles&) {
  refuse_to_compute();
}
void SizingBackend::do_store_kv(ops::Rows, ops::Rows, const ops::AttentionContext&) {
  refuse_to_compute();
}
void SizingBackend::do_attention(ops::Rows, const ops::AttentionShape&, const ops::AttentionContext&, ops::Rows) {
  refuse_to_compute();
}

}  // namespace vitrine::plan
