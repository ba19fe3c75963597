#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.h"
#include "vitrine/models.h"

namespace vitrine::cli {

struct NamedTokenizer {
  std::string name;  // as it was asked for
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
};

// The tokenizer of a model, of a file or of tok:NAME. Throws base::Exception.
NamedTokenizer open_named(const Models& models, const std::string& name);

// Those of all that is on disk, maybe none; one that can't be opened is noted on stderr and left out. Throws
// base::Exception where the store can't be read.
std::vector<NamedTokenizer> open_stored_tokenizers(const Models& models, const Context& context);

// Those of `names`, or where there are none all that are on disk; one that can't be opened then is noted on stderr and
// left out. Throws base::Exception, kMissing where nothing is left.
std::vector<NamedTokenizer> open_tokenizers(const Models& models, const std::vector<std::string>& names,
                                            const Context& context);

// The text of a command: as given, or of a file, or what is piped in. Throws base::Exception; kUsage where both are
// given.
std::string take_text(const std::optional<std::string>& text, const std::string& file);

// A sum of money: at least two decimals, at most nine ("6.75", "0.0000675").
std::string format_money(double amount);

}  // namespace vitrine::cli
