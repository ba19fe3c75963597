#include "tools/open_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/gguf_writer.h"
#include "support/temp_dir.h"

namespace vitrine::tools {
namespace {

using ::testing::HasSubstr;
using vitrine::testing::GgufWriter;
using vitrine::testing::TempDir;

TEST(OpenModel, TakesTheTemplateOfAGgufFromItsKey) {
  const TempDir directory;
  const auto write = [&directory](const GgufWriter& writer) { return directory.write("m.gguf", writer.build()); };
  EXPECT_EQ(open_model(write(GgufWriter().add("tokenizer.chat_template", "{{ x }}")))->chat_template, "{{ x }}");
  EXPECT_EQ(open_model(write(GgufWriter().add("general.architecture", "llama")))->chat_template, std::nullopt);
}

TEST(OpenModel, RefusesATemplateThatIsNoText) {
  const TempDir directory;
  const auto model = open_model(directory.write("m.gguf", GgufWriter().add("tokenizer.chat_template", 7U).build()));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().kind, base::ErrorKind::kBadFile);
  EXPECT_THAT(model.error().message, HasSubstr("tokenizer.chat_template"));
}

}  // namespace
}  // namespace vitrine::tools
