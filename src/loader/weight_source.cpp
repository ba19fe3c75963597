#include "loader/weight_source.h"

#include <functional>

#include "loader/errors.h"

namespace vitrine::loader {
namespace {

NameIndex index_names(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const NamedTensor& tensor : tensors)
    names.emplace_back(tensor.name);
  return NameIndex(names);
}

bool contains(std::span<const std::byte> outer, std::span<const std::byte> inner) {
  const std::less_equal<const std::byte*> not_after;
  return not_after(outer.data(), inner.data()) && not_after(inner.data() + inner.size(), outer.data() + outer.size());
}

}  // namespace

base::Result<std::unique_ptr<WeightSource>> WeightSource::create(std::vector<base::MappedFile> files,
                                                                 std::vector<NamedTensor> tensors) {
  std::unique_ptr<WeightSource> source(new WeightSource(std::move(files), std::move(tensors)));
  if (const auto name = source->index_.duplicate()) {
    return base::bad_file("tensor " + in_quotes(*name) + " occurs more than once");
  }
  return source;
}

WeightSource::WeightSource(std::vector<base::MappedFile> files, std::vector<NamedTensor> tensors)
    : files_(std::move(files)), tensors_(std::move(tensors)), index_(index_names(tensors_)) {}

WeightSource::~WeightSource() = default;

const tensor::TensorView* WeightSource::find(std::string_view name) const {
  const auto tensor_idx = index_.find(name);
  return tensor_idx ? &tensors_[*tensor_idx].view : nullptr;
}

std::uint64_t WeightSource::file_bytes() const {
  std::uint64_t sum = 0;
  for (const base::MappedFile& file : files_)
    sum += file.bytes().size();
  return sum;
}

std::string WeightSource::identity() const {
  std::string text;
  for (const base::MappedFile& file : files_)
    text += file.identity() + "\n";
  return text;
}

void WeightSource::release_pages(const tensor::TensorView& view) const {
  for (const base::MappedFile& file : files_) {
    if (contains(file.bytes(), view.bytes())) return file.release_pages(view.bytes());
  }
}

}  // namespace vitrine::loader
