#include <gtest/gtest.h>

#include <charconv>
#include <sstream>

#include "tests/paths.h"

#include "mangrove/base/file.h"
#include "mangrove/codec/codec.h"

// docs/codecs.md has a table with a row for each codec, which repeats what the codecs' own rows say.
namespace mangrove::codec {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> found;
  std::istringstream rest(line.substr(1));
  for (std::string cell; std::getline(rest, cell, '|');) found.push_back(trimmed(cell));
  return found;
}

/// The rows of the table whose first column is "codec".
std::vector<std::vector<std::string>> rows_of_page() {
  const Result<std::string> page = read_file(testing::repository_path("docs/codecs.md"));
  EXPECT_TRUE(page.ok());
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(*page);
  bool is_inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| codec |")) {
      is_inside = true;
      std::getline(lines, line);
    } else if (is_inside && !line.starts_with("|")) {
      break;
    } else if (is_inside) {
      rows.push_back(cells(line));
    }
  }
  return rows;
}

/// As the page has them: `fraction` 0.01, `bits` 3
std::string parameters_of(const CodecRow& row) {
  std::string text;
  for (const Parameter& parameter : row.parameters) {
    char number[32] = {};
    *std::to_chars(number, number + 31, parameter.fallback).ptr = '\0';
    text += (text.empty() ? "`" : ", `") + std::string(parameter.name) + "` " + number;
  }
  return text;
}

std::string mean_of(const CodecRow& row) {
  if (row.name == "none") return "exact";
  return row.is_unbiased ? "unbiased" : row.keeps_residual ? "keeps what is left" : "biased";
}

TEST(CodecPage, HasTheNamesParametersAndMeansOfTheTable) {
  const auto rows = rows_of_page();
  ASSERT_EQ(rows.size(), codecs().size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const CodecRow& codec = codecs()[i];
    ASSERT_EQ(rows[i].size(), 6u) << rows[i][0];
    EXPECT_EQ(rows[i][0], "`" + std::string(codec.name) + "`");
    EXPECT_EQ(rows[i][1], parameters_of(codec)) << codec.name;
    EXPECT_TRUE(rows[i][3].starts_with(mean_of(codec))) << codec.name << ": " << rows[i][3];
  }
}

}  // namespace
}  // namespace mangrove::codec
