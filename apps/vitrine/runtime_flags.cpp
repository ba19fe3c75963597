#include "vitrine/runtime_flags.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace vitrine::cli {

using base::ErrorKind;

namespace {

bool is_contiguous(const std::string& layout) {
  if (layout == "contiguous") return true;
  if (layout == "paged") return false;
  throw base::Exception(ErrorKind::kUsage, fmt::format("--kv-layout {}: use paged or contiguous", layout));
}

}  // namespace

void add_runtime_flags(const Parser& parser, RuntimeFlags& flags) {
  constexpr const char* kGroup = "Running";
  parser
      .add("-c,--ctx,--ctx-size,--max-model-len", flags.context_length,
           "Context length in tokens (default: the model's own)")
      .positive()
      .group(kGroup);
  parser.add("-t,--threads", flags.num_threads, "Threads (default: every CPU this process may use)")
      .between(1, 1024)
      .group(kGroup);
  parser
      .add_switch("--pin-threads", flags.pin_threads,
                  "Keep each worker thread on a core of its own; for a machine that runs nothing else")
      .group(kGroup);
  parser.add("--kv-type", flags.kv_type, "Type of the KV cache: f16 (default), bf16, f32 or q8_0").group(kGroup);
  parser.add("--kv-memory", flags.kv_memory, "Memory of the KV cache, such as 4GiB").group(kGroup);
  parser
      .add("--chunk", flags.max_chunk_tokens,
           fmt::format("Most prompt tokens in one step (default {})", flags.max_chunk_tokens))
      .between(1, 65536)
      .group(kGroup);
  parser
      .add_switch("--no-kv-cache", flags.no_kv_cache,
                  "Compute every position again for each token: the same answer, to see what the cache is good for")
      .group(kGroup);
  parser
      .add_function(
          "--kv-layout", [&flags](const std::string& layout) { flags.contiguous_kv = is_contiguous(layout); },
          "paged (default): blocks as they are needed; contiguous: a run of blocks for prompt and longest answer from "
          "the start, without a prefix cache: the same answer, to see what paging is good for")
      .group(kGroup);
  parser.add_switch("--reference", flags.reference, "Compute everything in plain float32").group(kGroup);
  parser
      .add_switch("--no-repack-cache", flags.no_repack_cache,
                  "Neither read nor keep the repacked weights that speed the next start up")
      .group(kGroup);
  parser
      .add_function(
          "--tensor-parallel-size",
          [](const std::string& size) {
            if (size != "1") {
              throw base::Exception(ErrorKind::kUsage,
                                    "--tensor-parallel-size: only 1 so far; one process runs one model");
            }
          },
          "1: the only value so far")
      .group(kGroup);
  parser
      .add_function(
          "--gpu-memory-utilization",
          [](const std::string&) {
            throw base::Exception(ErrorKind::kUsage,
                                  "--gpu-memory-utilization: there is no GPU here; use --kv-memory 4GiB");
          },
          "Refused: use --kv-memory")
      .group("");
}

base::Result<std::size_t> parse_bytes(const std::string& text, const std::string& flag) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  static constexpr std::array kUnits = std::to_array<Unit>({{"", 1.0},
                                                            {"k", 1024.0},
                                                            {"kib", 1024.0},
                                                            {"kb", 1e3},
                                                            {"m", 1048576.0},
                                                            {"mib", 1048576.0},
                                                            {"mb", 1e6},
                                                            {"g", 1073741824.0},
                                                            {"gib", 1073741824.0},
                                                            {"gb", 1e9},
                                                            {"t", 1099511627776.0},
                                                            {"tib", 1099511627776.0},
                                                            {"tb", 1e12}});
  double number = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto* found = std::ranges::find(kUnits, unit, &Unit::name);
  if (code != std::errc() || found == kUnits.end() || !(number > 0.0) || number * found->bytes > 1e18) {
    return base::usage_error(fmt::format("{} {}: not a size; write it like 512MiB or 4GiB", flag, text));
  }
  return static_cast<std::size_t>(number * found->bytes);
}

}  // namespace vitrine::cli
