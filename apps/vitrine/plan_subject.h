#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "ops/memory_model.h"
#include "plan/report.h"
#include "vitrine/command.h"
#include "vitrine/parser.h"

namespace vitrine::cli {

// Sizes that take the place of a known shape's own.
class ShapeOverrides {
 public:
  void add_flags(const Parser& parser);
  // The first flag that was given; empty: none.
  std::string first_given() const;
  // Throws base::Exception (kUsage) where the sizes do not go together.
  void apply(plan::ModelShape& shape) const;

 private:
  struct Size;
  static const std::array<Size, 14> kSizes;
  std::array<std::optional<std::size_t>, 14> values_;  // as kSizes lists them
};

// A model on disk, else a known shape, else the headers of a repository's (hf:ORG/REPO[:FILE]); with overrides a shape.
// `type` is that of a shape's weights. Throws base::Exception: kMissing with the nearest name, kUsage for a wrong type
// or sizes, kBadFile; from afar what tools::RemoteHeaders fails with.
plan::PlanSubject find_plan_subject(const std::string& model, const std::string& type, const ShapeOverrides& overrides,
                                    const ops::MemoryModel& backend, const Context& context);

}  // namespace vitrine::cli
