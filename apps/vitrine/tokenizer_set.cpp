#include "vitrine/tokenizer_set.h"

#include <fmt/format.h>

#include "tools/open_model.h"
#include "vitrine/text_input.h"

namespace vitrine::cli {

NamedTokenizer open_named(const Models& models, const std::string& name) {
  return {name, tools::open_tokenizer(models.find(name).path).value_or_throw()};
}

std::vector<NamedTokenizer> open_stored_tokenizers(const Models& models, const Context& context) {
  std::vector<NamedTokenizer> opened;
  for (const hub::StoredModel& stored : models.store().list().value_or_throw()) {
    auto tokenizer = tools::open_tokenizer(stored.path);
    if (tokenizer) {
      opened.push_back({stored.name, std::move(*tokenizer)});
    } else if (!context.flags.quiet) {
      context.err.print(fmt::format("note: {} is left out: {}\n", stored.name, tokenizer.error().message));
    }
  }
  return opened;
}

std::vector<NamedTokenizer> open_tokenizers(const Models& models, const std::vector<std::string>& names,
                                            const Context& context) {
  std::vector<NamedTokenizer> opened;
  for (const std::string& name : names)
    opened.push_back(open_named(models, name));
  if (!names.empty()) return opened;
  opened = open_stored_tokenizers(models, context);
  if (!opened.empty()) return opened;
  throw base::Exception(base::ErrorKind::kMissing,
                        "tokenizers: none on this machine; vitrine pull tok: lists those that can be fetched");
}

std::string take_text(const std::optional<std::string>& text, const std::string& file) {
  if (text && !file.empty()) refuse("--file: a text is given as well; keep one of them");
  if (text) return *text;
  return file.empty() ? read_piped("text") : read_file(file);
}

std::string format_money(double amount) {
  std::string text = fmt::format("{:.9f}", amount);
  const std::size_t two_decimals = text.find('.') + 3;
  while (text.size() > two_decimals && text.back() == '0')
    text.pop_back();
  return text;
}

}  // namespace vitrine::cli
