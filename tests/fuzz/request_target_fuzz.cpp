// Any text as a method, a path and a query: a route or a refusal that can be sent, values of the query within their
// limits, and none of the text in what is answered.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "server/api_error.h"
#include "server/path_pattern.h"
#include "server/query.h"
#include "server/router.h"

namespace {

using namespace vitrine;

template <typename Read>
void try_to(Read read) {
  try {
    read();
  } catch (const server::ApiException& exception) {
    const server::ApiError& error = exception.error();
    VT_CHECK(error.status == 400 || error.status == 404 || error.status == 405, "a status that is the client's fault");
    VT_CHECK(!error.message.empty() && error.message.find('\n') == std::string::npos, "a message of several lines");
    VT_CHECK(base::is_valid_utf8(error.json()), "an answer that is not UTF-8");
  }
}

void find(std::string_view method, std::string_view path) {
  const server::Route& route = server::find_route(method, path);
  const auto parts = server::match_path(server::strip_base(route.path), server::strip_base(path));
  VT_CHECK(parts.has_value(), "a route that does not fit");
  const auto num_braces = static_cast<std::size_t>(std::ranges::count(route.path, '{'));
  VT_CHECK(parts->size() == num_braces, "a part in braces without its value");
  VT_CHECK(std::ranges::none_of(*parts, &std::string::empty), "an empty part");
}

void read_query(std::string_view text) {
  constexpr std::size_t kEnd = 1000;
  const server::Query query(text, {"step", "first", "count", "layer", "head", "model"});
  for (const std::string_view name : {"step", "first", "count", "layer", "head", "model"})
    try_to([&] { VT_CHECK(query.number(name, kEnd) < kEnd, "a number beyond its limit"); });
  VT_CHECK(!query.text("step") || !query.text("step")->empty(), "an empty value");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t space = std::min(text.find(' '), size);
  const std::string_view target = text.substr(std::min(space + 1, size));
  const std::size_t mark = std::min(target.find('?'), target.size());
  try_to([&] { find(text.substr(0, space), target.substr(0, mark)); });
  try_to([&] { read_query(target.substr(std::min(mark + 1, target.size()))); });
  return 0;
}
