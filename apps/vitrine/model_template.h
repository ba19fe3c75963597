#pragma once

#include <optional>
#include <string>

#include "chat/chat_template.h"
#include "tools/open_model.h"

namespace vitrine::cli {

// The chat template in the file `path`, or the model's own where that is empty; nullopt where it has none. Throws
// base::Exception that names the file.
std::optional<chat::ChatTemplate> compile_template(const tools::ModelBundle& bundle, const std::string& path);

}  // namespace vitrine::cli
