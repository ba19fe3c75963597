#include <string>
#include <vector>

#include "vitrine/interrupt.h"
#include "vitrine/program.h"

int main(int argc, char** argv) {
  vitrine::cli::install_signal_handlers();
  return vitrine::cli::run_program(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
