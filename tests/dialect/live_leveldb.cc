// SPDX-License-Identifier: Apache-2.0
//
// LevelDB itself on a string, where its library is installed: a line in, a line out.
//
//     build BITS_PER_KEY KEY...    the filter of these keys
//     ask FILTER KEY...            a digit for each: what LevelDB says
//
// All in hexadecimal, "-" for no bytes.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

static std::string bytes_of(const std::string &text)
{
    std::string bytes;
    if (text != "-")
        for (size_t i = 0; i + 1 < text.size(); i += 2)
            bytes.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
    return bytes;
}

static void say(const std::string &bytes)
{
    for (unsigned char byte : bytes)
        std::printf("%02x", byte);
    std::puts("");
    std::fflush(stdout);
}

static void build(int bits_per_key, const std::vector<std::string> &keys)
{
    std::unique_ptr<const leveldb::FilterPolicy> policy(
        leveldb::NewBloomFilterPolicy(bits_per_key));
    std::vector<leveldb::Slice> slices(keys.begin(), keys.end());
    std::string filter;
    policy->CreateFilter(slices.data(), static_cast<int>(slices.size()), &filter);
    say(filter);
}

static void ask(const std::string &filter, const std::vector<std::string> &keys)
{
    std::unique_ptr<const leveldb::FilterPolicy> policy(leveldb::NewBloomFilterPolicy(10));
    std::string answers;
    for (const std::string &key : keys)
        answers.push_back(policy->KeyMayMatch(key, filter) ? '1' : '0');
    std::puts(answers.c_str());
    std::fflush(stdout);
}

int main()
{
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string verb, first, word;
        std::vector<std::string> keys;
        words >> verb >> first;
        while (words >> word)
            keys.push_back(bytes_of(word));
        if (verb == "build")
            build(std::atoi(first.c_str()), keys);
        else if (verb == "ask")
            ask(bytes_of(first), keys);
        else
            return 2;
    }
    return 0;
}
