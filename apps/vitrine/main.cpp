#include <string>
#include <vector>

#include "vitrine/interrupt.h"
#include "vitrine/program.h"

int main(int argc, char** argv) {
  vitrine::cli::install_signal_handlers();
  vitrine::cli::Program program;
  return program.run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
