/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bloomery for C++17 and later: the C functions of bloomery.h in classes that free themselves.
 *
 *     bloomery::filter seen(20'000'000, 0.01);
 *     seen.insert("850101312345");
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
 * header needs neither exceptions nor RTTI, and the results that say whether something failed are
 * marked
 * [[nodiscard]].
 *
 * Threads: as in bloomery.h. Everything here is inline, and adds nothing to the library.
 */
#ifndef BLOOMERY_BLOOMERY_HPP
#define BLOOMERY_BLOOMERY_HPP

#include <bloomery/bloomery.h>

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
        std::string message(int status) const override { return bloomery_status_text(status); }
    };
    static const statuses only;
    return only;
}
#endif

/* Makes a call that may fail; without a filter (`present`) it fails without the call. Passes a
 * failure on, to the caller's error or as an exception. Returns whether there was none. */
template <class Call> bool attempt(bool present, error *to, Call call) {
    error what;
    const bloomery_status status = present ? call(&what) : BLOOMERY_BAD_ARGUMENT;
    if (status == BLOOMERY_OK)
        return true;
    if (!what) { /* a call without a text of its own */
        what.status = status;
        std::string_view(bloomery_status_text(status)).copy(what.text, sizeof what.text - 1);
    }
    if (to != nullptr)
        *to = what;
#ifdef BLOOMERY_EXCEPTIONS
    else
        throw std::system_error(std::error_code(status, category()), what.text);
#endif
    return false;
}

inline bloomery_plan plan_of(bloomery_kind kind, std::uint64_t keys, double rate) {
    bloomery_plan plan = BLOOMERY_PLAN;
    plan.kind = kind;
    plan.keys = keys;
    plan.rate = rate;
    return plan;
}

struct deleter {
    void operator()(bloomery_filter *filter) const { bloomery_free(filter); }
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

/* Calls `take(keys, count)` with all keys of a range, 256 at a time, until it fails. */
constexpr std::size_t portion = 256;
template <class Iterator, class Take>
bloomery_status for_portions(Iterator first, Iterator last, Take take) {
    using item = std::remove_cv_t<std::remove_reference_t<decltype(*first)>>;
    /* A string that the iterator makes as it goes would be gone before it is hashed. */
    static_assert(is_integer<item> || std::is_same_v<item, std::string_view> ||
                      (is_text<item> && std::is_reference_v<decltype(*first)>),
                  "a range of keys has integers, string views, or references to strings");
    std::uint64_t words[is_integer<item> ? portion : 1];
    bloomery_key keys[portion];
    bloomery_status status = BLOOMERY_OK;
    while (status == BLOOMERY_OK && first != last) {
        std::size_t count = 0;
        for (; first != last && count < portion; ++first, ++count) {
            const key next(*first);
            keys[count] = next.get();
            if constexpr (is_integer<item>) {
                words[count] = *static_cast<const std::uint64_t *>(keys[count].data);
                keys[count].data = &words[count];
            }
        }
        status = take(static_cast<const bloomery_key *>(keys), count);
    }
    return status;
}

/* ---- Filters -------------------------------------------------------------------------------- */

/* A filter that is only read. */
class view {
    friend class static_builder;
protected:
    std::unique_ptr<bloomery_filter, deleter> owned_;

    explicit view(bloomery_filter *handle) : owned_(handle) {}
public:
    view() = default;

    /* Maps a file: microseconds, whatever its size. See bloomery_open. */
    static view map(const char *path, error *error = nullptr,
                    const bloomery_open_options *options = nullptr) {
        bloomery_filter *made = nullptr;
        attempt(true, error, [&](auto *e) { return bloomery_open(path, options, &made, e); });
        return view(made);
    }

