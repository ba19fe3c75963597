#include "loader/safetensors_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "loader/errors.h"
#include "loader/json_file.h"
#include "loader/safetensors.h"

namespace vitrine::loader {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSingleName = "model.safetensors";
constexpr std::string_view kIndexName = "model.safetensors.index.json";
constexpr JsonLimits kIndexLimits{.max_bytes = std::size_t{32} << 20U};

// Tensor name to shard name, as the index file lists them.
using WeightMap = nlohmann::json::object_t;

class Collector {
 public:
  explicit Collector(std::vector<std::string>& notes) : notes_(notes) {}

  void add(const fs::path& path) {
    base::MappedFile file = base::MappedFile::open(path).value_or_throw();
    auto header = catch_errors(path, [&] { return parse_safetensors(file.bytes()); }).value_or_throw();
    std::ranges::move(header.tensors, std::back_inserter(tensors_));
    files_.push_back(std::move(file));
    if (header.num_skipped == 0) return;
    notes_.push_back(
        fmt::format("{}: {} tensors that are no weights (masks of type BOOL, or empty) are left out, among them {}",
                    path.filename().string(), header.num_skipped, in_quotes(header.first_skipped)));
  }

  std::unique_ptr<WeightSource> finish(const fs::path& directory) {
    auto weights = WeightSource::create(std::move(files_), std::move(tensors_));
    if (!weights) throw base::Exception(with_path(directory, weights.error()));
    return *std::move(weights);
  }

 private:
  std::vector<std::string>& notes_;
  std::vector<base::MappedFile> files_;
  std::vector<NamedTensor> tensors_;
};

// A shard lies beside its index: a name that leads elsewhere would read a stranger's file.
std::string shard_name(const nlohmann::json& value) {
  if (!value.is_string()) fail("weight_map: every value must be a file name");
  std::string name = value.get<std::string>();
  const bool is_plain = name.find_first_of(std::string_view("/\\\0", 3)) == name.npos && !name.starts_with('.');
  if (!is_plain || !name.ends_with(".safetensors")) {
    fail("weight_map: " + in_quotes(name) + " is not the name of a safetensors file beside the index");
  }
  return name;
}

std::set<std::string> shard_names(const WeightMap& weight_map) {
  std::set<std::string> names;
  for (const auto& [tensor_name, value] : weight_map)
    names.insert(shard_name(value));
  return names;
}

const WeightMap& weight_map_of(const nlohmann::json& index) {
  const auto found = index.find("weight_map");
  if (found == index.end() || !found->is_object() || found->empty()) fail("weight_map must be an object with entries");
  return found->get_ref<const WeightMap&>();
}

std::unique_ptr<WeightSource> open_shards(const fs::path& index_path, std::vector<std::string>& notes) {
  const nlohmann::json index = read_json_object(index_path, kIndexLimits).value_or_throw();
  const auto names = catch_errors(index_path, [&] { return shard_names(weight_map_of(index)); }).value_or_throw();
  Collector collector(notes);
  for (const std::string& name : names)
    collector.add(index_path.parent_path() / name);
  std::unique_ptr<WeightSource> weights = collector.finish(index_path.parent_path());
  for (const auto& [tensor_name, value] : weight_map_of(index)) {
    if (weights->find(tensor_name) != nullptr) continue;
    const std::string reason =
        fmt::format("weight_map: tensor {} is not in {}", in_quotes(tensor_name), shard_name(value));
    throw base::Exception(with_path(index_path, base::bad_file(reason)));
  }
  return weights;
}

[[noreturn]] void fail_without_weights(const fs::path& directory) {
  std::error_code ignored;
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    if (!fs::exists(directory / name, ignored)) continue;
    fail(directory.string() + ": its weights are a PyTorch pickle (" + name +
         "), which can run code and is never read; convert them to safetensors");
  }
  fail(fmt::format("{}: no weights: neither {} nor {} is there", directory.string(), kSingleName, kIndexName));
}

}  // namespace

std::unique_ptr<WeightSource> open_safetensors(const fs::path& directory, std::vector<std::string>& notes) {
  std::error_code ignored;
  const fs::path single = directory / kSingleName;
  const fs::path index = directory / kIndexName;
  if (fs::exists(single, ignored)) {
    if (fs::exists(index, ignored)) notes.push_back(fmt::format("{} is used, {} is ignored", kSingleName, kIndexName));
    Collector collector(notes);
    collector.add(single);
    return collector.finish(directory);
  }
  if (fs::exists(index, ignored)) return open_shards(index, notes);
  fail_without_weights(directory);
}

}  // namespace vitrine::loader
