#include "mangrove/cli/command.h"
#include "mangrove/cli/man_page.h"

namespace mangrove::cli {

void add_man_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("man", "print the manual page of Mangrove");
  command->footer(
      "Examples:\n"
      "  mangrove man | man -l -\n"
      "  mangrove man > ~/.local/share/man/man1/mangrove.1   # then: man mangrove");
  command->callback(
      [&app, &context] { context.action = [&app] { return print_text(man_page(describe_commands(app))); }; });
}

}  // namespace mangrove::cli
