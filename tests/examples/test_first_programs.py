# SPDX-License-Identifier: Apache-2.0
"""What somebody writes who has not read the headers to the end: it works, does not compile, or fails with a sentence
that says what to do. None of these programs may end well and lose keys."""

import os
import shlex
import shutil
import subprocess

from runner import EMULATOR, Skip, case, main

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LIBRARY = os.environ["BLOOMERY_SHARED"]
CC = shlex.split(os.environ.get("CC") or "cc")
CXX = shlex.split(os.environ.get("CXX") or "c++")
BEGIN = """#include <bloomery/bloomery.h>
#include <bloomery/builder.h>
#include <bloomery/sieve.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static int fail(const bloomery_error *error)
{
    printf("%s: %s\\n", bloomery_status_name(error->status), error->text);
    return 1;
}
static bloomery_key key_of(const char *text)
{
    return bloomery_key_of(text, strlen(text));
}
int main(int argc, char **argv)
{
    bloomery_error error;
    (void)argc, (void)argv, (void)fail, (void)key_of;
"""


def compiled(c, body, *options, compiler=None, name="program.c", begin=BEGIN):
    """What the compiler says to a program: its exit code and its messages."""
    if EMULATOR:
        raise Skip("a compiler for this machine makes programs that the emulator does not run")
    compiler = compiler or CC
    if shutil.which(compiler[-1]) is None:
        raise Skip("no compiler of this language")
    c.file(name, f"{begin}{body}}}\n")
    done = subprocess.run([*compiler, *options, "-I", os.path.join(ROOT, "include"), name, LIBRARY, "-o", "program",
                           "-Wl,-rpath," + os.path.dirname(LIBRARY)], cwd=c.directory, capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stderr


def ran(c, *words):
    done = subprocess.run([c.path("program"), *words], cwd=c.directory, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def expect_output(c, body, code, *parts):
    """The program compiles without a warning, ends with this code, and prints these parts."""
    compiler_code, said = compiled(c, body, "-std=c11", "-Wall", "-Wextra", "-Werror")
    c.expect(compiler_code == 0, said[:1500])
    got, printed = ran(c)
    c.expect(got == code and all(part in printed for part in parts), f"{got}: {printed}")
    return printed


def refused(c, body, *parts):
    """The compiler warns about the program, and a strict one, or one for C++, refuses it."""
    code, said = compiled(c, body)
    c.expect("warning" in said or code != 0, f"no warning: {said}")
    for strict in (("-std=c11", "-pedantic-errors"), ("-std=c11", "-Werror")):
        code, said = compiled(c, body, *strict)
        c.expect(code != 0 and all(part in said for part in parts), f"{strict}: {code} {said[:800]}")
    if shutil.which(CXX[-1]):
        code, said = compiled(c, body, "-std=c++17", compiler=CXX, name="program.cpp")
        c.expect(code != 0 and "error" in said, f"C++ compiles it: {said[:800]}")


WORDS = """    bloomery_filter *words = NULL;
    if (access("words.bloom", F_OK) != 0)
        words = bloomery_new(1000, 0.001, &error);
    else if (bloomery_open("words.bloom", NULL, &words, &error) != BLOOMERY_OK)
        return fail(&error);
    for (int i = 1; i < argc; i++)
        if (bloomery_add(words, key_of(argv[i]), NULL))
            printf("new %s\\n", argv[i]);
    if (bloomery_save(words, "words.bloom", &error) != BLOOMERY_OK)
        return fail(&error);
    bloomery_free(words);
    return 0;
"""


@case
def words_in_a_file_are_kept_from_run_to_run(c):
    code, said = compiled(c, WORDS, "-std=c11", "-Wall", "-Wextra", "-Werror")
    c.expect(code == 0, said)
    c.expect(ran(c, "apple", "pear") == (0, "new apple\nnew pear\n"), "the first run")
    c.expect(ran(c, "apple", "plum") == (0, "new plum\n"), "the second run")
    c.expect(ran(c, "apple", "pear", "plum") == (0, ""), "the third run")


@case
def adding_to_a_map_or_a_view_does_not_compile(c):
    refused(c, """    const bloomery_filter *map = NULL;
    bloomery_map("words.bloom", NULL, &map, &error);
    return bloomery_add(map, key_of("apple"), &error);
""", "const")
    refused(c, """    bloomery_filter *map = NULL;
    return bloomery_map("words.bloom", NULL, &map, &error);
""", "incompatible")
    refused(c, """    static char bytes[4096];
    bloomery_filter *view = NULL;
    return bloomery_view(bytes, sizeof(bytes), NULL, &view, &error);
""", "incompatible")


@case
def a_static_filter_that_is_added_to_does_not_compile(c):
    refused(c, """    bloomery_plan plan = {0};
    bloomery_builder *builder = NULL;
    bloomery_filter *made = NULL;
    plan.keys = 10;
    plan.rate = 0.01;
    bloomery_builder_open(&plan, NULL, NULL, &builder, &error);
    return bloomery_builder_finish(builder, &made, &error);
""", "incompatible")


@case
def an_unseen_result_of_a_query_is_a_warning(c):
    for call in ('bloomery_may_contain(bloomery_new(10, 0.1, NULL), key_of("a"))', "bloomery_new(10, 0.1, NULL)"):
        code, said = compiled(c, f"    {call};\n    return 0;\n", "-Werror")
        c.expect(code != 0 and "unused" in said, f"{call}: {said}")


@case
def a_key_that_could_not_be_added_is_not_new_and_stops_the_save(c):
    printed = expect_output(c, """    bloomery_plan plan = {0};
    bloomery_create_options options = {0};
    bloomery_filter *small = NULL;
    int added = 0;
    plan.kind = BLOOMERY_SCALABLE;
    plan.keys = 100;
    plan.rate = 0.01;
    options.memory_limit = 1000;
    if (bloomery_create(&plan, &options, &small, &error) != BLOOMERY_OK)
        return fail(&error);
    for (int i = 0; i < 1000; i++)
        if (bloomery_add(small, bloomery_key_of(&i, sizeof(i)), NULL))
            added++;
    printf("%d new\\n", added);
    if (bloomery_save(small, "small.bloom", &error) != BLOOMERY_OK)
        return fail(&error);
    return 0;
""", 1, "BLOOMERY_FULL: ", "keys could not be added")
    added = int(printed.split()[0])
    c.expect(100 <= added < 1000, printed)
    missing = int(printed.split("BLOOMERY_FULL: ")[1].split()[0].replace(",", ""))
    c.expect(900 - added < missing <= 1000 - added, f"{missing} missing: {printed}")
    c.expect(not os.path.exists(c.path("small.bloom")), "it was saved")


@case
def a_filter_of_an_unsolved_plan_is_made(c):
    expect_output(c, """    bloomery_plan plan = {0};
    bloomery_filter *filter = NULL;
    plan.keys = 1000;
    plan.rate = 0.01;
    if (bloomery_create(&plan, NULL, &filter, &error) != BLOOMERY_OK)
        return fail(&error);
    bloomery_info info;
    memset(&info, 0, sizeof(info));
    bloomery_info_get(filter, &info);
    printf("%llu keys at %g; kind %d\\n", (unsigned long long)info.planned_keys, plan.rate, (int)info.kind);
    return 0;
""", 0, "1000 keys at 0.01; kind 1")


@case
def a_plan_without_numbers_says_which_to_set(c):
    expect_output(c, """    bloomery_plan plan = BLOOMERY_PLAN;
    bloomery_filter *filter = NULL;
    plan.keys = 1000;
    if (bloomery_create(&plan, NULL, &filter, &error) != BLOOMERY_OK)
        return fail(&error);
    return 0;
""", 1, "BLOOMERY_BAD_ARGUMENT: ", "keys", "rate", "bytes", "set")


@case
def one_plan_is_solved_in_a_loop(c):
    expect_output(c, """    bloomery_plan plan = BLOOMERY_PLAN;
    unsigned long long last = 0;
    plan.rate = 0.01;
    for (uint64_t keys = 1000; keys <= 1000000; keys *= 10) {
        plan.keys = keys;
        for (int again = 0; again < 2; again++)
            if (bloomery_plan_solve(&plan, NULL, &error) != BLOOMERY_OK)
                return fail(&error);
        printf("%llu keys: %llu bytes\\n", (unsigned long long)keys, (unsigned long long)plan.planned_bytes);
        if (plan.planned_bytes < 9 * last)
            return 2;
        last = plan.planned_bytes;
    }
    return 0;
""", 0, "1000 keys: ", "1000000 keys: ")


@case
def a_plan_that_was_changed_after_solving_is_refused(c):
    for change in ("plan.kind = BLOOMERY_COUNTING", "plan.keys = 2000", "plan.rate = 0.001", "plan.bytes = 64"):
        expect_output(c, f"""    bloomery_plan plan = BLOOMERY_PLAN;
    bloomery_filter *filter = NULL;
    plan.keys = 1000;
    plan.rate = 0.01;
    if (bloomery_plan_solve(&plan, NULL, &error) != BLOOMERY_OK)
        return 2;
    {change};
    if (bloomery_create(&plan, NULL, &filter, &error) != BLOOMERY_OK)
        return fail(&error);
    return 0;
""", 1, "BLOOMERY_BAD_ARGUMENT: ", "call bloomery_plan_solve again")


@case
def an_info_that_was_not_initialised_is_filled(c):
    expect_output(c, """    bloomery_filter *filter = bloomery_new(1000, 0.01, &error);
    for (int fill = 0; fill < 256; fill += 85) {
        bloomery_info info;
        bloomery_scan_result now;
        memset(&info, fill, sizeof(info));
        memset(&now, fill, sizeof(now));
        bloomery_add(filter, key_of("apple"), NULL);
        bloomery_info_get(filter, &info);
        bloomery_scan(filter, &now);
        if (info.planned_keys != 1000 || info.kind != BLOOMERY_BLOCKED || now.bits_set < 2)
            return 1;
    }
    return 0;
""", 0)


@case
def a_static_filter_of_integers_is_a_few_lines(c):
    body = """    static int64_t ids[10000];
    for (int i = 0; i < 10000; i++)
        ids[i] = 7 * i;
    bloomery_plan plan = {0};
    bloomery_builder *builder = NULL;
    const bloomery_filter *made = NULL;
    const bloomery_keys keys = bloomery_keys_of_integers(ids, 10000);
    bloomery_counts counts;
    plan.keys = 10000;
    plan.rate = 0.001;
    if (bloomery_builder_open(&plan, NULL, NULL, &builder, &error) != BLOOMERY_OK ||
        bloomery_builder_add(builder, &keys, &error) != BLOOMERY_OK ||
        bloomery_builder_finish(builder, &made, &error) != BLOOMERY_OK ||
        bloomery_may_contain_keys(made, &keys, NULL, &counts, &error) != BLOOMERY_OK)
        return fail(&error);
    printf("%zu of %zu\\n", counts.positive, counts.done);
    return 0;
"""
    expect_output(c, body, 0, "10000 of 10000")


@case
def a_static_filter_that_is_created_names_the_builder(c):
    expect_output(c, """    bloomery_plan plan = {0};
    bloomery_filter *filter = NULL;
    plan.kind = BLOOMERY_STATIC;
    plan.keys = 1000;
    plan.rate = 0.01;
    if (bloomery_create(&plan, NULL, &filter, &error) != BLOOMERY_OK)
        return fail(&error);
    return 0;
""", 1, "BLOOMERY_UNSUPPORTED: ", "bloomery_builder_open")


CRAWL = """    bloomery_sieve_options options = {0};
    bloomery_sieve *sieve = NULL;
    const bloomery_key urls[3] = {key_of("a"), key_of("b"), key_of("a")};
    bloomery_sieve_item item;
    size_t count = 0;
    %s
    if (bloomery_sieve_open(&options, &sieve, &error) != BLOOMERY_OK ||
        bloomery_sieve_push(sieve, urls, NULL, 3, BLOOMERY_SIEVE_PUSH, NULL, NULL, &error) != BLOOMERY_OK)
        return fail(&error);
    while (bloomery_sieve_pop(sieve, &item, 1, BLOOMERY_SIEVE_POP, &count, &error) == BLOOMERY_OK && count > 0) {
        printf("%%.*s\\n", (int)item.key.bytes, (const char *)item.key.data);
        bloomery_sieve_finish(sieve, &item.number, 1, BLOOMERY_SIEVE_DONE, NULL, &error);
    }
    return bloomery_sieve_close(sieve, &error) == BLOOMERY_OK ? 0 : fail(&error);
"""


@case
def a_crawler_gets_each_key_once_and_first_in_first_out_on_demand(c):
    c.expect(expect_output(c, CRAWL % "", 0) == "a\nb\n", "in memory")
    order = 'options.directory = "crawl"; options.order = BLOOMERY_SIEVE_ORDER_FIFO;'
    c.expect(expect_output(c, CRAWL % order, 0) == "a\nb\n", "in a directory")


@case
def a_whole_chain_says_how_far_it_came(c):
    expect_output(c, """    static int64_t ids[2000];
    for (int i = 0; i < 2000; i++)
        ids[i] = i;
    bloomery_plan plan = {0};
    bloomery_create_options options = {0};
    bloomery_filter *small = NULL;
    const bloomery_keys keys = bloomery_keys_of_integers(ids, 2000);
    bloomery_counts counts;
    plan.kind = BLOOMERY_SCALABLE;
    plan.keys = 100;
    plan.rate = 0.01;
    options.memory_limit = 1000;
    if (bloomery_create(&plan, &options, &small, &error) != BLOOMERY_OK)
        return 2;
    if (bloomery_add_keys(small, &keys, NULL, &counts, &error) == BLOOMERY_OK)
        return 3;
    if (counts.done < 100 || counts.done >= 2000 || counts.positive > counts.done)
        return 4;
    for (size_t i = 0; i < counts.done; i++)
        if (!bloomery_may_contain(small, bloomery_key_of(&ids[i], sizeof(ids[i]))))
            return 5;
    return fail(&error);
""", 1, "BLOOMERY_FULL: ")


CXX_BEGIN = """#include <bloomery/bloomery.h>
#include <cstdio>
#include <memory>
struct deleter {
    void operator()(const bloomery_filter *filter) const { bloomery_free(filter); }
};
int main()
{
    bloomery_error error;
"""


@case
def a_pointer_of_cxx_owns_a_filter_and_a_map(c):
    code, said = compiled(c, """    std::unique_ptr<bloomery_filter, deleter> made(bloomery_new(1000, 0.01, &error));
    std::unique_ptr<bloomery_filter, decltype(&bloomery_free)> other(bloomery_new(10, 0.01, &error), bloomery_free);
    if (!made || !other || !bloomery_add(made.get(), bloomery_key_of("a", 1), &error) ||
        bloomery_save(made.get(), "made.bloom", &error) != BLOOMERY_OK)
        return std::puts(error.text), 1;
    const bloomery_filter *opened = nullptr;
    bloomery_map("made.bloom", nullptr, &opened, &error);
    std::unique_ptr<const bloomery_filter, deleter> map(opened);
    return map && bloomery_may_contain(map.get(), bloomery_key_of("a", 1)) ? 0 : 1;
""", "-std=c++17", "-Wall", "-Wextra", "-Werror", compiler=CXX, name="program.cpp", begin=CXX_BEGIN)
    c.expect(code == 0, said[:1500])
    c.expect(ran(c) == (0, ""), "it does not work")


@case
def hello_world_is_three_statements(c):
    code, said = compiled(c, """    bloomery::filter seen(1000, 0.01);
    seen.insert("apple");
    return seen.contains("apple") && !seen.contains("plum") ? 0 : 1;
""", "-std=c++17", "-Wall", "-Wextra", "-Werror", compiler=CXX, name="program.cpp",
                          begin="#include <bloomery/bloomery.hpp>\nint main()\n{\n")
    c.expect(code == 0, said[:1500])
    c.expect(ran(c) == (0, ""), "C++")
    expect_output(c, """    bloomery_filter *seen = bloomery_new(1000, 0.01, &error);
    bloomery_add(seen, key_of("apple"), NULL);
    return bloomery_may_contain(seen, key_of("apple")) ? 0 : 1;
""", 0)


@case
def experimental_functions_are_refused_with_a_reason(c):
    code, said = compiled(c, "    return 0;\n", begin="#include <bloomery/experimental.h>\n" + BEGIN)
    c.expect(code != 0 and "may change in any release: define BLOOMERY_EXPERIMENTAL to use it" in said, said[:500])
    code, said = compiled(c, "    return bloomery_hash_name(3) != NULL ? 0 : 1;\n", "-Werror",
                          begin="#define BLOOMERY_EXPERIMENTAL\n#include <bloomery/experimental.h>\n" + BEGIN)
    c.expect(code == 0 and ran(c) == (0, ""), said[:500])


main()
