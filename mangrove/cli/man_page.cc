#include "mangrove/cli/man_page.h"

#include <fmt/format.h>

namespace mangrove::cli {
namespace {

/// Text such that troff shows it as it is: its own characters, and lines that begin like its requests.
std::string plain(const std::string& text) {
  std::string shown;
  for (const char c : text) {
    const bool begins_line = shown.empty() || shown.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) shown += "\\&";
    if (c == '\\')
      shown += "\\e";
    else if (c == '-')
      shown += "\\-";
    else if (c == '`')
      shown += "\\(ga";
    else if (c == '\'' && !begins_line)
      shown += "\\(aq";
    else if (c == '~')
      shown += "\\(ti";
    else if (c == '^')
      shown += "\\(ha";
    else
      shown += c;
  }
  return shown;
}

std::string option_entry(const OptionDescription& option) {
  std::string names = option.short_name.empty() ? "" : plain(option.short_name) + ", ";
  names += plain(option.name);
  std::string text = fmt::format(".TP\n\\fB{}\\fR", names);
  if (!option.is_argument && !option.value.empty()) text += fmt::format(" \\fI{}\\fR", plain(option.value));
  text += "\n" + plain(option.help.empty() ? "see the examples" : option.help);
  if (!option.default_value.empty()) text += fmt::format(" (default: {})", plain(option.default_value));
  return text + "\n";
}

std::string command_section(const CommandDescription& command) {
  std::string text = fmt::format(".SS {}\n{}\n", plain(command.path), plain(command.help));
  for (const OptionDescription& option : command.options)
    if (option.name != "--help") text += option_entry(option);
  if (command.footer.empty()) return text;
  return text + fmt::format(".PP\n.nf\n{}\n.fi\n", plain(command.footer));
}

}  // namespace

std::string man_page(std::span<const CommandDescription> commands) {
  const CommandDescription& program = commands.front();
  std::string text = fmt::format(
      ".TH MANGROVE 1\n.SH NAME\nmangrove \\- {}\n.SH SYNOPSIS\n\\fBmangrove\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR ...]\n"
      ".SH DESCRIPTION\n{}\n.PP\n.nf\n{}\n.fi\n.SH COMMANDS\n",
      plain(program.help), plain(program.help), plain(program.footer));
  for (const CommandDescription& command : commands.subspan(1)) text += command_section(command);
  text +=
      ".SH EXIT STATUS\n"
      "0: done; 1: failed; 2: wrong command line, job file or name; 130: stopped by Ctrl\\-C.\n"
      ".SH ENVIRONMENT\n"
      ".TP\nMANGROVE_DATA\nfolder of the data sets\n"
      ".TP\nMANGROVE_HEALTH_FILE\nwhere a coordinator, node or server keeps its health, for \\fBmangrove health\\fR\n"
      ".TP\nNO_COLOR\nno colours, also on a terminal\n"
      ".TP\nXDG_CONFIG_HOME\nwhere the configuration is, in place of \\(ti/.config\n"
      ".SH FILES\n"
      ".TP\n\\(ti/.config/mangrove/config.yaml\n"
      "defaults of flags, as YAML: \\fIcoordinator\\fR, \\fIdata_dir\\fR, \\fIbackend\\fR, \\fIthreads\\fR; flags and "
      "job "
      "files win\n"
      ".TP\n\\(ti/.cache/mangrove/data\ndata sets, and profiles of devices\n"
      ".TP\nruns/\nwhat trainings leave: model, report, metrics, checkpoint\n";
  return text;
}

}  // namespace mangrove::cli
