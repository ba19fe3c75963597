#include "vitrine/xray_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plan/formula.h"
#include "vitrine/output.h"

namespace vitrine::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBarWidth = 24;
constexpr std::size_t kLensColumns = 4;
constexpr std::size_t kMostTokensShown = 400;
constexpr std::size_t kMapWidth = 64;

double number(const Json& value) {
  return value.is_number() ? value.get<double>() : 0.0;
}

std::string fixed(const Json& value, double factor, int decimals) {
  return value.is_number() ? fmt::format("{:.{}f}", value.get<double>() * factor, decimals) : "-";
}

std::string milliseconds(const Json& seconds) {
  return fixed(seconds, 1e3, 2);
}

std::string percent(double share, int decimals = 1) {
  return fmt::format("{:.{}f} %", 100.0 * share, decimals);
}

using plan::grouped;  // "49,152"

std::string grouped(const Json& value) {
  return grouped(value.get<std::size_t>());
}

// As the pages show it: a space in front as a raised dot, a line's end as an arrow.
std::string shown_piece(const Json& token) {
  std::string text = printable(token.at("piece").get<std::string>());
  std::string shown;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.compare(at, 4, "\\x0a") == 0) {
      shown += "\u21b5";
      at += 3;
    } else if (text[at] == ' ' && at == 0) {
      shown += "\u00b7";
    } else {
      shown += text[at];
    }
  }
  return shown.empty() ? "\"\"" : shown;
}

std::string bar(double share) {
  std::string text;
  for (auto left = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kBarWidth)); left > 0; --left)
    text += "\u2588";
  return text;
}

std::string shape_text(const Json& shape) {
  return fmt::format("[{}]", fmt::join(shape.get<std::vector<std::size_t>>(), ", "));
}

class XrayPage {
 public:
  XrayPage(const Terminal& out, XraySource& xray, const XrayView& view)
      : out_(out), xray_(xray), document_(xray.document()), view_(view) {}

  void print() {
    print_head();
    print_time();
    print_tokens();
    print_layers();
    if (view_.attention_layer) print_attention();
    print_kv();
    print_sampler();
    print_memory();
  }

 private:
  const Json& at(const char* name) const { return document_.at(name); }
  std::size_t num_prompt_tokens() const { return at("prompt_tokens").get<std::size_t>(); }

  void title(int number, std::string_view name, const std::string& note) const {
    out_.print(fmt::format("\n{} {}  {}\n", out_.dim(std::to_string(number)), out_.bold(name), out_.dim(note)));
  }

  void print_head() const {
    const Json& shape = at("shape");
    out_.print(
        fmt::format("{}  {}, {} layers, hidden {}, {} heads on {} KV heads of {}, vocabulary {}\n",
                    out_.bold(printable(at("model").get<std::string>())), shape.at("architecture").get<std::string>(),
                    grouped(shape.at("num_layers")), grouped(shape.at("hidden_size")), grouped(shape.at("num_heads")),
                    grouped(shape.at("num_kv_heads")), grouped(shape.at("head_dim")), grouped(shape.at("vocab_size"))));
    for (const Json& line : at("kernels"))
      out_.print(out_.dim(line.get<std::string>()) + "\n");
    const Json& replay = at("replay");
    const bool is_equal = replay.at("equal").get<bool>();
    const std::string verdict =
        is_equal ? "the same tokens came out"
                 : fmt::format(
                       "token {} of the answer came out otherwise: it was made beside another prefix or on "
                       "another path",
                       grouped(replay.at("first_difference")));
    out_.print(fmt::format("computed once more in {} ms to look inside; {}\n", milliseconds(replay.at("wall_s")),
                           is_equal ? verdict : out_.yellow(verdict)));
  }

