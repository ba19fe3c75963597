#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/token_id.h"
#include "tokenizer/tokenizer.h"
#include "trace/timeline.h"

// What commands read and turn into tokens. All functions throw base::Exception (kUsage, kIo, or what a file gives).
namespace vitrine::cli {

// Throws kUsage.
[[noreturn]] void refuse(std::string message);

// All of a file, byte for byte.
std::string read_file(const std::string& path);

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
// The same between any of `separators`. `complain` gets the text from the first thing on that is no id; it must throw.
std::vector<TokenId> parse_token_ids(std::string_view text, std::string_view separators,
                                     const std::function<void(std::string_view rest)>& complain);

// The ids of a text, under a span of `timeline` that names its bytes and tokens.
std::vector<TokenId> encode_text(const tokenizer::Tokenizer& tokenizer, std::string_view text,
                                 const tokenizer::EncodeOptions& options, trace::Timeline& timeline);

}  // namespace vitrine::cli
