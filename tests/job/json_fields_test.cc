#include "mangrove/job/json_fields.h"

#include <gtest/gtest.h>

namespace mangrove::job {
namespace {

struct Board {
  std::string name;
  std::optional<double> accuracy;
  bool operator==(const Board&) const = default;

  static void fields(auto& self, auto& field) {
    field("name", self.name);
    field.or_null("accuracy", self.accuracy);
  }
};

struct Session {
  std::int64_t epoch = 0;
  double loss = 0;
  bool is_over = false;
  std::optional<std::int32_t> step;
  std::vector<Board> boards;
  std::vector<std::optional<std::int64_t>> exits;
  std::map<std::string, std::string> missing;
  Json more;
  bool operator==(const Session&) const = default;

  static void fields(auto& self, auto& field) {
    field("epoch", self.epoch);
    field("loss", self.loss);
    field("over", self.is_over);
    field("step", self.step);
    field("boards", self.boards);
    field("exits", self.exits);
    field("missing", self.missing);
    field("more", self.more);
  }
};

const char* const kWhole =
    R"({"epoch":2,"loss":0.5,"over":true,"step":7,"boards":[{"name":"a","accuracy":0.25},{"name":"b","accuracy":null}],)"
    R"("exits":[1,null],"missing":{"model.onnx":"no room"},"more":{"z":1,"a":[2]}})";

const Session kSession{.epoch = 2,
                       .loss = 0.5,
                       .is_over = true,
                       .step = 7,
                       .boards = {{"a", 0.25}, {"b", {}}},
                       .exits = {1, {}},
                       .missing = {{"model.onnx", "no room"}},
                       .more = Json::parse(R"({"z":1,"a":[2]})")};

TEST(JsonFields, AreWrittenInTheirOrder) {
  EXPECT_EQ(dump(json_of(kSession)), kWhole);
  Json object = {{"kind", "run"}};
  add_fields(Board{"a", {}}, object);
  EXPECT_EQ(dump(object), R"({"kind":"run","name":"a","accuracy":null})");
}

TEST(JsonFields, AreReadAsTheyWereWritten) {
  const auto run = parse_json<Session>(kWhole);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(*run, kSession);
  Session without_step = kSession;
  without_step.step.reset();
  const Json json = json_of(without_step);
  EXPECT_FALSE(json.contains("step"));
  EXPECT_EQ(*read_json<Session>(json), without_step);
}

TEST(JsonFields, OfANumberThatIsNoneAreNull) {
  Session run = kSession;
  run.loss = std::numeric_limits<double>::quiet_NaN();
  const std::string text = dump(json_of(run));
  EXPECT_NE(text.find(R"("loss":null)"), std::string::npos) << text;
  EXPECT_TRUE(std::isnan(parse_json<Session>(text)->loss));
}

TEST(JsonFields, OfOtherProgramsMayHaveMoreKeys) {
  Json json = json_of(kSession);
  json["new"] = 1;
  json["boards"][0]["new"] = "x";
  EXPECT_EQ(*read_json<Session>(json), kSession);
}

TEST(JsonFields, ThatAreMissingOrOfAnotherTypeAreRefusedByName) {
  const auto refusal = [](const char* key, const Json& value) {
    Json json = json_of(kSession);
    json[key] = value;
    const auto run = read_json<Session>(json);
    return run.ok() ? "" : run.error().message;
  };
  EXPECT_EQ(refusal("epoch", "2"), "epoch: expected a whole number, got string");
  EXPECT_EQ(refusal("epoch", 2.5), "epoch: expected a whole number, got number");
  EXPECT_EQ(refusal("epoch", 1e15), "epoch: expected a whole number, got number");
  EXPECT_EQ(refusal("epoch", 1'000'000'000'000'001), "epoch: 1000000000000001 is out of range");
  EXPECT_EQ(refusal("epoch", std::numeric_limits<std::uint64_t>::max()), "epoch: 18446744073709551615 is out of range");
  EXPECT_EQ(refusal("step", 3'000'000'000), "step: 3000000000 is out of range");
  EXPECT_EQ(refusal("step", nullptr), "step: expected a whole number, got null");
  EXPECT_EQ(refusal("loss", false), "loss: expected a number, got boolean");
  EXPECT_EQ(refusal("loss", 1e200), "loss: 1e+200 is out of range");
  EXPECT_EQ(refusal("over", 1), "over: expected true or false, got number");
  EXPECT_EQ(refusal("boards", Json::object()), "boards: expected a list, got object");
  EXPECT_EQ(refusal("boards", {{{"name", "a"}, {"accuracy", 1}}, {{"name", 3}, {"accuracy", 1}}}),
            "boards: 1: name: expected a text, got number");
  EXPECT_EQ(refusal("boards", {{{"name", "a"}}}), "boards: 0: accuracy: is missing");
  EXPECT_EQ(refusal("exits", {1, "x"}), "exits: 1: expected a whole number, got string");
  EXPECT_EQ(refusal("missing", {{"a", 1}}), "missing: a: expected a text, got number");

  Json json = json_of(kSession);
  json.erase("epoch");
  EXPECT_EQ(read_json<Session>(json).error().message, "epoch: is missing");
  EXPECT_EQ(read_json<Session>(Json::array()).error().message, "expected an object, got array");
  EXPECT_EQ(parse_json<Session>("{").code(), Code::data_loss);
}

TEST(JsonFields, HaveNamesAlsoBelowOthers) {
  EXPECT_EQ(field_names<Session>(), (std::vector<std::string>{"epoch", "loss", "over", "step", "boards", "name",
                                                              "accuracy", "exits", "missing", "more"}));
}

}  // namespace
}  // namespace mangrove::job
