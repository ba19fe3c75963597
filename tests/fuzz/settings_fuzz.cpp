// Any text as a file of settings and as one of prices: words for a command line, or a refusal that names the file.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/result.h"
#include "cost/prices.h"
#include "settings/settings_file.h"

namespace {

using namespace vitrine;

template <typename Read>
void try_to(Read read) {
  try {
    read();
  } catch (const base::Exception& exception) {
    VT_CHECK(exception.error().kind == base::ErrorKind::kConfig, "an error that is ours");
    VT_CHECK(exception.error().message.starts_with("x.toml: "), "the file's name");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_to([text] { settings::read_settings_text(text, "x.toml"); });
  try_to([text] {
    const auto prices = cost::PriceTable::parse(text, "x.toml");
    for (const std::string& model : prices.models())
      VT_CHECK(prices.cost(model, 90'000'000, 0, 0).nano >= 0, "a price below nothing");
  });
  return 0;
}
