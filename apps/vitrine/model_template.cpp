#include "vitrine/model_template.h"

#include <utility>

#include "vitrine/text_input.h"

namespace vitrine::cli {

std::optional<chat::ChatTemplate> compile_template(const tools::ModelBundle& bundle, const std::string& path) {
  const bool is_own = path.empty();
  if (is_own && !bundle.chat_template) return std::nullopt;
  auto compiled = chat::ChatTemplate::compile(is_own ? *bundle.chat_template : read_file(path));
  if (compiled) return std::move(compiled).value();
  const base::Error& error = compiled.error();
  throw base::Exception(error.kind, (is_own ? bundle.path.string() : path) + ": " + error.message);
}

}  // namespace vitrine::cli