  void print_time() const {
    const Json& latency = at("latency");
    const Json& timeline = at("timeline");
    title(1, "Time",
          fmt::format("TTFT {} ms, ITL p50 {} / p99 {} ms, TPOT {} ms, prefill {} tok/s, decode {} tok/s",
                      milliseconds(latency.at("ttft_s")), milliseconds(latency.at("itl_p50_s")),
                      milliseconds(latency.at("itl_p99_s")), milliseconds(latency.at("tpot_s")),
                      fixed(latency.at("prefill_tokens_per_s"), 1.0, 0),
                      fixed(latency.at("decode_tokens_per_s"), 1.0, 0)));
    const double wall = number(timeline.at("wall_s"));
    Table table{{"STAGE", "SPANS", "TIME ms", "SHARE", ""}, {1, 2, 3}, {}};
    const auto add = [&](const std::string& name, const std::string& count, double seconds) {
      table.rows.push_back({name, count, fmt::format("{:.2f}", seconds * 1e3), percent(seconds / wall, 2),
                            name == "wall" ? "" : bar(seconds / wall)});
    };
    for (const auto& [name, seconds] : timeline.at("stages").items()) {
      if (number(seconds) > 0.0) add(name, std::to_string(num_spans(name)), number(seconds));
    }
    add("unaccounted", "", number(timeline.at("unaccounted_s")));
    add("wall", "", wall);
    print_table(out_, table);
    if (const Json& stream = at("stream"); stream.is_object())
      out_.print(fmt::format("streamed: {} events in {} writes, {} bytes\n", grouped(stream.at("events")),
                             grouped(stream.at("writes")), grouped(stream.at("bytes"))));
  }

