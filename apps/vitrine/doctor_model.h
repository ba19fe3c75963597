#pragma once

#include <string>
#include <vector>

#include "tools/doctor/check.h"
#include "vitrine/command.h"
#include "vitrine/runtime_flags.h"

namespace vitrine::cli {

struct DoctorOptions {
  bool is_full = false;     // large models are read whole and computed too
  bool no_measure = false;  // nothing is measured and nothing computed
};

// The checks of a model: its file, tokenizer and template, what its weights run on, whether it fits, and whether the
// fast paths agree with the reference path. Throws base::Exception where there is no such model to look at.
std::vector<doctor::Check> check_model(const std::string& model, const DoctorOptions& options);

}  // namespace vitrine::cli
