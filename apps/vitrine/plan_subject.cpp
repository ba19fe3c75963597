#include "vitrine/plan_subject.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/suggest.h"
#include "tools/hub/files.h"
#include "tools/remote_headers.h"
#include "vitrine/models.h"
#include "vitrine/progress.h"

namespace vitrine::cli {
namespace {

using base::ErrorKind;
using plan::ModelShape;
using plan::PlanSubject;

// Sizes are below 2^20 and matrices below this many, so that no product of them overflows.
constexpr int kMostOfASize = 1 << 20;
constexpr std::size_t kMostExperts = 200'000;  // of all layers

std::vector<std::string> plan_shape_names() {
  std::vector<std::string> names;
  for (const ModelShape& shape : plan::model_shapes())
    names.emplace_back(shape.name);
  return names;
}

void require_sizes(bool condition, const std::string& message) {
  if (!condition) throw base::Exception(ErrorKind::kUsage, message);
}

void check_shape(const ModelShape& shape) {
  require_sizes(shape.num_heads % shape.num_kv_heads == 0,
                fmt::format("--heads {} is no multiple of --kv-heads {}", shape.num_heads, shape.num_kv_heads));
  require_sizes(shape.num_experts_used <= shape.num_experts, "--experts-used: more than --experts");
  require_sizes(shape.num_experts == 0 || (shape.num_experts_used > 0 && shape.expert_size > 0),
                "--experts: give --experts-used and --expert-size too");
  require_sizes(std::size_t{shape.num_experts} * shape.num_layers <= kMostExperts,
                fmt::format("--experts x --layers: more than {}", kMostExperts));
  require_sizes(shape.head_dim > shape.rope_dim, fmt::format("--head-dim: more than {} here", shape.rope_dim));
}

[[noreturn]] void refuse_unknown(const std::string& model, const base::Error& why) {
  const std::vector<std::string> names = plan_shape_names();
  const bool is_path = model.find('/') != std::string::npos || model.starts_with("hf:");
  if (why.kind != ErrorKind::kMissing || is_path) throw base::Exception(why);
  std::string message = fmt::format("{}: no model on disk and no known shape", model);
  if (const auto nearest = base::nearest(model, names)) message += fmt::format("; did you mean {}?", *nearest);
  throw base::Exception(ErrorKind::kMissing, fmt::format("{}; shapes: {}", message, fmt::join(names, ", ")));
}

void require_no_sizes(const std::string& given, const std::string& model) {
  require_sizes(given.empty(), fmt::format("{}: {} states its own sizes; name a shape to change them", given, model));
}

PlanSubject remote_subject(const hub::HubSpec& spec, const ops::MemoryModel& backend, const Context& context) {
  ProgressBar progress(context.err, context.flags.quiet);
  const tools::RemoteHeaders headers =
      tools::RemoteHeaders::fetch(spec, {hub::Endpoint::from_environment(), {}, {}}, progress).value_or_throw();
  const loader::ModelFiles files = loader::open_model_files(headers.model()).value_or_throw();
  return {headers.name(), fmt::format("headers alone, {} fetched", hub::format_bytes(headers.fetched_bytes())), "",
          plan::network_of(files, backend)};
}

}  // namespace

struct ShapeOverrides::Size {
  const char* flag;
  std::uint32_t ModelShape::*member;
  const char* help;
};
const std::array<ShapeOverrides::Size, 14> ShapeOverrides::kSizes = {{
    {"--layers", &ModelShape::num_layers, "Layers"},
    {"--hidden", &ModelShape::hidden_size, "Width of the residual stream"},
    {"--intermediate", &ModelShape::intermediate_size, "Width of a dense MLP"},
    {"--heads", &ModelShape::num_heads, "Query heads"},
    {"--kv-heads", &ModelShape::num_kv_heads, "KV heads"},
    {"--head-dim", &ModelShape::head_dim, "Numbers of a head's query and key, and of its value where not said"},
    {"--value-dim", &ModelShape::value_dim, "Numbers of a head's value"},
    {"--vocab", &ModelShape::vocab_size, "Tokens of the vocabulary"},
    {"--window", &ModelShape::sliding_window, "Tokens that a windowed layer sees"},
    {"--window-period", &ModelShape::window_period, "With a window, each so manieth layer sees everything"},
    {"--experts", &ModelShape::num_experts, "Experts of a layer"},
    {"--experts-used", &ModelShape::num_experts_used, "Experts that a token uses"},
    {"--expert-size", &ModelShape::expert_size, "Width of an expert"},
    {"--latent", &ModelShape::latent_rank, "Numbers of the latent vector (MLA)"},
}};

void ShapeOverrides::add_flags(const Parser& parser) {
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    parser.add(kSizes[i].flag, values_[i], kSizes[i].help)
        .between(1, kMostOfASize)
        .group("Sizes in place of a shape's own");
  }
}

std::string ShapeOverrides::first_given() const {
  const auto given = std::ranges::find_if(values_, [](const auto& value) { return value.has_value(); });
  return given == values_.end() ? "" : kSizes[static_cast<std::size_t>(given - values_.begin())].flag;
}

void ShapeOverrides::apply(plan::ModelShape& shape) const {
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    if (!values_[i]) continue;
    shape.*kSizes[i].member = static_cast<std::uint32_t>(*values_[i]);
    if (kSizes[i].member == &ModelShape::head_dim) shape.value_dim = 0;  // --value-dim comes after it
  }
  check_shape(shape);
}

PlanSubject find_plan_subject(const std::string& model, const std::string& type, const ShapeOverrides& overrides,
                              const ops::MemoryModel& backend, const Context& context) {
  const ModelShape* known = plan::find_model_shape(model);
  const std::string given = overrides.first_given();
  if (known != nullptr && !given.empty()) {
    ModelShape shape = *known;
    overrides.apply(shape);
    return subject_of(shape, type);
  }
  const Models models;
  const auto found = tools::find_model(model, models.store(), models.catalog());
  const auto remote = hub::parse_hub_spec(model);
  if (!found) {
    if (known != nullptr) return subject_of(*known, type);
    if (found.error().kind == ErrorKind::kMissing && remote) {
      require_no_sizes(given, model);
      return remote_subject(*remote, backend, context);
    }
    refuse_unknown(model, found.error());
  }
  require_no_sizes(given, model);
  const loader::ModelFiles files = loader::open_model_files(found->path).value_or_throw();
  return {found->name, found->path.string(), "", plan::network_of(files, backend)};
}

}  // namespace vitrine::cli
