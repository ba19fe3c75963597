#pragma once

#include <cstddef>
#include <cstdint>

// The scripts of characters (Unicode's property Script) as Hugging Face's tokenizers tell them apart: runs of code
// points in increasing order, each up to the next. Script 0 is none.
namespace vitrine::tokenizer {

struct ScriptRun {
  std::uint32_t first;
  std::uint8_t script;
};
extern const ScriptRun kScriptRuns[];
extern const std::size_t kNumScriptRuns;

}  // namespace vitrine::tokenizer
