#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

// Where the tests find their data, and the count of cases that each kind of data gave.
namespace vitrine::testing {

// A path below tests/data/ (in the repository).
std::filesystem::path data_path(std::string_view relative);

// A path below the reference folder that lies beside the checkout (../shared/reference, or $VITRINE_REFERENCE): data of
// third parties that the repository does not carry. nullopt where it is absent: then the test must call
// VT_SKIP_WITHOUT, which skips, or fails when CI=true.
std::optional<std::filesystem::path> reference_path(std::string_view relative);

std::string read_file(const std::filesystem::path& path);
// The bytes of "00ff41".
std::string from_hex(std::string_view hex);
nlohmann::json read_json(const std::filesystem::path& path);

bool running_in_ci();

// Adds to the number of cases run for a kind of data ("tokenizers", "quant", ...); the test runner prints the sums.
void count_cases(std::string_view kind, std::size_t num_cases);
// The same for cases that could not run here, with the reason.
void count_skipped(std::string_view kind, std::size_t num_cases, std::string_view reason);

}  // namespace vitrine::testing

// Skips the current test because `what` is absent; under CI=true it is a failure instead.
#define VT_SKIP_WITHOUT(what)                                                        \
  do {                                                                               \
    if (::vitrine::testing::running_in_ci()) FAIL() << "missing under CI: " << what; \
    GTEST_SKIP() << "absent: " << what;                                              \
  } while (false)
