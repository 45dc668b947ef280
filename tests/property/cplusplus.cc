/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <bloomery/bloomery.hpp>: the classes make the C functions' filters and answers, what cannot work
 * does not compile, and every failure is reported: by its error, by an empty object, or, with
 * BLOOMERY_EXCEPTIONS, as std::system_error.
 *
 * Build: this file; the library. Argument: how the names of its files begin. Suite: property. Built
 * as C++17 and C++20, with exceptions and without exceptions and RTTI.
 */
#include <bloomery/bloomery.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace
{

int failures;
int number;
const char *test;

#define EXPECT(holds)                                                        \
    do {                                                                     \
        if (!(holds)) {                                                      \
            std::printf("# %s:%d: not so: %s\n", __FILE__, __LINE__, #holds); \
            failures++;                                                      \
        }                                                                    \
    } while (0)

/* ---- What must not compile ------------------------------------------------------------------ */

template <class Object, class Key, class = void> struct takes : std::false_type {
};
template <class Object, class Key>
struct takes<Object, Key,
             std::void_t<decltype(std::declval<Object &>().insert(std::declval<Key>()))>>
    : std::true_type {
};

static_assert(takes<bloomery::filter, const char *>::value, "strings are keys");
static_assert(takes<bloomery::filter, std::string>::value, "strings are keys");
static_assert(takes<bloomery::filter, int>::value, "integers are keys");
static_assert(!takes<bloomery::view, const char *>::value, "a view cannot be written to");
static_assert(!takes<const bloomery::filter, const char *>::value, "nor can a const filter");
static_assert(!takes<bloomery::filter, char>::value, "is 'a' a text or a number?");
static_assert(!takes<bloomery::filter, bool>::value, "nor is a bool a key");
static_assert(!takes<bloomery::filter, double>::value, "nor is a double");
static_assert(!takes<bloomery::filter, void *>::value, "an address has no size");
static_assert(!std::is_copy_constructible_v<bloomery::filter>, "two owners of one filter");
static_assert(!std::is_copy_assignable_v<bloomery::view>, "two owners of one filter");
static_assert(!std::is_copy_constructible_v<bloomery::static_builder>, "two owners of a builder");
static_assert(std::is_nothrow_move_constructible_v<bloomery::filter>, "vectors move their elements");
static_assert(std::is_nothrow_move_assignable_v<bloomery::view>, "vectors move their elements");
static_assert(!std::is_convertible_v<bloomery::view, bloomery::filter>, "a map is not writable");
static_assert(!std::is_convertible_v<bloomery::filter, bool>, "only if (filter)");

/* ---- The same filters ------------------------------------------------------------------------ */

std::vector<std::string> words(unsigned from, unsigned count)
{
    std::vector<std::string> made;
    for (unsigned i = from; i < from + count; i++)
        made.push_back("word " + std::to_string(i));
    return made;
}

std::string bytes_of(const bloomery_filter *filter)
{
    std::string bytes;
    auto sink = [](void *context, const void *data, std::size_t count) {
        static_cast<std::string *>(context)->append(static_cast<const char *>(data), count);
        return 0;
    };
    EXPECT(bloomery_write(filter, sink, &bytes, nullptr) == BLOOMERY_OK);
    return bytes;
}

/* A filter of the C functions. */
bloomery_filter *made_in_c(bloomery_kind kind, const std::vector<std::string> &keys)
{
    bloomery_plan plan = BLOOMERY_PLAN;
    bloomery_filter *filter = nullptr;
    plan.kind = kind;
    plan.keys = 1000;
    plan.rate = 0.01;
    EXPECT(bloomery_create(&plan, nullptr, &filter, nullptr) == BLOOMERY_OK);
    for (const std::string &key : keys)
        bloomery_add(filter, bloomery_key_of(key.data(), key.size()), nullptr);
    return filter;
}

void classes_make_the_c_functions_filters(const std::string &)
{
    const auto keys = words(0, 1000);
    for (bloomery_kind kind : {BLOOMERY_BLOCKED, BLOOMERY_CLASSIC, BLOOMERY_COUNTING}) {
        bloomery_filter *wanted = made_in_c(kind, keys);
        bloomery::filter singly(1000, 0.01, nullptr, kind);
        bloomery::filter at_once(1000, 0.01, nullptr, kind);
        bloomery_counts counts = {};
        std::uint64_t fresh = 0;
        bloomery::error error;
        for (const std::string &key : keys) {
            fresh += singly.insert(key, &error);
            EXPECT(!error);
        }
        EXPECT(at_once.insert(keys.begin(), keys.end(), &error, &counts) && !error);
        EXPECT(counts.done == keys.size() && counts.positive == fresh);
        EXPECT(counts.cells == at_once.scan().bits_set && counts.cells > 0);
        EXPECT(bytes_of(singly.get()) == bytes_of(wanted));
        EXPECT(bytes_of(at_once.get()) == bytes_of(wanted));
        bloomery_free(wanted);
    }
}

void ranges_answer_as_single_keys(const std::string &)
{
    bloomery::filter filter(1000, 0.01);
    const auto present = words(0, 1000);
    const auto all = words(500, 2000);
    bloomery::error error;
    std::list<std::string_view> views(present.begin(), present.end());
    EXPECT(filter.insert(views.begin(), views.end(), &error));
    std::vector<bool> answers;
    filter.contains(all.begin(), all.end(), std::back_inserter(answers));
    EXPECT(answers.size() == all.size());
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < all.size(); i++) {
        EXPECT(answers[i] == filter.contains(all[i]));
        EXPECT(i >= 500 || answers[i]);
        found += answers[i];
    }
    EXPECT(filter.count(all.begin(), all.end()) == found);
    EXPECT(found < 540); /* 15 false positives of 1,500 expected */
    EXPECT(filter.count(all.begin(), all.begin()) == 0);
}

void an_integer_is_one_key_in_every_type(const std::string &)
{
    bloomery::filter filter(1000, 1e-9);
    const unsigned char minus[8] = {0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    EXPECT(filter.insert(5));
    EXPECT(filter.contains(5u) && filter.contains(std::uint64_t{5}) && filter.contains(short{5}));
    EXPECT(!filter.contains(6) && !filter.contains("5"));
    EXPECT(filter.insert(-5));
    EXPECT(filter.contains(-5LL) && filter.contains({minus, sizeof minus}));
    EXPECT(!filter.contains(static_cast<std::uint32_t>(-5)));
    const std::vector<std::int32_t> more = {7, -5, 8};
    bloomery::error error;
    EXPECT(filter.insert(more.begin(), more.end(), &error));
    EXPECT(filter.contains(std::int64_t{7}) && filter.contains(8));
    const std::int64_t array[] = {5, 7, 8, 9};
    EXPECT(filter.count(std::begin(array), std::end(array)) == 3);
    EXPECT(filter.insert("") && filter.contains(std::string_view()));
}

/* ---- Files, kinds, owners -------------------------------------------------------------------- */

void what_is_saved_is_mapped_and_opened(const std::string &prefix)
{
    const std::string path = prefix + "-words.bloom";
    const auto keys = words(0, 1000);
    bloomery::error error;
    {
        bloomery::filter filter(1000, 0.01);
        EXPECT(filter.insert(keys.begin(), keys.end(), &error));
        EXPECT(filter.save(path.c_str(), &error));
    }
    bloomery::view mapped = bloomery::view::map(path.c_str(), &error);
    EXPECT(mapped && mapped.info().mapped && mapped.verify(&error));
    EXPECT(mapped.count(keys.begin(), keys.end()) == keys.size());
    bloomery::filter copy = bloomery::filter::open(path.c_str(), &error);
    EXPECT(copy && !copy.info().mapped && copy.insert("another word"));
    EXPECT(copy.save(path.c_str(), &error));
    EXPECT(bloomery::view::map(path.c_str(), &error).contains("another word"));
    EXPECT(!mapped.contains("another word")); /* still the old file */
    EXPECT(copy.merge(mapped, &error) && copy.clear(&error));
    EXPECT(!copy.contains(keys[0]));
}

void kinds_do_what_they_are_for(const std::string &prefix)
{
    bloomery::error error;
    const auto keys = words(0, 5000);
    bloomery::filter counting(5000, 0.001, &error, BLOOMERY_COUNTING);
    EXPECT(counting.insert("one") && counting.remove("one") && !counting.contains("one"));
    EXPECT(!counting.remove("one"));
    bloomery::filter scalable(100, 0.01, &error, BLOOMERY_SCALABLE);
    EXPECT(scalable.insert(keys.begin(), keys.end(), &error) && scalable.info().layers > 1);
    EXPECT(scalable.count(keys.begin(), keys.end()) == keys.size());
    bloomery::static_builder builder(5000, 0.001, &error);
    EXPECT(builder && builder.insert(keys.begin(), keys.end(), &error));
    const bloomery::view fixed = builder.finish(&error);
    EXPECT(fixed && fixed.info().kind == BLOOMERY_STATIC);
    EXPECT(fixed.count(keys.begin(), keys.end()) == keys.size());
    bloomery::static_builder another(5000, 0.001, &error);
    const std::string path = prefix + "-static.bloom";
    EXPECT(another.insert(keys.begin(), keys.end(), &error) && another.save(path.c_str(), &error));
    EXPECT(bytes_of(bloomery::view::map(path.c_str(), &error).get()) == bytes_of(fixed.get()));
    bloomery_plan plan = BLOOMERY_PLAN;
    plan.kind = BLOOMERY_CLASSIC;
    plan.bytes = 4096;
    plan.rate = 0.01;
    EXPECT(bloomery::filter(plan, &error).info().bytes == 4096);
}

void what_moved_is_empty_and_says_possibly(const std::string &)
{
    bloomery::error error;
    bloomery::filter first(100, 0.01);
    EXPECT(first.insert("a"));
    bloomery::filter second = std::move(first);
    EXPECT(second && second.contains("a"));
    EXPECT(!first && first.contains("never added")); /* NOLINT: what a moved one does is shown */
    EXPECT(!first.save("nowhere", &error) && error.status == BLOOMERY_BAD_ARGUMENT);
    EXPECT(!second.merge(first, &error));
    EXPECT(first.info().bits == 0);
    std::vector<bloomery::filter> several;
    for (int i = 0; i < 20; i++)
        several.emplace_back(100, 0.01);
    EXPECT(several[7].insert(7) && !several[8].contains(7));
    bloomery::view read = std::move(second);
    EXPECT(read.contains("a") && read.verify(&error));
}

/* ---- Failures -------------------------------------------------------------------------------- */

void failures_are_reported(const std::string &prefix)
{
    bloomery::error error;
    const std::string path = prefix + "-none.bloom";
    const auto keys = words(0, 1000);
    EXPECT(!bloomery::view::map(path.c_str(), &error) && error.status == BLOOMERY_IO_FAILED);
    EXPECT(std::strstr(error.text, "No such file") != nullptr);
    error = {};
    EXPECT(!bloomery::filter(100, 1.5, &error) && error.status == BLOOMERY_BAD_ARGUMENT);
    error = {};
    EXPECT(!bloomery::filter(100, 0.01, &error, BLOOMERY_STATIC) && error);
    error = {};
    bloomery_plan plan = BLOOMERY_PLAN;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_counts counts = {};
    plan.kind = BLOOMERY_SCALABLE;
    plan.keys = 100;
    plan.rate = 0.01;
    options.memory_limit = 1000;
    bloomery::filter full(plan, &error, &options);
    EXPECT(full && !full.insert(keys.begin(), keys.end(), &error, &counts));
    EXPECT(error.status == BLOOMERY_FULL && counts.done >= 100 && counts.done < 1000);
    const auto end = keys.begin() + static_cast<std::ptrdiff_t>(counts.done);
    EXPECT(full.count(keys.begin(), end) == counts.done);
    EXPECT(!full.contains(*end) && !full.insert(*end, &error) && error.status == BLOOMERY_FULL);
    alignas(64) static const char garbage[128] = "not a filter";
    EXPECT(!bloomery::view::over(garbage, sizeof garbage, &error));
}

#ifdef BLOOMERY_EXCEPTIONS
template <class Call> int status_thrown(Call call)
{
    try {
        call();
    } catch (const std::system_error &thrown) {
        EXPECT(thrown.code().category() == bloomery::category());
        EXPECT(std::strlen(thrown.what()) > 10);
        return thrown.code().value();
    }
    return BLOOMERY_OK;
}

void failures_are_thrown_if_no_error_is_given(const std::string &prefix)
{
    bloomery::filter empty;
    bloomery::filter plain(100, 0.01);
    bloomery::error error;
    const std::string path = prefix + "-none.bloom";
    EXPECT(status_thrown([&] { bloomery::view::map(path.c_str()); }) == BLOOMERY_IO_FAILED);
    EXPECT(status_thrown([] { bloomery::filter(100, 1.5); }) == BLOOMERY_BAD_ARGUMENT);
    EXPECT(status_thrown([&] { empty.insert("a"); }) == BLOOMERY_BAD_ARGUMENT);
    EXPECT(status_thrown([&] { plain.remove("a"); }) == BLOOMERY_UNSUPPORTED);
    EXPECT(status_thrown([&] { plain.insert("a"); }) == BLOOMERY_OK);
    EXPECT(status_thrown([&] { bloomery::view::map(path.c_str(), &error); }) == BLOOMERY_OK);
    EXPECT(error.status == BLOOMERY_IO_FAILED);
}

void counts_are_known_when_a_failure_is_thrown(const std::string &)
{
    std::uint64_t numbers[3000] = {};
    for (std::uint64_t i = 0; i < 3000; i++)
        numbers[i] = i;
    bloomery_plan plan = BLOOMERY_PLAN;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_counts counts = {};
    plan.kind = BLOOMERY_SCALABLE;
    plan.keys = 100;
    plan.rate = 0.01;
    options.memory_limit = 1000;
    bloomery::filter full(plan, nullptr, &options);
    EXPECT(status_thrown([&] {
               (void)full.insert(numbers, numbers + 3000, nullptr, &counts);
           }) == BLOOMERY_FULL);
    EXPECT(counts.done >= 100 && counts.done < 1000 && counts.cells == full.scan().bits_set);
    EXPECT(full.count(numbers, numbers + counts.done) == counts.done);
}
#else
void failures_are_returned(const std::string &)
{
    bloomery::filter empty;
    bloomery::filter plain(100, 0.01);
    bloomery::error error;
    EXPECT(!empty.insert("a") && !empty.insert("a", &error));
    EXPECT(error.status == BLOOMERY_BAD_ARGUMENT && std::strlen(error.text) > 10);
    EXPECT(plain.insert("a") && !plain.insert("a"));
    EXPECT(!plain.insert("a", &error) && !error);
    EXPECT(!plain.remove("a") && !plain.remove("a", &error) && error.status == BLOOMERY_UNSUPPORTED);
}

void an_insertion_that_nobody_saw_fail_stops_the_next_save(const std::string &prefix)
{
    const std::string path = prefix + "-full.bloom";
    bloomery::error error;
    bloomery_plan plan = BLOOMERY_PLAN;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    plan.kind = BLOOMERY_SCALABLE;
    plan.keys = 100;
    plan.rate = 0.01;
    options.memory_limit = 1000;
    bloomery::filter full(plan, &error, &options);
    for (const std::string &key : words(0, 1000))
        full.insert(key);
    EXPECT(!full.save(path.c_str(), &error) && error.status == BLOOMERY_FULL);
    EXPECT(full.save(path.c_str(), &error));
}
#endif

void run(const char *name, void (*body)(const std::string &), const std::string &prefix)
{
    const int before = failures;
    test = name;
    body(prefix);
    std::printf("%sok %d - %s\n", failures > before ? "not " : "", ++number, name);
}

} /* namespace */

#define RUN(body) run(#body, body, argv[1])

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    RUN(classes_make_the_c_functions_filters);
    RUN(ranges_answer_as_single_keys);
    RUN(an_integer_is_one_key_in_every_type);
    RUN(what_is_saved_is_mapped_and_opened);
    RUN(kinds_do_what_they_are_for);
    RUN(what_moved_is_empty_and_says_possibly);
    RUN(failures_are_reported);
#ifdef BLOOMERY_EXCEPTIONS
    RUN(failures_are_thrown_if_no_error_is_given);
    RUN(counts_are_known_when_a_failure_is_thrown);
#else
    RUN(failures_are_returned);
    RUN(an_insertion_that_nobody_saw_fail_stops_the_next_save);
#endif
    std::printf("1..%d\n", number);
    return failures > 0 ? 1 : 0;
}
