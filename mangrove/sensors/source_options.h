#pragma once

#include <cstdint>
#include <string>

#include "mangrove/base/units.h"
#include "mangrove/sensors/message_queue.h"
#include "mangrove/sensors/payload.h"
#include "mangrove/sensors/series_window.h"

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

}  // namespace mangrove::sensors