    /* A filter over bytes that stay where they are, at a multiple of 64. See bloomery_view. */
    static view over(const void *data, std::size_t bytes, error *error = nullptr) {
        bloomery_filter *made = nullptr;
        attempt(true, error,
                [&](auto *e) { return bloomery_view(data, bytes, nullptr, &made, e); });
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
        for_portions(first, last, [&](const bloomery_key *keys, std::size_t count) {
            std::uint64_t bits[portion / 64] = {};
            if (owned_)
                bloomery_may_contain_batch(get(), keys, count, bits);
            for (std::size_t i = 0; i < count; i++)
                *answers++ = !owned_ || (bits[i / 64] >> i % 64 & 1) != 0;
            return BLOOMERY_OK;
        });
        return answers;
    }

    /* How many keys of a range are possibly in the filter. */
    template <class Iterator> std::uint64_t count(Iterator first, Iterator last) const {
        std::uint64_t found = 0;
        for_portions(first, last, [&](const bloomery_key *keys, std::size_t count) {
            found += owned_ ? bloomery_may_contain_batch(get(), keys, count, nullptr) : count;
            return BLOOMERY_OK;
        });
        return found;
    }

    /* bloomery_info_get; `scan` reads all bits as well. All zero for an empty object. */
    bloomery_info info(bool scan = false) const {
        bloomery_info facts = BLOOMERY_INFO;
        if (owned_)
            bloomery_info_get(get(), scan, &facts);
        return facts;
    }

    /* Compares the checksums of a map or of bytes. */
    BLOOMERY_CHECKED bool verify(error *error = nullptr) const {
        return attempt(bool(*this), error, [&](auto *e) { return bloomery_verify(get(), e); });
    }

    /* Writes the file, which is the old one or the new one, whole. See bloomery_save. */
    BLOOMERY_CHECKED bool save(const char *path, error *error = nullptr) const {
        return attempt(bool(*this), error, [&](auto *e) { return bloomery_save(get(), path, e); });
    }
};

/* What an insertion found. True if the key is new: it was definitely not in the filter. False if
 * the filter possibly had it, and if the insertion failed. */
class inserted {
    int result_;

public:
    explicit inserted(int result) : result_(result) {}
    explicit operator bool() const { return result_ == BLOOMERY_NEW; }
    bool failed() const { return result_ < 0; }
    bloomery_status status() const { return static_cast<bloomery_status>(failed() ? result_ : 0); }
};

/* A filter that keys can be inserted into. */
class filter : public view {
    using view::map;
    using view::over;
    using view::view;

    /* A result, or a negative status, which an exception reports where there are any. */
    static int checked(int result) {
        attempt(true, nullptr,
                [&](auto *) { return static_cast<bloomery_status>(result < 0 ? result : 0); });
        return result;
    }

public:
    filter() = default;

    /* The smallest filter for `keys` keys whose false-positive rate is at most `rate`. Any kind but
     * BLOOMERY_STATIC, which static_builder makes. */
    filter(std::uint64_t keys, double rate, error *error = nullptr,
           bloomery_kind kind = BLOOMERY_BLOCKED)
        : filter(plan_of(kind, keys, rate), error) {}

    /* For a plan with two of keys, rate and bytes set. The options may be null. */
    explicit filter(bloomery_plan plan, error *error = nullptr,
                    const bloomery_plan_options *forced = nullptr,
                    const bloomery_create_options *options = nullptr) {
        bloomery_filter *made = nullptr;
        attempt(true, error, [&](auto *e) {
            const bloomery_status status = bloomery_plan_solve(&plan, forced, e);
            return status != BLOOMERY_OK ? status : bloomery_create(&plan, options, &made, e);
        });
        owned_.reset(made);
    }

    /* Reads a file into memory. What is inserted then reaches the file by save alone. */
    static filter open(const char *path, error *error = nullptr,
                       bloomery_open_options options = BLOOMERY_OPEN_OPTIONS) {
        bloomery_filter *made = nullptr;
        options.flags |= BLOOMERY_OPEN_COPY;
        attempt(true, error, [&](auto *e) { return bloomery_open(path, &options, &made, e); });
        return filter(made);
    }

