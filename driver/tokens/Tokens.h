// kedge tokens: text files become the token file that programs train on.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::driver {

struct TokensRequest {
  std::string tokenizer;          ///< a tokenizer.json, or "bytes"
  std::vector<std::string> files; ///< text, or JSON lines (.jsonl, .ndjson)
  std::string output;             ///< the token file; .npy: with NumPy's header
  std::string documents;          ///< where each document begins, as an .npy; empty: not written
  std::string field = "text";     ///< of a line's object
  std::string end;                ///< a token behind each document; empty: none
  bool lines = false;             ///< each line of a text file is a document
  bool chats = false;             ///< lines are conversations, which the tokenizer's template writes as text
  bool plain = false;             ///< without the tokens that the tokenizer puts around a text
  int threads = 0;                ///< 0: one for each physical core
};

struct TokensWritten {
  uint64_t tokens = 0, documents = 0;
  uint32_t vocabulary = 0, largest = 0; ///< number of tokens that there are, largest one that occurs
  std::string form;                     ///< "uint16"
  bool hasPrompts = false;
};

/// Throws an error that names the file, and the line or the byte, if a file cannot be read or written, is not
/// UTF-8, or has a line without text.
TokensWritten writeTokens(const TokensRequest &request);

} // namespace kedge::driver
