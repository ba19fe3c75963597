#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/token_id.h"

// What the text commands (tokenize, detokenize, count) read. All functions throw base::Exception (kUsage, kIo).
namespace vitrine::cli {

// All of stdin, byte for byte. Refuses a terminal, on which nothing was piped in; `what` names what is missing.
std::string read_piped(std::string_view what);

// The JSON values on stdin, one a line.
class JsonLines {
 public:
  // The next value; nullopt at the end of stdin. Refuses a line that is not JSON, by its number.
  std::optional<nlohmann::json> next();
  // Refuses the line that next gave last.
  [[noreturn]] void refuse(std::string_view reason) const;

 private:
  std::size_t line_number_ = 0;
};

// Token ids as people write them: "1,2,3", "1 2 3" or "[1, 2, 3]". May be none.
std::vector<TokenId> parse_token_ids(std::string_view text);

}  // namespace vitrine::cli
