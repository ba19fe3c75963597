#include "tools/open_model.h"

#include <array>
#include <utility>

#include "base/mapped_file.h"
#include "tools/gguf_vocabulary.h"
#include "tools/tokenizer_file.h"

namespace vitrine::tools {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;
using Json = nlohmann::ordered_json;
using tokenizer::Tokenizer;

constexpr std::array kSpecialNames = {"bos_token", "eos_token", "unk_token", "pad_token",
                                      "sep_token", "cls_token", "mask_token"};

Error with_path(const fs::path& path, const Error& error) {
  return {error.kind, path.string() + ": " + error.message};
}

std::string_view text_of(const base::MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

Result<std::unique_ptr<Tokenizer>> tokenizer_from_json(const fs::path& path, std::string_view config) {
  const auto file = base::MappedFile::open(path);
  if (!file) return file.error();
  auto built = Tokenizer::from_tokenizer_json(text_of(*file), config);
  if (!built) return with_path(path, std::move(built).error());
  return built;
}

// Both answer a null pointer where the model has no tokenizer.
Result<std::unique_ptr<Tokenizer>> tokenizer_of(const loader::GgufModel& model, const fs::path& path) {
  const auto vocabulary = read_gguf_vocabulary(model.metadata);
  if (!vocabulary) return with_path(path, vocabulary.error());
  if (!vocabulary->has_value()) return std::unique_ptr<Tokenizer>();
  auto built = Tokenizer::from_gguf(**vocabulary);
  if (!built) return with_path(path, std::move(built).error());
  return built;
}

Result<std::unique_ptr<Tokenizer>> tokenizer_of(const loader::HfModel& model, const fs::path& path) {
  if (!model.tokenizer_json) {
    const auto file = find_tokenizer_file(path);
    return file ? open_tokenizer_file(*file) : std::unique_ptr<Tokenizer>();
  }
  return tokenizer_from_json(*model.tokenizer_json,
                             model.tokenizer_config.empty() ? "" : model.tokenizer_config.dump());
}

// A GGUF names special tokens by id; a template wants their text.
Json special_tokens_of(const loader::GgufModel& /*model*/, const Tokenizer* tokens) {
  Json special = Json::object();
  if (tokens == nullptr) return special;
  const std::array ids = {tokens->bos(), tokens->eos(), tokens->unk(), tokens->pad()};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i]) special[kSpecialNames[i]] = tokens->piece(*ids[i]);
  }
  return special;
}

// In tokenizer_config.json each is a string or an object with the string as its "content".
Json special_tokens_of(const loader::HfModel& model, const Tokenizer* /*tokens*/) {
  Json special = Json::object();
  for (const char* name : kSpecialNames) {
    const auto found = model.tokenizer_config.find(name);
    if (found == model.tokenizer_config.end()) continue;
    if (found->is_string()) {
      special[name] = *found;
    } else if (found->is_object() && found->contains("content") && (*found)["content"].is_string()) {
      special[name] = (*found)["content"];
    }
  }
  return special;
}

Result<std::optional<std::string>> template_of(const loader::GgufModel& model) {
  const auto source = model.metadata.string_value("tokenizer.chat_template");
  if (!source) return source.error();
  if (!source->has_value()) return std::optional<std::string>();
  return std::optional<std::string>(std::string(**source));
}

Result<std::optional<std::string>> template_of(const loader::HfModel& model) {
  return model.chat_template;
}

std::vector<std::string> notes_of(const loader::GgufModel& /*model*/) {
  return {};
}
std::vector<std::string> notes_of(const loader::HfModel& model) {
  return model.notes;
}

ModelFacts stated_facts(const loader::GgufModel& model) {
  ModelFacts facts;
  const loader::MetadataValue* architecture = model.metadata.find("general.architecture");
  if (architecture != nullptr) facts.architecture = architecture->as_string().value_or("");
  const loader::MetadataValue* context = model.metadata.find(facts.architecture + ".context_length");
  if (context != nullptr) facts.context_length = context->as_uint();
  return facts;
}

ModelFacts stated_facts(const loader::HfModel& model) {
  ModelFacts facts;
  const auto type = model.config.find("model_type");
  if (type != model.config.end() && type->is_string()) facts.architecture = type->get<std::string>();
  for (const char* name : {"max_position_embeddings", "n_positions"}) {
    const auto context = model.config.find(name);
    if (context == model.config.end() || !context->is_number_unsigned()) continue;
    facts.context_length = context->get<std::uint64_t>();
    break;
  }
  return facts;
}

const loader::WeightSource& weights_of(const loader::ModelFiles& files) {
  return std::visit([](const auto& model) -> const loader::WeightSource& { return *model.weights; }, files);
}

}  // namespace

const loader::WeightSource& ModelBundle::weights() const {
  return weights_of(files);
}

ModelFacts facts_of(const loader::ModelFiles& files) {
  ModelFacts facts = std::visit([](const auto& model) { return stated_facts(model); }, files);
  for (const loader::NamedTensor& tensor : weights_of(files).tensors()) {
    facts.num_parameters += tensor.view.shape.num_elements();
  }
  return facts;
}

Result<ModelBundle> open_model(const fs::path& path) {
  auto files = loader::open_model_files(path);
  if (!files) return std::move(files).error();
  ModelBundle bundle{path, std::move(*files), nullptr, std::nullopt, Json::object(), {}};
  auto tokens = std::visit([&](const auto& model) { return tokenizer_of(model, path); }, bundle.files);
  if (!tokens) return std::move(tokens).error();
  bundle.tokenizer = std::move(*tokens);
  auto source = std::visit([](const auto& model) { return template_of(model); }, bundle.files);
  if (!source) return with_path(path, std::move(source).error());
  bundle.chat_template = std::move(*source);
  bundle.special_tokens =
      std::visit([&](const auto& model) { return special_tokens_of(model, bundle.tokenizer.get()); }, bundle.files);
  bundle.notes = std::visit([](const auto& model) { return notes_of(model); }, bundle.files);
  return bundle;
}

Result<std::unique_ptr<Tokenizer>> open_tokenizer(const fs::path& path) {
  if (const auto file = find_tokenizer_file(path)) return open_tokenizer_file(*file);
  auto bundle = open_model(path);
  if (!bundle) return std::move(bundle).error();
  if (bundle->tokenizer == nullptr) return base::bad_file(path.string() + ": no tokenizer in it; name another model");
  return std::move(bundle->tokenizer);
}

}  // namespace vitrine::tools
