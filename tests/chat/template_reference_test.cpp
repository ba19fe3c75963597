// Real chat templates over real conversations, against what Jinja2 made of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "chat/chat_template.h"
#include "chat/json_text.h"
#include "support/reference_data.h"

namespace vitrine::chat {
namespace {

using Json = nlohmann::ordered_json;

// Templates of which not every render is equal, with the number of those that are.
struct Exception {
  const char* name;
  std::size_t num_equal;
};
constexpr Exception kExceptions[] = {
    // Prints what a generator object serialises to, where Jinja2 refuses to.
    {"llama-cpp-deepseek-r1", 27},
    // Adds to strings marked as safe, which escapes HTML in Jinja2.
    {"meetkai-functionary-medium-v3.1", 27},
};

std::optional<Json> read_reference(const std::string& name) {
  const auto path = testing::reference_path("templates/" + name);
  if (!path) return std::nullopt;
  return *parse_json(testing::read_file(*path), name);
}

RenderRequest request_of(const Json& reference, const Json& conversations, const Json& render) {
  RenderRequest request;
  request.messages = conversations["conversations"][render["c"].get<std::string>()];
  request.variables = reference["meta"]["special_tokens"];
  request.now = *LocalTime::parse(conversations["now"].get<std::string>());
  const Json& options = conversations["options"][render["o"].get<std::string>()];
  if (auto refused = request.apply_options(options); !refused) ADD_FAILURE() << refused.error().message;
  return request;
}

bool is_equal(const base::Result<std::string>& ours, const Json& render) {
  if (render.contains("error")) return !ours;
  return ours && *ours == render["text"].get_ref<const std::string&>();
}

std::size_t count_equal(const Json& reference, const Json& conversations) {
  const auto compiled = ChatTemplate::compile(reference["template"].get_ref<const std::string&>());
  if (!compiled) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(reference["renders"], [&](const Json& render) {
    return is_equal(compiled->render(request_of(reference, conversations, render)), render);
  }));
}

TEST(TemplateReference, EveryTemplateRendersAsInJinja) {
  const auto folder = testing::reference_path("templates");
  const auto conversations = read_reference("conversations.json");
  if (!folder || !conversations) VT_SKIP_WITHOUT("reference/templates");
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(*folder))
    files.insert(entry.path());
  std::size_t num_renders = 0;
  for (const auto& file : files) {
    const std::string name = file.stem().string();
    if (name == "conversations") continue;
    const auto reference = read_reference(file.filename().string());
    const std::size_t num_all = (*reference)["renders"].size();
    const auto* exception = std::ranges::find(kExceptions, name, &Exception::name);
    const std::size_t num_expected = exception != std::end(kExceptions) ? exception->num_equal : num_all;
    const std::size_t num_equal = count_equal(*reference, *conversations);
    fmt::print("{:60} {} of {}\n", name, num_equal, num_all);
    EXPECT_GE(num_equal, num_expected) << name;
    num_renders += num_all;
  }
  testing::count_cases("templates", num_renders);
}

}  // namespace
}  // namespace vitrine::chat
