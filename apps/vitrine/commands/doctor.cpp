#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "tools/doctor/machine_checks.h"
#include "tools/doctor/server_checks.h"
#include "vitrine/backend_choice.h"
#include "vitrine/commands/commands.h"
#include "vitrine/doctor_model.h"
#include "vitrine/output.h"
#include "vitrine/roof.h"

namespace vitrine::cli {
namespace {

using doctor::Check;
using doctor::Status;

constexpr std::size_t kMostBytesRead = std::size_t{512} << 20U;

class DoctorCommand final : public Command {
 public:
  explicit DoctorCommand(const Parser& parser) {
    parser.add("subject", subject_,
               "A model (name, file or folder), or the address of a server; neither: this machine");
    parser.add("--api-key", endpoint_.api_key, "Of a server: the key (default: the environment's OPENAI_API_KEY)");
    parser.add("--model,-m", endpoint_.model, "Of a server: the model to ask for one token");
    parser.add_switch("--full", options_.is_full, "Read and compute models of more than 2 GiB too");
    parser.add_switch("--no-measure", options_.no_measure,
                      "Leave out what takes seconds: nothing is measured or computed");
  }

  int run(Context& context) override {
    const bool is_server = subject_.find("://") != std::string::npos;
    std::vector<Check> checks = is_server ? check_endpoint() : check_here();
    if (!is_server && !subject_.empty()) {
      std::vector<Check> of_model = check_model(subject_, options_);
      checks.insert(checks.end(), std::make_move_iterator(of_model.begin()), std::make_move_iterator(of_model.end()));
    }
    context.flags.json ? print_json(context, to_json(checks)) : print(checks, context.out);
    return doctor::exit_code(checks);
  }

 private:
  std::vector<Check> check_endpoint() {
    endpoint_.url = subject_;
    if (endpoint_.api_key.empty()) {
      if (const char* key = std::getenv("OPENAI_API_KEY")) endpoint_.api_key = key;
    }
    return doctor::check_server(endpoint_, doctor::ask_over_http());
  }

  std::vector<Check> check_here() const {
    const tools::Machine machine = tools::read_machine();
    const BackendChoice choice = choose_backend({});
    doctor::RunFacts run{
        .isa = std::string(backends::cpu::isa_name(choice.isa)), .isas = {}, .num_threads = choice.num_threads};
    for (const backends::cpu::Isa isa : backends::cpu::supported_isas())
      run.isas.emplace_back(backends::cpu::isa_name(isa));
    if (!options_.no_measure) measure(run, machine, choice);
    return doctor::check_machine(machine, doctor::read_host(), run);
  }

  static void measure(doctor::RunFacts& run, const tools::Machine& machine, const BackendChoice& choice) {
    const std::size_t size = std::min<std::size_t>(kMostBytesRead, machine.available_memory_bytes / 4);
    const explain::Roof roof = measure_roof(choice, tensor::DType::kQ8_0, size);
    run.read_bytes_per_s = roof.bytes_per_s;
    run.flops_per_s = roof.flops_per_s;
  }

  static nlohmann::ordered_json to_json(const std::vector<Check>& checks) {
    nlohmann::ordered_json json;
    nlohmann::ordered_json& rows = json["checks"] = nlohmann::ordered_json::array();
    for (const Check& check : checks) {
      rows.push_back({{"name", check.name},
                      {"status", doctor::status_name(check.status)},
                      {"detail", check.detail},
                      {"fix", check.fix.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(check.fix)}});
    }
    return json;
  }

  static void print(const std::vector<Check>& checks, const Terminal& out) {
    for (const Check& check : checks) {
      const std::string word = fmt::format("{:<4}", doctor::status_name(check.status));
      const std::string mark = check.status == Status::kOk     ? out.green(word)
                               : check.status == Status::kWarn ? out.yellow(word)
                                                               : out.bold(word);
      out.print(fmt::format("{}  {:<15} {}\n", mark, check.name, printable(check.detail)));
      if (!check.fix.empty()) out.print(fmt::format("      {:<15} fix: {}\n", "", printable(check.fix)));
    }
    const auto count = [&](Status status) { return std::ranges::count(checks, status, &Check::status); };
    out.print(fmt::format("{} checks: {} ok, {} warnings, {} failed\n", checks.size(), count(Status::kOk),
                          count(Status::kWarn), count(Status::kFail)));
  }

  std::string subject_;
  doctor::Endpoint endpoint_;
  DoctorOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_doctor(const Parser& parser) {
  return std::make_unique<DoctorCommand>(parser);
}

}  // namespace vitrine::cli
