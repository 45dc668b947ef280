/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same in C++17: a set of words that is kept in a file from run to run.
 *
 *     seen FILE WORD...
 *
 * Opens FILE, or makes a filter for a thousand words where there is none. Prints which words are
 * new, and saves.
 *
 * Introduces: bloomery/bloomery.hpp: filter, open, insert, save; error.
 */
#include <bloomery/bloomery.hpp>

#include <filesystem>
#include <iostream>

int main(int argc, char **argv)
{
    bloomery::error error;
    if (argc < 2) {
        std::cerr << "usage: seen FILE WORD...\n";
        return 2;
    }
    std::error_code unknown; /* a file that can't be looked at is one that can't be opened */
    bloomery::filter seen = std::filesystem::exists(argv[1], unknown) || unknown
                                ? bloomery::filter::open(argv[1], &error)
                                : bloomery::filter(1000, 0.001, &error);
    for (int i = 2; seen && i < argc; i++)
        std::cout << argv[i] << (seen.insert(argv[i]) ? ": new\n" : ": seen before\n");
    if (!seen || !seen.save(argv[1], &error)) {
        std::cerr << "seen: " << error.text << '\n';
        return 2;
    }
    return 0;
}
