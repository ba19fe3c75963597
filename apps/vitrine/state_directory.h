#pragma once

#include <filesystem>

namespace vitrine::cli {

// $VITRINE_STATE, else $XDG_STATE_HOME/vitrine, else ~/.local/state/vitrine. Empty where none of them can be told.
std::filesystem::path state_path();

// The same, made where absent, for its owner alone. Empty where there is no place for it.
std::filesystem::path state_directory();

// state_path() for what can't do without. Throws base::Exception (kConfig).
std::filesystem::path required_state_path();

}  // namespace vitrine::cli
