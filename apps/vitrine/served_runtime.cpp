#include "vitrine/served_runtime.h"

#include <utility>

#include "vitrine/model_template.h"

namespace vitrine::cli {

void FaultReport::report(const std::string& what) {
  const std::scoped_lock lock(mutex_);
  if (fault_.empty()) fault_ = what;
  if (server_ != nullptr) server_->fail();
}

void FaultReport::set_server(server::Server* server) {
  const std::scoped_lock lock(mutex_);
  server_ = server;
  if (server_ != nullptr && !fault_.empty()) server_->fail();
}

std::string FaultReport::fault() const {
  const std::scoped_lock lock(mutex_);
  return fault_;
}

ServedRuntime::ServedRuntime(const PlannedModel& plan, tools::ModelBundle bundle, Shared& shared)
    : runtime_(std::move(bundle), plan.flags),
      chat_template_(compile_template(runtime_.bundle(), plan.chat_template)),
      engine_(
          runtime_.engine(), [&shared](const std::string& what) { shared.faults.report(what); }, &shared.turns) {
  served_.name = plan.name;
  served_.tokenizer = runtime_.bundle().tokenizer.get();
  served_.chat_template = chat_template_ ? &*chat_template_ : nullptr;
  served_.special_tokens = runtime_.bundle().special_tokens;
  served_.engine = &engine_;
  served_.model = &runtime_.model();
  served_.ledger = &runtime_.ledger();
  served_.kernels = runtime_.kernels();
  served_.measure_roof = [this] { return runtime_.measure_roof(); };
  served_.end_tokens = runtime_.end_tokens();
}

}  // namespace vitrine::cli
