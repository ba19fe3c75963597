#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "loader/name_index.h"
#include "tensor/tensor.h"

namespace vitrine::loader {

struct NamedTensor {
  std::string name;
  tensor::TensorView view;
};

// The tensors of one model, in file order, as views into the mapped files that it owns. Nothing is copied, so a view's
// data has only the alignment that the file gives it (in old safetensors files: none); read it with memcpy or
// unaligned loads. Views die with the source. Read-only and safe from any thread. A derived class may own other memory.
class WeightSource {
 public:
  // kBadFile when two tensors have one name. The views must point into `files`, or into memory that outlives the
  // source.
  static base::Result<std::unique_ptr<WeightSource>> create(std::vector<base::MappedFile> files,
                                                            std::vector<NamedTensor> tensors);

  WeightSource(const WeightSource&) = delete;
  WeightSource& operator=(const WeightSource&) = delete;
  virtual ~WeightSource();

  std::span<const NamedTensor> tensors() const { return tensors_; }
  const tensor::TensorView* find(std::string_view name) const;  // nullptr when there is none
  std::uint64_t file_bytes() const;                             // sum over the files, headers included

  // Of all files, MappedFile::identity(): it changes when any of them does.
  std::string identity() const;

  // Says that a weight will not be read again soon (it has been repacked), so its pages leave our resident set.
  // It can still be read: the kernel brings the pages back from the file.
  void release_pages(const tensor::TensorView& view) const;

 protected:
  WeightSource(std::vector<base::MappedFile> files, std::vector<NamedTensor> tensors);

 private:
  std::vector<base::MappedFile> files_;
  std::vector<NamedTensor> tensors_;
  NameIndex index_;
};

}  // namespace vitrine::loader
