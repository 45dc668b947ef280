#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A duplicates filter for Scrapy on the sieve's memory engine, by ctypes: no compiler, nothing to install but the library.

In a project's settings.py:

    DUPEFILTER_CLASS = "scrapy_filter.SieveDupeFilter"
    SIEVE_KEYS = 50_000_000     # requests that are expected; more are fine, the filter then grows. Default: a million
    SIEVE_RATE = 1e-6           # how often a new request may be taken for a seen one. Default: 1e-6
    JOBDIR = "crawls/news"      # as ever; without it nothing is kept

Scrapy's own filter keeps a Python string for each request, some 150 bytes, and writes requests.seen, which it reads whole at
the next start. This one takes about 4 bytes for each at 1e-6, answers at once, and keeps its state in JOBDIR/sieve, synced
once a second: after a crash or `kill -9` it lacks at most what was asked in the last second. A requests.seen that is there
when it begins is taken over, once.

The price: one new request in a million is dropped. Who cannot have that takes Scrapy's, or SIEVE_RATE = 1e-12 at twice the
memory.

Run by itself it shows all that without Scrapy:

    BLOOMERY_LIBRARY=build/src/libbloomery.so python3 examples/scrapy_filter.py

Introduces: bloomery_sieve_open, _mark_seen, _mark_seen_batch, _info_get, _commit, _close from another language.
"""

import ctypes
import ctypes.util
import hashlib
import logging
import os
import sys
import tempfile

SEEN, NEW = 0, 1
MEMORY_ENGINE = 1


# ---- bloomery.h and sieve.h, as far as needed: fields in their order, so that offsets agree.

class Error(ctypes.Structure):
    """bloomery_error"""
    _fields_ = [("status", ctypes.c_int), ("offset", ctypes.c_uint64), ("text", ctypes.c_char * 240)]


class Key(ctypes.Structure):
    """bloomery_key"""
    _fields_ = [("data", ctypes.c_char_p), ("bytes", ctypes.c_size_t)]


class Options(ctypes.Structure):
    """bloomery_sieve_options, with the allocator's four fields at the second place"""
    _fields_ = [
        ("struct_bytes", ctypes.c_size_t),
        ("allocate", ctypes.c_void_p), ("release", ctypes.c_void_p), ("context", ctypes.c_void_p),
        ("allocate_zeroed", ctypes.c_void_p),
        ("directory", ctypes.c_char_p), ("engine", ctypes.c_int), ("memory", ctypes.c_uint64),
        ("keys", ctypes.c_uint64), ("rate", ctypes.c_double), ("full", ctypes.c_int),
        ("dialect", ctypes.c_char_p), ("fingerprint_bits", ctypes.c_uint32),
        ("partitions", ctypes.c_uint32), ("ordered", ctypes.c_bool), ("sync", ctypes.c_double),
        ("lease", ctypes.c_double), ("leases", ctypes.c_uint32), ("keep_leases", ctypes.c_bool),
        ("canon", ctypes.c_char_p), ("canonicaliser", ctypes.c_void_p),
        ("canonicaliser_context", ctypes.c_void_p), ("warning", ctypes.c_void_p),
        ("warning_context", ctypes.c_void_p), ("existing", ctypes.c_bool),
        ("read_only", ctypes.c_bool), ("reserved", ctypes.c_uint8 * 6)]


class Info(ctypes.Structure):
    """The beginning of bloomery_sieve_info: the library fills as many bytes as struct_bytes says."""
    _fields_ = [
        ("struct_bytes", ctypes.c_size_t), ("engine", ctypes.c_int), ("partitions", ctypes.c_uint32),
        ("fingerprint_bits", ctypes.c_uint32), ("ordered", ctypes.c_bool),
        ("canon", ctypes.c_char * 32), ("pushed", ctypes.c_uint64), ("synced", ctypes.c_uint64)]


def load_library():
    """The library named by BLOOMERY_LIBRARY, or the one that is installed."""
    library = ctypes.CDLL(os.environ.get("BLOOMERY_LIBRARY") or
                          ctypes.util.find_library("bloomery") or "libbloomery.so.0")
    sieve, error = ctypes.c_void_p, ctypes.POINTER(Error)
    number = ctypes.POINTER(ctypes.c_uint64)
    library.bloomery_sieve_open.argtypes = [ctypes.POINTER(Options), ctypes.POINTER(sieve), error]
    library.bloomery_sieve_mark_seen.argtypes = [sieve, Key, number, error]
    library.bloomery_sieve_mark_seen_batch.argtypes = [
        sieve, ctypes.POINTER(Key), ctypes.c_size_t, ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t),
        number, error]
    library.bloomery_sieve_info_get.argtypes = [sieve, ctypes.POINTER(Info)]
    library.bloomery_sieve_commit.argtypes = [sieve, error]
    library.bloomery_sieve_close.argtypes = [sieve, error]
    return library


# ---- The filter. Its methods are those of Scrapy's BaseDupeFilter, which need not be inherited.