  std::size_t num_spans(const std::string& stage) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(at("timeline").at("spans"), [&](const Json& span) { return span.at("stage") == stage; }));
  }

  void print_tokens() const {
    title(2, "Tokens", fmt::format("input_ids [1, {}], answer {}", num_prompt_tokens(), at("steps").size()));
    Table prompt{{"POSITION", "ID", "PIECE", "BYTES"}, {0, 1}, {}};
    const Json& tokens = at("tokens");
    for (std::size_t i = 0; i < num_prompt_tokens(); ++i) {
      if (i >= kMostTokensShown / 2 && i + kMostTokensShown / 2 < num_prompt_tokens()) continue;
      prompt.rows.push_back({std::to_string(i), tokens[i].at("id").dump(), shown_piece(tokens[i]),
                             tokens[i].at("bytes_hex").get<std::string>()});
    }
    print_table(out_, prompt);
    if (at("steps").empty()) return;
    out_.print("\n");
    Table answer{{"POSITION", "ID", "PIECE", "PROBABILITY", "RANK", "OF", "ms", "NEXT BEST"}, {0, 1, 3, 4, 5, 6}, {}};
    for (const Json& step : at("steps")) {
      const std::size_t position = step.at("position").get<std::size_t>();
      answer.rows.push_back({std::to_string(position), step.at("id").dump(), shown_piece(tokens[position]),
                             percent(number(step.at("probability"))),
                             std::to_string(step.at("rank").get<std::size_t>() + 1), survivors_of(step),
                             milliseconds(step.at("duration_s")), others_of(step)});
    }
    print_table(out_, answer);
  }

  // How many tokens could have been drawn.
  std::string survivors_of(const Json& step) const {
    const Json& chain = step.at("chain");
    return chain.empty() ? grouped(at("shape").at("vocab_size")) : grouped(chain.back().at("survivors"));
  }

  static std::string others_of(const Json& step) {
    std::vector<std::string> others;
    for (const Json& candidate : step.at("candidates")) {
      if (candidate.at("id") == step.at("id") || others.size() == 3) continue;
      others.push_back(fmt::format("{} {}", shown_piece(candidate), percent(number(candidate.at("probability")), 0)));
    }
    return fmt::format("{}", fmt::join(others, "  "));
  }

  // Costs of a token's step, beside what each layer would have said at the first positions of the answer.
  void print_layers() {
    const Json& decode = at("layers").at("decode");
    const bool is_decode = !decode.is_null();
    const Json& pass = is_decode ? decode : at("layers").at("prefill");
    std::vector<std::string> shapes;
    for (const Json& entry : at("shapes"))
      shapes.push_back(entry.at("name").get<std::string>() + " " + shape_text(entry.at("shape")));
    title(3, "Layers", fmt::format("{}", fmt::join(shapes, ", ")));
    out_.print(is_decode
                   ? "costs of one generated token, the mean over the answer; SAYS: what final norm and head would "
                     "make of the layer (logit lens)\n"
                   : fmt::format("costs of the prompt's {} rows; SAYS: what final norm and head would make of the "
                                 "layer (logit lens)\n",
                                 grouped(pass.at("rows"))));
    const std::size_t first = num_prompt_tokens() - 1;
    const std::size_t count = std::min(kLensColumns, xray_.num_positions() - first);
    const Json lens = xray_.lens(first, count);
    Table table{{"LAYER", "us", "MB", "GB/s", "OF ROOF", "|h|"}, {0, 1, 2, 3, 4, 5}, {}};
    for (std::size_t i = 0; i < count; ++i)
      table.header.push_back(fmt::format("SAYS AFTER {}", first + i));
    for (const Json& layer : pass.at("layers"))
      table.rows.push_back(layer_row(layer, lens));
    std::vector<std::string> head = cost_cells("head", pass.at("head"));
    head.emplace_back("");
    table.rows.push_back(std::move(head));
    std::vector<std::string> sum = cost_cells("all", pass.at("total"));
    sum.emplace_back("");
    table.rows.push_back(std::move(sum));
    print_table(out_, table);
    print_parts(pass);
    print_kernels(pass);
  }

  std::vector<std::string> cost_cells(const std::string& name, const Json& cost) const {
    const double seconds = number(cost.at("time_s"));
    const double bytes = number(cost.at("bytes"));
    const double rate = seconds > 0.0 ? bytes / seconds / 1e9 : 0.0;
    const Json& roof = at("roof");
    return {name, fmt::format("{:.1f}", seconds * 1e6), fmt::format("{:.2f}", bytes / 1e6), fmt::format("{:.1f}", rate),
            roof.is_null() ? "-" : percent(rate / number(roof.at("gb_per_s")), 0)};
  }

  std::vector<std::string> layer_row(const Json& layer, const Json& lens) const {
    const std::size_t layer_idx = layer.at("layer").get<std::size_t>();
    std::vector<std::string> cells = cost_cells(std::to_string(layer_idx), layer);
    cells.push_back(fixed(layer.at("hidden_norm"), 1.0, 1));
    for (const Json& cell : lens.at("layers").at(layer_idx + 1))
      cells.push_back(fmt::format("{} {}{}", shown_piece(cell), percent(number(cell.at("probability")), 0),
                                  cell.at("is_final").get<bool>() ? " =" : ""));
    return cells;
  }

  // Which kernels ran, each with the parts of a layer that it computed.
  void print_kernels(const Json& pass) const {
    std::vector<std::pair<std::string, std::vector<std::string>>> kernels;
    const auto note = [&kernels](const std::string& part, const Json& cost) {
      if (!cost.contains("kernel")) return;
      const auto name = cost.at("kernel").get<std::string>();
      auto found = std::ranges::find(kernels, name, [](const auto& kernel) { return kernel.first; });
      if (found == kernels.end()) found = kernels.insert(kernels.end(), {name, {}});
      if (std::ranges::find(found->second, part) == found->second.end()) found->second.push_back(part);
    };
    for (const Json& layer : pass.at("layers")) {
      for (const Json& op : layer.at("ops"))
        note(op.at("name").get<std::string>(), op);
    }
    note("head", pass.at("head"));
    for (const auto& [name, parts] : kernels)
      out_.print(out_.dim(fmt::format("{}: {}", fmt::join(parts, ", "), name)) + "\n");
  }

  void print_parts(const Json& pass) const {
    std::vector<std::pair<std::string, double>> parts;
    for (const Json& layer : pass.at("layers")) {
      for (const Json& op : layer.at("ops")) {
        const auto name = op.at("name").get<std::string>();
        auto found = std::ranges::find(parts, name, &std::pair<std::string, double>::first);
        if (found == parts.end()) found = parts.insert(parts.end(), {name, 0.0});
        found->second += number(op.at("time_s"));
      }
    }
    std::vector<std::string> shares;
    for (const auto& [name, seconds] : parts)
      shares.push_back(fmt::format("{} {}", name, percent(seconds / number(pass.at("total").at("time_s")), 0)));
    shares.push_back(fmt::format(
        "head {}", percent(number(pass.at("head").at("time_s")) / number(pass.at("total").at("time_s")), 0)));
    out_.print(fmt::format("of the time: {}\n", fmt::join(shares, ", ")));
  }

  // A cell stands for a square of positions and shows the largest weight in it.
  void print_attention() {
    const std::size_t layer = *view_.attention_layer;
    const std::size_t num_layers = at("shape").at("num_layers").get<std::size_t>();
    const std::size_t num_heads = at("shape").at("num_heads").get<std::size_t>();
    if (layer >= num_layers || view_.attention_head.value_or(0) >= num_heads)
      throw base::Exception(
          base::ErrorKind::kUsage,
          fmt::format("--attention: layers go from 0 to {}, heads from 0 to {}", num_layers - 1, num_heads - 1));
    const std::vector<float> weights = xray_.attention(layer);
    title(4, "Attention", fmt::format("layer {}; rows look at columns, darker is more", layer));
    for (std::size_t head = 0; head < num_heads; ++head) {
      if (view_.attention_head.value_or(head) == head) print_map(weights, head);
    }
  }

  void print_map(const std::vector<float>& weights, std::size_t head) const {
    constexpr std::array<std::string_view, 5> kShades = {" ", "\u2591", "\u2592", "\u2593", "\u2588"};
    const std::size_t num_positions = xray_.num_positions();
    const std::size_t cell = (num_positions + kMapWidth - 1) / kMapWidth;
    const std::size_t width = (num_positions + cell - 1) / cell;
    std::vector<float> map(width * width, 0.0F);
    const std::size_t begin = head * num_positions * (num_positions + 1) / 2;
    for (std::size_t row = 0; row < num_positions; ++row) {
      for (std::size_t key = 0; key <= row; ++key) {
        float& shown = map[row / cell * width + key / cell];
        shown = std::max(shown, weights[begin + row * (row + 1) / 2 + key]);
      }
    }
    out_.print(fmt::format("head {}{}\n", head, cell > 1 ? fmt::format(", {} positions a cell", cell) : ""));
    for (std::size_t row = 0; row < width; ++row) {
      std::string line;
      for (std::size_t key = 0; key <= row; ++key) {
        const float root = std::sqrt(std::clamp(map[row * width + key], 0.0F, 1.0F));
        line += kShades[static_cast<std::size_t>(std::lround(root * (kShades.size() - 1)))];
      }
      out_.print(line + "\n");
    }
  }

  void print_kv() const {
    const Json& kv = at("kv");
    title(5, "KV cache",
          fmt::format("{} bytes a token in {}, blocks of {} tokens", grouped(kv.at("bytes_per_token")),
                      kv.at("type").get<std::string>(), grouped(kv.at("block_tokens"))));
    out_.print(fmt::format("held {} x {} = {} bytes, in whole blocks {} x {} = {} bytes\n",
                           grouped(kv.at("tokens_held")), grouped(kv.at("bytes_per_token")),
                           grouped(kv.at("bytes_held")), kv.at("blocks").size(), grouped(kv.at("block_bytes")),
                           grouped(kv.at("bytes_allocated"))));
    std::string line =
        fmt::format("from the prefix cache {} of {}", grouped(kv.at("cached_tokens")), num_prompt_tokens());
    if (const Json& prefix = kv.at("prefix"); prefix.is_object()) {
      line += fmt::format(", {}", prefix.at("reason").get<std::string>());
      if (prefix.contains("requested_text"))
        line += fmt::format(": at position {} there is \"{}\" in the cache, here \"{}\"",
                            grouped(prefix.at("position")), printable(prefix.at("cached_text").get<std::string>()),
                            printable(prefix.at("requested_text").get<std::string>()));
    }
    out_.print(line + "\n");
  }

  void print_sampler() const {
    const Json& steps = at("steps");
    if (steps.empty()) return;
    if (view_.all_steps) return print_all_steps();
    const std::size_t step = view_.step.value_or(0);
    if (step >= steps.size())
      throw base::Exception(base::ErrorKind::kUsage,
                            fmt::format("--step {}: the answer's tokens are 0 to {}", step, steps.size() - 1));
    title(6, "Sampler",
          fmt::format("token {} of the answer; another one with --step, every one with --step all", step));
    print_step(steps[step]);
  }

  void print_all_steps() const {
    const Json& steps = at("steps");
    title(6, "Sampler", fmt::format("every token of the answer, {}", steps.size()));
    for (std::size_t step = 0; step < steps.size(); ++step) {
      const Json& shown = steps[step];
      const auto position = shown.at("position").get<std::size_t>();
      out_.print(fmt::format("{}token {} of the answer, position {}: {}\n", step == 0 ? "" : "\n", step, position,
                             shown_piece(at("tokens")[position])));
      print_step(shown);
    }
  }

  void print_step(const Json& step) const {
    Table table{{"CANDIDATE", "ID", "LOGIT", "MODEL"}, {1, 2, 3}, {}};
    for (const Json& link : step.at("chain")) {
      table.right.push_back(table.header.size());
      const std::string value = link.at("value").is_null() ? "" : " " + link.at("value").dump();
      table.header.push_back(
          fmt::format("{}{} ({})", link.at("name").get<std::string>(), value, grouped(link.at("survivors"))));
    }
    for (const Json& candidate : step.at("candidates"))
      table.rows.push_back(candidate_row(candidate, step));
    print_table(out_, table);
    out_.print(why(step) + "\n");
  }

  std::vector<std::string> candidate_row(const Json& candidate, const Json& step) const {
    const bool is_chosen = candidate.at("id") == step.at("id");
    std::vector<std::string> cells = {(is_chosen ? "> " : "  ") + shown_piece(candidate), candidate.at("id").dump(),
                                      fixed(candidate.at("logit"), 1.0, 2),
                                      percent(number(candidate.at("probability")))};
    for (const Json& after : candidate.at("after_each"))
      cells.push_back(after.is_null() ? "cut" : percent(number(after)));
    return cells;
  }

  std::string why(const Json& step) const {
    const std::string piece = shown_piece(at("tokens")[step.at("position").get<std::size_t>()]);
    if (step.at("uniform").is_null()) return fmt::format("{} alone was left: nothing was drawn", piece);
    return fmt::format(
        "u = {:.4f} falls in [{:.4f}, {:.4f}), the share of {} (shares in the order of ids, entropy {:.2f} bit)",
        number(step.at("uniform")), number(step.at("interval")[0]), number(step.at("interval")[1]), piece,
        number(step.at("entropy_bits")));
  }

  void print_memory() const {
    const Json& memory = at("memory");
    if (memory.is_null()) return;
    title(7, "Memory", "what stands on the ledger; of the KV cache what is reserved");
    Table table{{"BUFFER", "MB"}, {1}, {}};
    for (const auto& [name, bytes] : memory.items())
      table.rows.push_back({name.substr(0, name.size() - std::string_view("_bytes").size()), fixed(bytes, 1e-6, 1)});
    print_table(out_, table);
    if (const Json& cost = at("cost"); !cost.is_null())
      out_.print(fmt::format("cost {:.8f} {}, {:.2f} for 100,000 such calls (prices of {})\n", number(cost.at("total")),
                             cost.at("currency").get<std::string>(), number(cost.at("per_100000_calls")),
                             cost.at("prices_dated").get<std::string>()));
  }

  const Terminal& out_;
  XraySource& xray_;
  const Json& document_;
  const XrayView& view_;
};

}  // namespace

void print_xray(const Terminal& out, XraySource& xray, const XrayView& view) {
  XrayPage(out, xray, view).print();
}

}  // namespace vitrine::cli