    using view::get;
    bloomery_filter *get() { return owned_.get(); }

    /* The status of a failure is in the result, or in the exception. */
    inserted insert(const key &key) {
        return inserted(
            checked(owned_ ? bloomery_add(get(), key.get(), nullptr) : BLOOMERY_BAD_ARGUMENT));
    }

    /* Inserts all keys of a range, in batches. `done`, if it is given, receives how many of them
     * are in the filter now: all, or those before the one that was refused. */
    template <class Iterator> BLOOMERY_CHECKED bool
    insert(Iterator first, Iterator last, error *error = nullptr, std::uint64_t *done = nullptr) {
        std::uint64_t unwanted;
        std::uint64_t &all = done != nullptr ? *done : unwanted;
        all = 0;
        return attempt(bool(*this), error, [&](auto *e) {
            return for_portions(first, last, [&](const bloomery_key *keys, std::size_t count) {
                std::size_t now = 0;
                auto status = bloomery_add_some(get(), keys, count, nullptr, nullptr, &now, e);
                all += now;
                return status;
            });
        });
    }

    /* Removes a key from a counting filter. True if it was there; false if not, or if the filter is
     * not a counting one. See bloomery_remove. */
    bool remove(const key &key) {
        return checked(owned_ ? bloomery_remove(get(), key.get(), nullptr)
                              : BLOOMERY_BAD_ARGUMENT) == BLOOMERY_REMOVED;
    }

    /* Union: every key of `other` is in this filter afterwards. See bloomery_merge. */
    BLOOMERY_CHECKED bool merge(const view &other, error *error = nullptr) {
        return attempt(bool(*this) && bool(other), error,
                       [&](auto *e) { return bloomery_merge(get(), other.get(), e); });
    }

    /* Empties the filter and keeps its shape. */
    BLOOMERY_CHECKED bool clear(error *error = nullptr) {
        return attempt(bool(*this), error, [&](auto *) { return bloomery_clear(get()); });
    }
};

/* Collects keys, and makes a static filter of them once. See bloomery_builder_open. */
class static_builder {
    std::unique_ptr<bloomery_builder, deleter> owned_;

public:
    static_builder(std::uint64_t keys, double rate, error *error = nullptr) {
        bloomery_plan plan = plan_of(BLOOMERY_STATIC, keys, rate);
        bloomery_builder *made = nullptr;
        attempt(true, error, [&](auto *e) {
            const bloomery_status status = bloomery_plan_solve(&plan, nullptr, e);
            return status != BLOOMERY_OK ? status
                                         : bloomery_builder_open(&plan, nullptr, nullptr, &made, e);
        });
        owned_.reset(made);
    }

    explicit operator bool() const { return owned_ != nullptr; }

    template <class Iterator>
    BLOOMERY_CHECKED bool insert(Iterator first, Iterator last, error *error = nullptr) {
        return attempt(bool(*this), error, [&](auto *e) {
            return for_portions(first, last, [&](const bloomery_key *keys, std::size_t count) {
                return bloomery_builder_add(owned_.get(), keys, count, e);
            });
        });
    }

    /* Makes the filter, in memory or straight in a file. A builder makes one. */
    view finish(error *error = nullptr) {
        bloomery_filter *made = nullptr;
        attempt(bool(*this), error,
                [&](auto *e) { return bloomery_builder_finish(owned_.get(), &made, e); });
        return view(made);
    }
    BLOOMERY_CHECKED bool save(const char *path, error *error = nullptr) {
        return attempt(bool(*this), error,
                       [&](auto *e) { return bloomery_builder_save(owned_.get(), path, e); });
    }
};

}} /* namespaces */

#undef BLOOMERY_CHECKED

#endif /* BLOOMERY_BLOOMERY_HPP */
