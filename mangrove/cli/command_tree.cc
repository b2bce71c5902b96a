#include "mangrove/cli/command_tree.h"

#include <algorithm>

#include "mangrove/cli/option_choices.h"
#include "mangrove/cli/usage.h"

namespace mangrove::cli {
namespace {

OptionDescription describe(const CLI::App& command, const CLI::Option& option) {
  OptionDescription description;
  description.is_argument = option.get_positional();
  if (description.is_argument) {
    description.name = option.get_name(/*positional=*/true);
  } else {
    if (!option.get_lnames().empty()) description.name = "--" + option.get_lnames().front();
    if (!option.get_snames().empty()) description.short_name = "-" + option.get_snames().front();
    if (description.name.empty()) std::swap(description.name, description.short_name);
  }
  description.help = option.get_description();
  const bool takes_value = option.get_items_expected_max() > 0;
  if (takes_value) description.value = option.get_type_name().empty() ? "VALUE" : option.get_type_name();
  description.default_value = option.get_default_str();
  description.is_required = option.get_required();
  if (takes_value) description.choices = option_choices(command.get_name(), description.name);
  return description;
}

void add_description(const CLI::App& command, std::vector<CommandDescription>& all) {
  CommandDescription description{.path = command_path(command),
                                 .name = command.get_name(),
                                 .help = command.get_description(),
                                 .footer = command.get_footer(),
                                 .options = {},
                                 .commands = {}};
  for (const CLI::Option* option : command.get_options()) description.options.push_back(describe(command, *option));
  const std::vector<const CLI::App*> below = commands_below(command);
  for (const CLI::App* one : below) description.commands.push_back(one->get_name());
  all.push_back(std::move(description));
  for (const CLI::App* one : below) add_description(*one, all);
}

}  // namespace

std::vector<CommandDescription> describe_commands(const CLI::App& app) {
  std::vector<CommandDescription> all;
  add_description(app, all);
  return all;
}

}  // namespace mangrove::cli