class SieveDupeFilter:
    """Whether a request was seen; remembers it."""

    def __init__(self, path=None, debug=False, *, keys=0, rate=0.0, fingerprinter=None):
        self.path = path
        self.debug = debug
        self.keys = keys
        self.rate = rate
        self.fingerprinter = fingerprinter
        self.logger = logging.getLogger(__name__)
        self.told = False
        self.error = Error()
        self.library = load_library()
        self.sieve = ctypes.c_void_p()
        self.begin()

    @classmethod
    def from_settings(cls, settings, *, fingerprinter=None):
        """With a Scrapy Settings object, or a dict."""
        return cls(settings.get("JOBDIR") or None, bool(settings.get("DUPEFILTER_DEBUG")),
                   keys=int(settings.get("SIEVE_KEYS") or 0), rate=float(settings.get("SIEVE_RATE") or 0),
                   fingerprinter=fingerprinter)

    @classmethod
    def from_crawler(cls, crawler):
        """As from_settings, with the fingerprints that the crawler makes."""
        return cls.from_settings(crawler.settings, fingerprinter=crawler.request_fingerprinter)

    def begin(self):
        """Opens the state, or makes it, and takes over what Scrapy's own filter left."""
        options = Options(struct_bytes=ctypes.sizeof(Options), engine=MEMORY_ENGINE, keys=self.keys,
                          rate=self.rate)
        seen = None
        if self.path:
            os.makedirs(self.path, exist_ok=True)
            folder = os.path.join(self.path, "sieve")
            seen = os.path.join(self.path, "requests.seen")
            options.directory = os.fsencode(folder)
        self.must(self.library.bloomery_sieve_open(options, self.sieve, self.error))
        if seen and os.path.exists(seen) and self.asked() == 0:
            with open(seen, encoding="ascii") as file:
                self.take_over(file)

    def must(self, result):
        """What a call returned, or its failure as an exception."""
        if result < 0:
            raise OSError(self.error.text.decode(errors="replace"))
        return result

    def asked(self):
        """How many requests the state has been asked for since it was made."""
        info = Info(struct_bytes=ctypes.sizeof(Info))
        self.library.bloomery_sieve_info_get(self.sieve, info)
        return info.pushed

    def take_over(self, lines):
        """Fingerprints as Scrapy writes them, 40 hexadecimal digits a line."""
        prints = [bytes.fromhex(line.strip()) for line in lines if line.strip()]
        keys = (Key * len(prints))(*[Key(each, len(each)) for each in prints])
        results = ctypes.create_string_buffer(max(len(prints), 1))
        done = ctypes.c_size_t()
        self.must(self.library.bloomery_sieve_mark_seen_batch(self.sieve, keys, len(prints), results, done, None,
                                                         self.error))
        self.must(self.library.bloomery_sieve_commit(self.sieve, self.error))

    def request_fingerprint(self, request):
        """20 bytes: Scrapy's, or without Scrapy a hash of what makes a request."""
        if self.fingerprinter is not None:
            return self.fingerprinter.fingerprint(request)
        body = getattr(request, "body", b"") or b""
        return hashlib.sha1(b"\0".join([getattr(request, "method", "GET").encode(),
                                        request.url.encode(), body])).digest()

    # `mark_seen` marks a key as seen without queueing it: Scrapy's scheduler has the queue.
    def request_seen(self, request):
        """True: drop it."""
        fingerprint = self.request_fingerprint(request)
        key = Key(fingerprint, len(fingerprint))
        return self.must(self.library.bloomery_sieve_mark_seen(self.sieve, key, None, self.error)) == SEEN

    def open(self):
        """Scrapy calls it when the spider begins; the state is open since __init__."""

    def close(self, reason=""):  # pylint: disable=unused-argument
        """Saves."""
        sieve, self.sieve = self.sieve, ctypes.c_void_p()
        self.must(self.library.bloomery_sieve_close(sieve, self.error))

    def log(self, request, spider=None):
        """Says the first duplicate, or each with DUPEFILTER_DEBUG."""
        if self.debug or not self.told:
            self.told = True
            self.logger.debug("Seen before, dropped: %s%s", request, "" if self.debug else
                              " (DUPEFILTER_DEBUG shows them all)", extra={"spider": spider})
        stats = getattr(getattr(spider, "crawler", None), "stats", None)
        if stats is not None:
            stats.inc_value("dupefilter/filtered")


# ---- By itself

class Request:
    """As much of a request as the filter looks at."""

    def __init__(self, url, method="GET", body=b""):
        self.url, self.method, self.body = url, method, body


def main():
    """A crawl in two parts, with a job directory."""
    with tempfile.TemporaryDirectory(prefix="scrapy-filter-") as folder:
        old = Request("http://example.org/of-an-earlier-crawl")
        # What Scrapy's filter would have left. On some platforms its lines end with CR LF.
        with open(os.path.join(folder, "requests.seen"), "w", encoding="ascii", newline="\r\n") as file:
            file.write(SieveDupeFilter().request_fingerprint(old).hex() + "\n")
        settings = {"JOBDIR": folder, "SIEVE_KEYS": 100_000}
        requests = [Request(f"http://example.org/{number}") for number in range(10_000)]
        requests += [Request("http://example.org/0", "POST", b"a"), Request("http://example.org/0", "POST", b"b")]

        filter_ = SieveDupeFilter.from_settings(settings)
        filter_.open()
        assert filter_.request_seen(old)
        fresh = sum(not filter_.request_seen(request) for request in requests)
        again = sum(not filter_.request_seen(request) for request in requests)
        filter_.log(requests[0])
        filter_.close("finished")
        print(f"{len(requests)} requests: {fresh} new, {again} new when asked again")

        filter_ = SieveDupeFilter.from_settings(settings)
        later = sum(not filter_.request_seen(request) for request in requests)
        other = filter_.request_seen(Request("http://example.org/new"))
        filter_.close()
        print(f"after another start: {later} new, and of one that was never asked: {'seen' if other else 'new'}")
        return 0 if (fresh, again, later, other) == (len(requests), 0, 0, False) else 1


if __name__ == "__main__":
    sys.exit(main())
