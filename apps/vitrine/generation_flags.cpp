#include "vitrine/generation_flags.h"

namespace vitrine::cli {

void add_generation_flags(const Parser& parser, GenerationFlags& flags) {
  const std::string limit =
      flags.max_tokens ? std::to_string(*flags.max_tokens) : "until the model ends it or the context is full";
  parser
      .add("-n,--max-tokens", flags.max_tokens,
           "Most tokens of the answer (default: " + limit + "); 0 only reads the prompt")
      .not_negative();
  parser.add("--stop", flags.stops, "A text that ends the answer; may be repeated");
  parser.add_switch("--ignore-eos", flags.ignore_eos, "Go on after the model's end token");
  parser.add("--json-schema", flags.json_schema, "Refused so far: answers can't be held to a schema yet");
  parser.add_switch("--stats", flags.stats, "Times and memory after an answer");
  parser.add_switch("--strict", flags.strict, "Warnings are errors");
  add_sampling_flags(parser, flags.sampling);
}

AnswerOptions GenerationFlags::options() const {
  if (!json_schema.empty()) {
    throw base::Exception(base::ErrorKind::kUsage,
                          "--json-schema: answers can't be held to a schema yet; ask for JSON in the prompt");
  }
  return {.sampling = sampling.parsed(), .max_tokens = max_tokens, .stops = stops, .ignore_eos = ignore_eos};
}

}  // namespace vitrine::cli
