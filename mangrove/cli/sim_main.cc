// The program `mangrove-sim`: `mangrove` with SimGrid, for `mangrove sim`.
#include "mangrove/cli/program.h"
#include "mangrove/sim/simgrid/simulate.h"

int main(int argc, char** argv) {
  return mangrove::cli::run_program({argv, argv + argc},
                                    {.version = MANGROVE_VERSION, .simulate = mangrove::sim::simulate});
}
