#pragma once

#include <google/protobuf/message.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/keys.h"
#include "mangrove/base/result.h"

namespace mangrove::job {

/// What {word} in a help text stands for, from the owner of the table: {"optimizers", {"sgd", "momentum", "adam"}}.
using HelpWords = std::map<std::string, std::vector<std::string>>;

/// Adds a Key for each field of a job's message that has the option job.key (see keys.proto), in the order of their
/// declaration. They read and write the message, which must outlive them. A repeated field's text form is a list with
/// commas between; a field that is absent has its default. A text with a {word} in its help has its names as choices.
void add_keys(google::protobuf::Message& job, const HelpWords& words, Keys& keys);

/// What a key of a job's message takes, for other commands with a flag that means the same. job: the message's
/// descriptor. name: of the key, e.g. "batch". REQUIRES: it is a whole number or a size, or a list of such.
WholeRange range_of(const google::protobuf::Descriptor& job, std::string_view name);

/// Checks a message that came from elsewhere, and the messages inside it: each key has a value that its flag would
/// take, other numbers are within their option job.bounds, texts are UTF-8, and lists have at most 10,000 elements.
/// errors: invalid_argument: names the key or field, its value and what is allowed.
Status check_keys(const google::protobuf::Message& job);

/// "key=value" on a line for each key that must be the same where a run is resumed (option resume), of those that one
/// of these strategies reads.
std::string fingerprint(const google::protobuf::Message& job, const std::vector<std::string>& strategies);

}  // namespace mangrove::job
