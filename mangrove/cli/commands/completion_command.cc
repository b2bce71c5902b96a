#include <cstdio>
#include <memory>

#include "mangrove/base/suggestion.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/completion.h"

namespace mangrove::cli {
namespace {

Status run_completion(const CLI::App& app, const std::string& shell) {
  const std::vector<CommandDescription> commands = describe_commands(app);
  std::string script;
  if (shell == "bash")
    script = bash_completion(commands);
  else if (shell == "zsh")
    script = zsh_completion(commands);
  else if (shell == "fish")
    script = fish_completion(commands);
  else
    return make_error(Code::invalid_argument, "no completion for shell '" + shell + "'" +
                                                  suggestion(shell, std::vector<std::string>{"bash", "zsh", "fish"}));
  return print_text(script);
}

}  // namespace

void add_completion_command(CLI::App& app, CommandContext& context) {
  auto* command =
      app.add_subcommand("completion", "print a script with which your shell completes commands and options");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh or fish")->required()->type_name("");
  command->footer(
      "Examples:\n"
      "  mangrove completion bash \\\n"
      "      > ~/.local/share/bash-completion/completions/mangrove\n"
      "  mangrove completion zsh > ~/.zfunc/_mangrove\n"
      "  mangrove completion fish > ~/.config/fish/completions/mangrove.fish\n"
      "For zsh, ~/.zshrc needs fpath+=~/.zfunc before compinit.");
  command->callback(
      [&app, &context, shell] { context.action = [&app, shell] { return run_completion(app, *shell); }; });
}

}  // namespace mangrove::cli
