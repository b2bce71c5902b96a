// The program `mangrove`.
#include "mangrove/cli/program.h"

int main(int argc, char** argv) {
  return mangrove::cli::run_program({argv, argv + argc}, {.version = MANGROVE_VERSION});
}
