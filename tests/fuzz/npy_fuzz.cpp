// Any bytes as a .npy file: either an error, or an array whose size agrees with its shape.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "tensor/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto array = vitrine::tensor::parse_npy(std::as_bytes(std::span(data, size)));
  if (array) VT_CHECK(array->view().size_bytes() == array->bytes.size(), "an array of another size than its shape");
  return 0;
}
