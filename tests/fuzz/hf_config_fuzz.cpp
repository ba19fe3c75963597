// Any bytes as a JSON file of a model folder: an error of ours, or an object whose chat template can be looked up.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "loader/hf_directory.h"
#include "loader/json_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto json = vitrine::loader::parse_json_object({reinterpret_cast<const char*>(data), size});
    static_cast<void>(vitrine::loader::chat_template_of(json));
  } catch (const vitrine::base::Exception&) {
  }
  return 0;
}
