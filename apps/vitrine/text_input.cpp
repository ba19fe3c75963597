#include "vitrine/text_input.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "base/result.h"

namespace vitrine::cli {
namespace {

void check_stdin() {
  if (std::ferror(stdin) != 0) throw base::Exception(base::ErrorKind::kIo, "stdin: cannot be read");
}

// One line of stdin without its end; nullopt behind the last.
std::optional<std::string> read_line() {
  char* buffer = nullptr;
  std::size_t capacity = 0;
  const ssize_t length = ::getline(&buffer, &capacity, stdin);
  const std::unique_ptr<char, decltype(&std::free)> owner(buffer, &std::free);
  check_stdin();
  if (length < 0) return std::nullopt;
  std::string line(buffer, static_cast<std::size_t>(length));
  if (line.ends_with('\n')) line.pop_back();
  return line;
}

}  // namespace

void refuse(std::string message) {
  throw base::Exception(base::ErrorKind::kUsage, std::move(message));
}

std::string read_file(const std::string& path) {
  const base::MappedFile file = base::MappedFile::open(path).value_or_throw();
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

std::string read_piped(std::string_view what) {
  if (::isatty(STDIN_FILENO) == 1) {
    cli::refuse(fmt::format("{}: none given; add it as the last argument or pipe it in", what));
  }
  std::string text;
  char buffer[65536];
  for (std::size_t count = 0; (count = std::fread(buffer, 1, sizeof(buffer), stdin)) > 0;)
    text.append(buffer, count);
  check_stdin();
  return text;
}

std::optional<nlohmann::json> JsonLines::next() {
  const auto line = read_line();
  if (!line) return std::nullopt;
  ++line_number_;
  auto value = nlohmann::json::parse(*line, nullptr, false);
  if (value.is_discarded()) refuse("is not JSON; write one value a line");
  return value;
}

void JsonLines::refuse(std::string_view reason) const {
  cli::refuse(fmt::format("stdin line {}: {}", line_number_, reason));
}

std::vector<TokenId> parse_token_ids(std::string_view text) {
  return parse_token_ids(text, " ,[]\n\t", [](std::string_view rest) {
    refuse(fmt::format("ids: \"{}\" is not a token id; write them like 1,2,3", rest.substr(0, 24)));
  });
}

std::vector<TokenId> parse_token_ids(std::string_view text, std::string_view separators,
                                     const std::function<void(std::string_view rest)>& complain) {
  const auto separates = [&](char c) { return separators.find(c) != std::string_view::npos; };
  std::vector<TokenId> ids;
  const char* next = text.data();
  const char* const end = next + text.size();
  while (next < end) {
    if (separates(*next)) {
      ++next;
      continue;
    }
    TokenId id = 0;
    const auto [after, code] = std::from_chars(next, end, id);
    if (code != std::errc() || (after < end && !separates(*after))) {
      complain({next, static_cast<std::size_t>(end - next)});
    }
    ids.push_back(id);
    next = after;
  }
  return ids;
}

std::vector<TokenId> encode_text(const tokenizer::Tokenizer& tokenizer, std::string_view text,
                                 const tokenizer::EncodeOptions& options, trace::Timeline& timeline) {
  trace::ScopedSpan span(timeline, trace::Stage::kTokenize);
  std::vector<TokenId> ids = tokenizer.encode(text, options).value_or_throw();
  span.annotate("bytes", static_cast<std::int64_t>(text.size()));
  span.annotate("tokens", static_cast<std::int64_t>(ids.size()));
  return ids;
}

}  // namespace vitrine::cli
