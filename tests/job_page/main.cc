// job_page: writes docs/jobs.md and docs/job.schema.json from the descriptions of the keys.
//
//   job_page FILE           writes the page, or the schema where the file's name ends in .json
//   job_page --check FILE   exit status 1 where the file is not what would be written
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "tests/job_page/job_schema.h"

#include "mangrove/base/file.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/base/table.h"
#include "mangrove/cli/settings.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/infer/tiers/fault_policy.h"
#include "mangrove/infer/tiers/schedulers/scheduler.h"
#include "mangrove/train/strategy.h"

namespace mangrove {
namespace {

constexpr const char* kIntroduction = R"(# Job files

<!-- written by build/release/tests/job_page docs/jobs.md -->

A job is a YAML file, or the same keys as flags: `learning_rate: 0.1` in a file is `--learning-rate 0.1` on the command line.
`mangrove run FILE` runs the sections of the file in their order, on one cluster, with one run folder; flags set the keys of
every section that has them.

```yaml
data: mnist               # top-level keys are defaults for all sections
local: 4

train:
  model: lenet
  epochs: 1

infer:                    # without `model`: the network that `train` has just made
  stages: 3
```

An unknown key, a key that is given twice and a value that does not fit are errors. So is a key that belongs to other strategies
than the chosen one: these are named in *italics* below. A top-level key must be read by one section at least. The message names
file, line, key and the nearest known key or the right strategies; the exit status is 2. `mangrove COMMAND --help` prints the same
keys, `mangrove train --help STRATEGY` and `mangrove infer --help STRATEGY` those of one strategy.

Editors check and complete job files by [job.schema.json](job.schema.json), a JSON Schema. Those with the YAML language server
(Visual Studio Code, Neovim, Emacs) read it where the file's first line is `# yaml-language-server: $schema=PATH`, with the path or
address of the schema. The Debian package has it as `/usr/share/mangrove/job.schema.json`.

A value is a whole number (N), a NUMBER, a TIME (`30s`, `500ms`, `2min`), a SIZE (`256MB`, `1GiB`), a LIST with commas between, a
TEXT, or `true` or `false`.
)";

constexpr const char* kTrain = R"(
## train

The run folder gets `model.onnx`, `best.onnx` (of the best validation), `report.html`, `summary.json`, `metrics.jsonl` (one JSON object
a line, see [json.md](json.md)), `checkpoint.safetensors`, `job.yaml` (the settings, for `--resume`) and `logs/` (of an embedded cluster).
)";

constexpr const char* kInfer = R"(
## infer

The run folder gets `job.yaml` (the settings), `summary.json`, `metrics.jsonl` and `report.html`.
)";

constexpr const char* kEval = R"(
## eval

`eval` runs in the calling process, without a cluster.
)";

/// Text for a cell of a table.
std::string in_table(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) text.insert(at, "\\");
  return text;
}

/// Without a list of rows that are explained on the key's own page.
std::string without_names(std::string help) {
  for (const auto& names : {row_names(train::strategies()), row_names(infer::strategies()),
                            row_names(infer::schedulers()), row_names(infer::fault_policies())}) {
    const std::string list = ": " + join_words(names);
    if (const std::size_t at = help.find(list); at != std::string::npos) help.erase(at, list.size());
  }
  return help;
}

std::string row(const Key& key) {
  const std::string now = key.get();
  const std::string page = key.page.substr(0, key.page.find('#'));
  std::string text = "| `" + key.name + "` | " + (key.is_switch() ? "`true`" : key.value);
  text += (key.range.empty() ? "" : ", " + key.range) + " | " + (now.empty() ? "" : "`" + now + "`") + " | ";
  if (!key.strategies.empty()) text += "*" + join_words(key.strategies) + ":* ";
  text += in_table(without_names(key.help)) + (page.empty() ? "" : " ([" + page + "](" + key.page + "))") + " |\n";
  return text;
}

/// A table for each group, in the order in which they first appear.
std::string tables(const Keys& keys) {
  std::vector<std::string> groups;
  for (const Key& key : keys.all())
    if (std::ranges::find(groups, key.group) == groups.end()) groups.push_back(key.group);
  std::string text;
  for (const std::string& group : groups) {
    text += "\n**" + group + "**\n\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n";
    for (const Key& key : keys.all())
      if (key.group == group) text += row(key);
  }
  return text;
}

std::string page() {
  cli::TrainSettings train;
  cli::InferSettings infer;
  cli::EvalSettings eval;
  return kIntroduction + (kTrain + tables(train.keys())) + (kInfer + tables(infer.keys())) +
         (kEval + tables(eval.keys()));
}

int run(const std::vector<std::string>& arguments) {
  const bool check = arguments.size() == 2 && arguments[0] == "--check";
  if (!check && arguments.size() != 1) {
    std::cerr << "usage: job_page [--check] FILE\n";
    return 2;
  }
  const fs::path path = arguments.back();
  const std::string text = path.extension() == ".json" ? job_schema() : page();
  if (!check) {
    const Status written = write_file_atomically(path, text);
    if (!written.ok()) std::cerr << written.error().message << "\n";
    return written.ok() ? 0 : 1;
  }
  const Result<std::string> found = read_file(path);
  if (found.ok() && *found == text) return 0;
  std::cerr << path.string() << " is out of date: write it with job_page " << path.string() << "\n";
  return 1;
}

}  // namespace
}  // namespace mangrove

int main(int argc, char** argv) {
  return mangrove::run(std::vector<std::string>(argv + 1, argv + argc));
}
