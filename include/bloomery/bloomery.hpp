/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bloomery for C++17 and later: the C functions of bloomery.h in classes that free themselves.
 *
 *     bloomery::filter seen(20'000'000, 0.01);
 *     if (seen.insert("850101312345"))
 *         std::puts("new");
 *     if (seen.contains("850101312345"))
 *         ...
 *
 * Classes
 *
 *   view            a filter that can only be read: a mapped file, or what a builder made
 *   filter          a view that keys can be inserted into
 *   static_builder  collects keys, and makes a static filter of them
 *
 * All three can be moved and not copied. An object is empty after a failure, after a move, and if
 * it was made without arguments. `if (seen)` is true for one that has a filter. An empty object
 * contains every key ("possibly", the answer that loses nothing), and every change to it fails.
 *
 * Keys are spans of bytes: what converts to std::string_view, or {address, size} in braces.
 * An integer of any type becomes 8 bytes, two's complement, the least significant first: 5 is one
 * key, whether it is an int or a uint64_t, and it is the key of `bloomery build --int64`.
 * Characters and bool are refused at compile time, since their keys could be meant in two ways.
 *
 * Errors: what can fail takes an `error *` as its last argument, fills it if it is given, and
 * returns false or an empty object. A program that defines BLOOMERY_EXCEPTIONS before the header
 * gets std::system_error in its place wherever no error is given. Without that definition the
 * header needs neither exceptions nor RTTI, and results that only say whether a call failed are
 * [[nodiscard]]. If insert of one key fails and no error is given, the next save fails and says so.
 *
 * Threads: as in bloomery.h. Everything here is inline, and adds nothing to the library.
 */
#ifndef BLOOMERY_BLOOMERY_HPP
#define BLOOMERY_BLOOMERY_HPP

#include <bloomery/bloomery.h>
#include <bloomery/builder.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "bloomery/bloomery.hpp needs C++17 or later; bloomery/bloomery.h needs C++11"
#endif

#ifdef BLOOMERY_EXCEPTIONS
#include <string>
#include <system_error>
#define BLOOMERY_CHECKED
#else
#define BLOOMERY_CHECKED [[nodiscard]]
#endif

