#pragma once

#include <cstdint>
#include <string>

#include "store/key_plans.h"

namespace vitrine::cli {

// "60", or "none" and "0" for no limit. Throws base::Exception (kUsage) that names `flag`.
store::KeyLimits::Number parse_limit(const store::LimitRow& row, const std::string& text, const std::string& flag);

// "requests_per_minute 60, models smollm2-135m-instruct, plan free"; empty where there are none.
std::string describe_limits(const store::KeyLimits& limits);

// Takes "NAME.LIMIT=VALUE" of --plans into the plans. Throws base::Exception (kUsage).
void take_plan_row(const std::string& word, store::Plans& plans);

}  // namespace vitrine::cli
