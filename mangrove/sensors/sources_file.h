#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/keys.h"
#include "mangrove/base/result.h"
#include "mangrove/sensors/message_queue.h"
#include "mangrove/sensors/payload.h"
#include "mangrove/sensors/series_window.h"
#include "mangrove/sensors/topic.h"

namespace mangrove::sensors {

/// How a source or sink is reached: the keys that some kind of connection reads.
struct LinkOptions {
  std::string url;
  std::string topic;                      // subscription of mqtt; "": nothing comes from there
  std::int64_t qos = 1, answers_qos = 1;  // of the subscription, of what is sent
  std::string version = "3.1.1";          // of MQTT
  std::string client_id;                  // "": one of the state folder or of this process
  bool keep_session = false;              // the broker keeps messages while this process is away
  Seconds keepalive = 60;
  std::string will_topic, will = "gone";
  std::int64_t will_qos = 1;
  bool will_retain = false;
  std::string user, password_file;
  std::string ca, certificate, key;    // PEM files
  std::string psk_identity, psk_file;  // of DTLS
  Seconds refresh = 60;                // an observation that is silent for so long is asked for again
};

/// One section of the file.
struct SourceOptions {
  std::string name, kind;
  int line = 0;
  LinkOptions link;
  std::string model;  // "": the one that is served
  PayloadOptions payload;
  MessageQueue::Limits queue;
  Bytes max_message = 1'000'000;
  std::int64_t top = 1;  // classes that an answer names; 0: the outputs of the network as they are
  std::string series = "{source}";
  std::string join;  // windows of sources with the same word have a row of each; "": a window of its own
  WindowOptions window;
  std::string to;                  // the section of mqtt that gets the answers; "": this one
  std::string answers, undecided;  // topic templates; "": none are sent
  double threshold = 0;            // a sample whose most probable class has less is undecided
  bool once = false;
};

/// What a file of sources says.
struct SourcesFile {
  std::vector<SourceOptions> sources;  // in its order
  Bytes offline_buffer = 0;            // 0: what waits is kept in memory, within `unsent`
  Bytes unsent = 16'000'000;
  std::string state_folder;  // "": the state folder of this user
  std::int64_t seen_ids = 100'000;
};

/// Reads a YAML file with a section for each source; keys outside sections hold for all that have them.
/// errors: not_found; invalid_argument (unknown key or kind, a value that does not fit, sections that do not fit each
/// other, answers that the source would read as questions; names file and line).
Result<SourcesFile> load_sources(const fs::path& path);
/// The same of what was read there already.
Result<SourcesFile> parse_sources(const std::string& text, const fs::path& path);

/// The keys of a section of this kind, and those of all kinds with "". The options must outlive them.
Keys source_keys(SourceOptions& options, const std::string& kind);
/// The keys of the whole file, which stand outside sections.
Keys file_keys(SourcesFile& file);

}  // namespace mangrove::sensors
