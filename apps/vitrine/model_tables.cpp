#include "vitrine/model_tables.h"

#include <algorithm>

#include "base/result.h"
#include "vitrine/table_row.h"

namespace vitrine::cli {
namespace {

bool read_flag(const TableRow& row) {
  if (row.value == "true") return true;
  if (row.value == "false") return false;
  refuse_row(kModelsFlag, row, row.value + ": must be true or false");
}

void add_once(std::vector<std::string>& words, const std::string& word) {
  if (std::ranges::find(words, word) == words.end()) words.push_back(word);
}

// Refused here, where it is known which file it comes from.
std::string engine_word(const TableRow& row) {
  std::vector<std::string> names = engine_flag_names();
  if (std::ranges::find(names, row.key) == names.end()) {
    names.insert(names.end(), {"model", "path", "alias", "pin"});
    refuse_key(kModelsFlag, row, names);
  }
  const std::string word = "--" + row.key + "=" + row.value;
  EngineFlags unused;
  try {
    apply_engine_words({word}, unused);
  } catch (const base::Exception& exception) {
    refuse_row(kModelsFlag, row, exception.what());
  }
  return word;
}

}  // namespace

EngineFlags ModelTable::engine_flags(EngineFlags of_all) const {
  if (!words.empty()) apply_engine_words(words, of_all);
  return of_all;
}

void take_model_row(const std::string& word, ModelTables& tables) {
  const TableRow row = split_table_row(kModelsFlag, word);
  if (row.name.empty()) refuse_row(kModelsFlag, row, "a model needs a name");
  ModelTable& table = tables[row.name];
  if (row.key.empty()) return;
  if (row.key == "model" || row.key == "path") {
    table.model = row.value;
  } else if (row.key == "alias") {
    add_once(table.aliases, row.value);
  } else if (row.key == "pin") {
    table.is_pinned = read_flag(row);
  } else {
    add_once(table.words, engine_word(row));
  }
}

}  // namespace vitrine::cli