namespace bloomery {
#ifdef BLOOMERY_EXCEPTIONS
inline namespace throwing { /* another name, so that a program may have files of both sorts */
#else
inline namespace quiet {
#endif

/* ---- Errors --------------------------------------------------------------------------------- */

/* Why something failed: `status`, `offset` and `text` of bloomery_error. True if anything did. */
struct error : bloomery_error {
    error() : bloomery_error() {}
    explicit operator bool() const { return status != BLOOMERY_OK; }
};

#ifdef BLOOMERY_EXCEPTIONS
/* The category of a bloomery_status in a std::error_code. */
inline const std::error_category &category() {
    struct statuses final : std::error_category {
        const char *name() const noexcept override { return "bloomery"; }
        std::string message(int status) const override {
            const char *known = bloomery_status_name(status);
            return known != nullptr ? known : "an unknown status";
        }
    };
    static const statuses only;
    return only;
}
#endif

/* Makes a call that may fail: call(e) returns a bool, and fills the error `e` if that is false and
 * means a failure. Without a filter (`present`) it fails without the call. Passes a failure on, to
 * the caller's error or as an exception. Returns the call's result. */
template <class Call> bool attempt(bool present, bloomery_error *to, Call call) {
#ifdef BLOOMERY_EXCEPTIONS
    bloomery_error what;
    bloomery_error *e = to != nullptr ? to : &what;
    what.status = BLOOMERY_OK;
#else
    bloomery_error *e = to;
#endif
    if (present && call(e))
        return true;
    if (!present && e != nullptr) {
        *e = error();
        e->status = BLOOMERY_BAD_ARGUMENT;
        std::string_view("the object is empty: it was not made, or was moved from")
            .copy(e->text, sizeof e->text - 1);
    }
#ifdef BLOOMERY_EXCEPTIONS
    if (what.status != BLOOMERY_OK)
        throw std::system_error(std::error_code(what.status, category()), what.text);
#endif
    return false;
}

struct deleter {
    void operator()(const bloomery_filter *filter) const { bloomery_free(filter); }
    void operator()(bloomery_builder *builder) const { bloomery_builder_free(builder); }
};

/* ---- Keys ----------------------------------------------------------------------------------- */

template <class T, class... Others> constexpr bool is_one_of = (std::is_same_v<T, Others> || ...);
template <class T> constexpr bool is_integer =
    std::is_integral_v<T> && !is_one_of<T, bool, char, wchar_t, char16_t, char32_t> &&
    (sizeof(T) > 1 || is_one_of<T, signed char, unsigned char>);
template <class T> constexpr bool is_text = std::is_convertible_v<const T &, std::string_view>;

/* A key. It refers to the bytes that it was made of; an integer's bytes are its own. */
class key {
    std::uint64_t word_ = 0;
    std::string_view text_;
    bool integer_ = false;

public:
    template <class T, std::enable_if_t<is_text<T>, int> = 0> key(const T &text) : text_(text) {}
    template <class T, std::enable_if_t<is_integer<T>, int> = 0> key(T value) : integer_(true) {
        const auto bits = static_cast<std::uint64_t>(value); /* widened by its sign */
        for (unsigned i = 0; i < sizeof word_; i++)
            reinterpret_cast<unsigned char *>(&word_)[i] =
                static_cast<unsigned char>(bits >> (8 * i));
    }
    key(const void *data, std::size_t bytes) : text_(static_cast<const char *>(data), bytes) {}

    /* Valid as long as this object stays where it is. */
    bloomery_key get() const {
        return integer_ ? bloomery_key_of(&word_, sizeof word_)
                        : bloomery_key_of(text_.data(), text_.size());
    }
};

/* Passes all keys of a range to take(keys) as a list, 256 at a time, until that fails. */
constexpr std::size_t portion = 256;
template <class Iterator, class Take> bool for_portions(Iterator first, Iterator last, Take take) {
    using item = std::remove_cv_t<std::remove_reference_t<decltype(*first)>>;
    /* A string that the iterator makes as it goes would be gone before it is hashed. */
    static_assert(is_integer<item> || std::is_same_v<item, std::string_view> ||
                      (is_text<item> && std::is_reference_v<decltype(*first)>),
                  "a range of keys has integers, string views, or references to strings");
    std::uint64_t words[is_integer<item> ? portion : 1];
    bloomery_key list[portion];
    while (first != last) {
        std::size_t count = 0;
        for (; first != last && count < portion; ++first, ++count) {
            const key next(*first);
            list[count] = next.get();
            if constexpr (is_integer<item>) {
                words[count] = *static_cast<const std::uint64_t *>(list[count].data);
                list[count].data = &words[count];
            }
        }
        const bloomery_keys keys = bloomery_keys_of_list(list, count);
        if (!take(keys))
            return false;
    }
    return true;
}

/* ---- Filters -------------------------------------------------------------------------------- */

/* A filter that is only read. */
class view {
    friend class static_builder;
protected:
    std::unique_ptr<const bloomery_filter, deleter> owned_;

    explicit view(const bloomery_filter *handle) : owned_(handle) {}
public:
    view() = default;

    /* Maps a file: microseconds, whatever its size. See bloomery_map. */
    static view map(const char *path, error *error = nullptr,
                    const bloomery_open_options *options = nullptr) {
        const bloomery_filter *made = nullptr;
        attempt(true, error, [&](auto *e) { return bloomery_map(path, options, &made, e) == 0; });
        return view(made);
    }

    /* A filter over bytes that stay where they are, at a multiple of 64. See bloomery_view. */
    static view over(const void *data, std::size_t bytes, error *error = nullptr,
                     const bloomery_open_options *options = nullptr) {
        const bloomery_filter *made = nullptr;
        attempt(true, error,
                [&](auto *e) { return bloomery_view(data, bytes, options, &made, e) == 0; });
        return view(made);
    }

    explicit operator bool() const { return owned_ != nullptr; }

    /* For functions that this header does not have. The filter still belongs to this object. */
    const bloomery_filter *get() const { return owned_.get(); }

    /* false: the key was definitely never inserted. true: it possibly was. */
    bool contains(const key &k) const { return !owned_ || bloomery_may_contain(get(), k.get()); }

    /* Looks up all keys of a range in batches. Writes a bool for each to `answers`, an output
     * iterator, and returns where that ends. */
    template <class Iterator, class Output>
    Output contains(Iterator first, Iterator last, Output answers) const {
        for_portions(first, last, [&](const bloomery_keys &keys) {
            std::uint64_t bits[portion / 64] = {};
            if (owned_)
                bloomery_may_contain_keys(get(), &keys, bits, nullptr, nullptr);
            for (std::size_t i = 0; i < keys.count; i++)
                *answers++ = !owned_ || (bits[i / 64] >> i % 64 & 1) != 0;
            return true;
        });
        return answers;
    }

    /* How many keys of a range are possibly in the filter. */
    template <class Iterator> std::uint64_t count(Iterator first, Iterator last) const {
        std::uint64_t found = 0;
        for_portions(first, last, [&](const bloomery_keys &keys) {
            bloomery_counts counts = {keys.count, keys.count, 0};
            if (owned_)
                bloomery_may_contain_keys(get(), &keys, nullptr, &counts, nullptr);
            found += counts.positive;
            return true;
        });
        return found;
    }

    /* bloomery_info_get, and bloomery_scan, which reads all bits. All zero for an empty object. */
    bloomery_info info() const {
        bloomery_info facts = BLOOMERY_INFO;
        if (owned_)
            bloomery_info_get(get(), &facts);
        return facts;
    }
    bloomery_scan_result scan() const {
        bloomery_scan_result facts = BLOOMERY_SCAN_RESULT;
        if (owned_)
            bloomery_scan(get(), &facts);
        return facts;
    }

    /* Compares the checksums of a map or of bytes. */
    BLOOMERY_CHECKED bool verify(error *error = nullptr) const {
        return attempt(bool(*this), error, [&](auto *e) { return bloomery_verify(get(), e) == 0; });
    }

    /* Writes the file, which is the old one or the new one, whole. See bloomery_save. */
    BLOOMERY_CHECKED bool save(const char *path, error *error = nullptr) const {
        return attempt(bool(*this), error,
                       [&](auto *e) { return bloomery_save(get(), path, e) == 0; });
    }
};

/* A filter that keys can be inserted into. */
class filter : public view {
    using view::map;
    using view::over;

    explicit filter(bloomery_filter *handle) : view(handle) {}
public:
    filter() = default;

    /* The smallest filter for `keys` keys whose false-positive rate is at most `rate`. Any kind but
     * BLOOMERY_STATIC, which static_builder makes. */
    filter(std::uint64_t keys, double rate, error *error = nullptr,
           bloomery_kind kind = BLOOMERY_BLOCKED) {
        bloomery_plan plan = BLOOMERY_PLAN;
        plan.kind = kind;
        plan.keys = keys;
        plan.rate = rate;
        *this = filter(plan, error);
    }

    /* The filter of a plan, solved or not, with options, which may be null. See bloomery_create. */
    explicit filter(const bloomery_plan &plan, error *error = nullptr,
                    const bloomery_create_options *options = nullptr) {
        bloomery_filter *made = nullptr;
        attempt(true, error,
                [&](auto *e) { return bloomery_create(&plan, options, &made, e) == 0; });
        owned_.reset(made);
    }

    /* Reads a file into memory. What is inserted then reaches the file by save alone. */
    static filter open(const char *path, error *error = nullptr,
                       const bloomery_open_options *options = nullptr) {
        bloomery_filter *made = nullptr;
        attempt(true, error, [&](auto *e) { return bloomery_open(path, options, &made, e) == 0; });
        return filter(made);
    }

    /* This class is made of filters that are not const alone. */
    using view::get;
    bloomery_filter *get() { return const_cast<bloomery_filter *>(owned_.get()); }

    /* Inserts a key. True if it is new: it was definitely not in the filter. False if the filter
     * possibly had it, which leaves BLOOMERY_OK in the error, and on failure. See bloomery_add. */
    bool insert(const key &key, error *error = nullptr) {
        return attempt(bool(*this), error,
                       [&](auto *e) { return bloomery_add(get(), key.get(), e); });
    }

    /* Inserts all keys of a range, in batches. `counts`, if it is given, receives the sums of
     * bloomery_counts: `done` keys are in the filter now, `positive` of them new. */
    template <class Iterator>
    BLOOMERY_CHECKED bool insert(Iterator first, Iterator last, error *error = nullptr,
                                 bloomery_counts *counts = nullptr) {
        bloomery_counts own;
        bloomery_counts &sums = counts != nullptr ? *counts : own; /* also if it throws */
        sums = {};
        return attempt(bool(*this), error, [&](auto *e) {
            return for_portions(first, last, [&](const bloomery_keys &keys) {
                bloomery_counts now = {};
                const auto status = bloomery_add_keys(get(), &keys, nullptr, &now, e);
                sums.done += now.done;
                sums.positive += now.positive;
                sums.cells += now.cells;
                return status == BLOOMERY_OK;
            });
        });
    }

    /* Removes a key from a counting filter. True if it was there; false if not, and on failure, as
     * of insert. See bloomery_remove. */
    bool remove(const key &key, error *error = nullptr) {
        return attempt(bool(*this), error,
                       [&](auto *e) { return bloomery_remove(get(), key.get(), e); });
    }

    /* Union: every key of `other` is in this filter afterwards. See bloomery_merge. */
    BLOOMERY_CHECKED bool merge(const view &other, error *error = nullptr) {
        return attempt(bool(*this) && bool(other), error,
                       [&](auto *e) { return bloomery_merge(get(), other.get(), e) == 0; });
    }

    /* Empties the filter and keeps its shape. */
    BLOOMERY_CHECKED bool clear(error *error = nullptr) {
        return attempt(bool(*this), error, [&](auto *e) { return bloomery_clear(get(), e) == 0; });
    }
};

/* Collects keys, and makes a static filter of them once. See bloomery_builder_open. */
class static_builder {
    std::unique_ptr<bloomery_builder, deleter> owned_;

public:
    static_builder(std::uint64_t keys, double rate, error *error = nullptr) {
        bloomery_plan plan = BLOOMERY_PLAN;
        bloomery_builder *made = nullptr;
        plan.keys = keys;
        plan.rate = rate;
        attempt(true, error, [&](auto *e) {
            return bloomery_builder_open(&plan, nullptr, nullptr, &made, e) == 0;
        });
        owned_.reset(made);
    }

    explicit operator bool() const { return owned_ != nullptr; }

    template <class Iterator>
    BLOOMERY_CHECKED bool insert(Iterator first, Iterator last, error *error = nullptr) {
        return attempt(bool(*this), error, [&](auto *e) {
            return for_portions(first, last, [&](const bloomery_keys &keys) {
                return bloomery_builder_add(owned_.get(), &keys, e) == 0;
            });
        });
    }

    /* Makes the filter, in memory or straight in a file. A builder makes one. */
    view finish(error *error = nullptr) {
        const bloomery_filter *made = nullptr;
        attempt(bool(*this), error,
                [&](auto *e) { return bloomery_builder_finish(owned_.get(), &made, e) == 0; });
        return view(made);
    }
    BLOOMERY_CHECKED bool save(const char *path, error *error = nullptr) {
        return attempt(bool(*this), error,
                       [&](auto *e) { return bloomery_builder_save(owned_.get(), path, e) == 0; });
    }
};

}} /* namespaces */

#undef BLOOMERY_CHECKED

#endif /* BLOOMERY_BLOOMERY_HPP */
