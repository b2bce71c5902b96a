#include "mangrove/identity/alternative_names.h"

#include <vector>

namespace mangrove::identity {

Result<Subject> subject_of(const GENERAL_NAMES* names) {
  std::vector<std::string> uris;
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* uri = name->d.uniformResourceIdentifier;
    std::string text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                     static_cast<std::size_t>(ASN1_STRING_length(uri)));
    if (text.starts_with("mangrove:")) uris.push_back(std::move(text));
  }
  if (uris.size() == 1) return parse_subject(uris.front());
  return make_error(Code::invalid_argument,
                    "it has " + std::to_string(uris.size()) + " names mangrove://ROLE/NAME, and must have one");
}

}  // namespace mangrove::identity
