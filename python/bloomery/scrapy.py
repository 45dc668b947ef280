# SPDX-License-Identifier: Apache-2.0
"""For Scrapy: a duplicates filter that takes bytes for each request, not strings, and a scheduler.

The scheduler keeps the queue and what was seen together, so a crawl that is killed goes on without losing a page. It has
the settings of the duplicates filter, and takes its place:

    SCHEDULER = "bloomery.scrapy.Scheduler"
    JOBDIR = "crawls/news"

The duplicates filter alone leaves the queue to Scrapy. In a project's settings.py:

    DUPEFILTER_CLASS = "bloomery.scrapy.DupeFilter"
    BLOOMERY_KEYS = 50_000_000   # requests that are expected; with more the filter grows. Default: 1,000,000
    BLOOMERY_RATE = 1e-6         # how often a new request may be taken for a seen one. Default: 1e-6
    BLOOMERY_MEMORY = 0          # bytes that it may take, 0: no limit. When they are used up, the crawl ends
    JOBDIR = "crawls/news"       # as ever; without it nothing is kept

Scrapy's own filter keeps a Python string for each request, some 150 bytes, and reads requests.seen whole at the next
start. This one takes about 4 bytes at 1e-6 and keeps its state in JOBDIR/sieve, synced once a second. A requests.seen
that is there when it begins is taken over, once: requests.seen.taken says that it was. It may have 40 hexadecimal
digits a line, or 20 bytes a request, as later versions of Scrapy write it.

After `kill -9` or a power cut the filter lacks at most the requests of the last second. Scrapy's queue is another
matter, with this filter and with Scrapy's own: it is written when the spider closes, so requests that waited in it are
lost, while the filter remembers them. Their pages do not come again in that JOBDIR. Ctrl-C, once, closes the spider
and loses nothing. Where a kill must lose nothing either, use the scheduler.

The price: one new request in a million is dropped. At the end the log says how many that were, expected.
BLOOMERY_RATE = 1e-12 halves nothing but the risk: it takes twice the memory.

Runs with Scrapy 2.8 and later; the duplicates filter does not import it.
"""

import collections
import hashlib
import logging
import os
import pickle
import re

from bloomery._native import SEEN, Sieve

FINGERPRINT = 20  # bytes of SHA-1
ITEM_MAX = (1 << 20) - 64  # bytes of a request that the sieve takes, its fingerprint left out
LEASE = 30 * 24 * 3600.0  # seconds: a request is in progress for as long as its process lives


class DupeFilter:
    """Whether a request was seen; remembers it. The methods are those of Scrapy's BaseDupeFilter."""

    def __init__(self, path=None, debug=False, *, keys=0, rate=0.0, memory=0, fingerprinter=None, stats=None,
                 lease=0.0):
        self.debug = debug
        self.fingerprinter = fingerprinter
        self.stats = stats
        self.logger = logging.getLogger("scrapy.dupefilters")  # where log files and alerts look for it
        self.logdupes = True
        folder = None
        if path:
            os.makedirs(path, exist_ok=True)
            folder = os.path.join(path, "sieve")
        self.sieve = Sieve(folder, engine="memory", keys=keys, rate=rate, memory=memory, lease=lease)
        if path:
            self._take_over(os.path.join(path, "requests.seen"))

    @classmethod
    def from_settings(cls, settings, *, fingerprinter=None, stats=None):
        """With a Scrapy Settings object, or a dict."""
        if settings.get("BLOOMERY_ENGINE") not in (None, "", "memory"):
            raise ValueError("BLOOMERY_ENGINE: only 'memory' answers at once, which a duplicates filter has to")
        return cls(settings.get("JOBDIR") or None, _is_set(settings.get("DUPEFILTER_DEBUG")),
                   keys=int(settings.get("BLOOMERY_KEYS") or 0), rate=float(settings.get("BLOOMERY_RATE") or 0),
                   memory=int(settings.get("BLOOMERY_MEMORY") or 0), fingerprinter=fingerprinter, stats=stats)

    @classmethod
    def from_crawler(cls, crawler):
        """As from_settings, with the fingerprints that the crawler makes."""
        made = cls.from_settings(crawler.settings, fingerprinter=getattr(crawler, "request_fingerprinter", None))
        made.stats = getattr(crawler, "stats", None)  # a subclass's from_settings may have Scrapy's arguments alone
        return made

    def _take_over(self, name):
        """Fingerprints as Scrapy's own filter writes them: 40 hexadecimal digits a line, or 20 bytes each.

        A file beside says how much of them the sieve has. It is written when all are in, so a takeover
        that was ended is done again, which changes nothing for those that are marked.
        """
        try:
            with open(name, "rb") as file:
                text = file.read()
        except FileNotFoundError:
            return
        taken = name + ".taken"
        try:
            with open(taken, encoding="ascii") as file:
                if file.read().strip() == str(len(text)):
                    return
        except FileNotFoundError:
            pass
        self.sieve.mark_seen_many(self._fingerprints(name, text))
        self.sieve.commit()
        with open(taken, "w", encoding="ascii") as file:
            file.write(f"{len(text)}\n")

    def _fingerprints(self, name, text):
        """All of them, or a ValueError that names the line. The last one may have been cut by a crash."""
        if re.search(rb"[^\t-\r -~]", text) and not re.match(rb"[0-9a-fA-F]{40}[\r\n]", text):
            whole = len(text) // FINGERPRINT * FINGERPRINT
            if whole < len(text):
                self.logger.warning("%s: the last fingerprint was cut off and is left out", name)
            return [text[at:at + FINGERPRINT] for at in range(0, whole, FINGERPRINT)]
        lines = text.splitlines()
        fingerprints = []
        for number, line in enumerate(lines, 1):
            if re.fullmatch(rb"[0-9a-fA-F]{40}", line.strip()):
                fingerprints.append(bytes.fromhex(line.strip().decode("ascii")))
            elif number == len(lines) and line and not text.endswith(b"\n"):
                self.logger.warning("%s: the last line was cut off and is left out", name)
            elif line.strip():
                raise ValueError(f"{name}: line {number} is not a fingerprint of 40 hexadecimal digits")
        return fingerprints

    def request_fingerprint(self, request):
        """20 bytes: the crawler's, or without one a hash of what makes a request."""
        if self.fingerprinter is not None:
            return self.fingerprinter.fingerprint(request)
        body = getattr(request, "body", b"") or b""
        return hashlib.sha1(b"\0".join([getattr(request, "method", "GET").encode(), request.url.encode(),
                                        body])).digest()

    def request_seen(self, request):
        """True: drop it. Scrapy's scheduler has the queue, so a request is only marked here."""
        return self.sieve.mark_seen(self.request_fingerprint(request)) == SEEN

    def open(self):
        """Scrapy calls it when the spider begins; the state is open since __init__."""

    def close(self, reason=""):  # pylint: disable=unused-argument
        """Saves, and says how many new requests were dropped, as far as that is known."""
        facts = self.sieve.status()
        self.logger.info("%d requests were marked; about %.3g new ones were taken for seen ones",
                         facts.marked, facts.expected_drops)
        self.sieve.close()

    def log(self, request, spider=None):
        """Logs the first duplicate, or each with DUPEFILTER_DEBUG."""
        if self.debug or self.logdupes:
            referer = getattr(request, "headers", {}).get("Referer")
            referer = referer.decode("utf-8", "replace") if isinstance(referer, bytes) else referer
            more = f"(referer: {referer})" if self.debug else "- only the first is logged; DUPEFILTER_DEBUG logs all"
            self.logger.debug("Filtered duplicate request: %s %s", request, more, extra={"spider": spider})
            self.logdupes = False
        stats = self.stats or getattr(getattr(spider, "crawler", None), "stats", None)
        if stats is not None:
            stats.inc_value("dupefilter/filtered")


class _KeptFilter(DupeFilter):
    """The filter of a scheduler: its sieve has the queue too."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, lease=LEASE, **options)


class Scheduler:
    """Scrapy's queue and what was seen, both in the sieve of JOBDIR: after `kill -9` or a power cut no page is lost.

    A request stays in the sieve until its page was handled: its items are through the pipelines, and its requests are
    queued. So after a crash the pages that were in progress, and those of the last second, are fetched once more. Without
    JOBDIR the queue is in memory.

    Differences from Scrapy's own: requests come out in the order in which they went in (about: in that of a partition),
    whatever their priority. A request that cannot be pickled, or takes over 1 MiB, waits in memory: a warning says so
    once, and a crash loses it. Start pages come again at each start unless Scrapy filters them, as with its own.
    """

    def __init__(self, filter_, crawler=None):
        self.df = filter_
        self.sieve = filter_.sieve
        self.crawler = crawler
        self.stats = getattr(crawler, "stats", None)
        self.spider = None
        self.memory = collections.deque()
        self.leased = {}  # requests in progress, and the numbers of their items
        self.warned = False

    @classmethod
    def from_crawler(cls, crawler):
        """Scrapy calls it; the settings are those of DupeFilter."""
        return cls(_KeptFilter.from_crawler(crawler), crawler)

    def _count(self, name):
        if self.stats is not None:
            self.stats.inc_value(name)

    def open(self, spider):
        """Scrapy calls it when the spider begins."""
        self.spider = spider
        waiting = len(self)
        if waiting > 0:
            self.df.logger.info("The crawl goes on with %d requests", waiting)

    def close(self, reason):
        """Ends what was handled, saves, and leaves the rest for the next start."""
        self._finish_handled()
        if self.memory:
            self.df.logger.warning("%d requests that waited in memory are lost", len(self.memory))
        self.df.close(reason)

    def __len__(self):
        """Requests that wait; not those in progress. What was in progress at a crash waits again."""
        facts = self.sieve.status()
        return facts.queued + facts.pending + facts.leased - len(self.leased) + len(self.memory)

    def has_pending_requests(self):
        """Whether any waits."""
        return len(self) > 0

    def _packed(self, request):
        """The request as bytes, or None if it has to stay in memory."""
        try:
            packed = pickle.dumps(request.to_dict(spider=self.spider), protocol=4)
            why = f"it takes {len(packed)} bytes"
        except Exception as error:  # whatever the objects in its meta raise  # pylint: disable=broad-except
            packed, why = None, str(error)
        if packed is not None and len(packed) <= ITEM_MAX:
            return packed
        self._count("scheduler/unserializable")
        if not self.warned:
            self.df.logger.warning("%s waits in memory, which a crash loses: %s. Only the first such request is logged",
                                   request, why)
            self.warned = True
        return None

    def enqueue_request(self, request):
        """Queues a request unless it was seen; with dont_filter always. Whether it was queued."""
        self._finish_handled()
        packed = self._packed(request)
        if packed is None:
            new = request.dont_filter or not self.df.request_seen(request)
        else:
            new = self.sieve.push(self.df.request_fingerprint(request), packed, force=request.dont_filter) != SEEN
            new = new or request.dont_filter
        if not new:
            self.df.log(request, self.spider)
            return False
        if packed is None:
            self.memory.append(request)
        self._count(f"scheduler/enqueued/{'memory' if packed is None else 'disk'}")
        self._count("scheduler/enqueued")
        return True

    def next_request(self):
        """The next request, or None if none waits. It is in progress from now on."""
        self._finish_handled()
        items = [] if self.memory else self.sieve.pop()
        if not items and not self.memory:
            return None
        if items:
            from scrapy.utils.request import request_from_dict  # pylint: disable=import-outside-toplevel,import-error
            request = request_from_dict(pickle.loads(items[0].payload), spider=self.spider)
            self.leased[request] = items[0].number
        else:
            request = self.memory.popleft()
        self._count(f"scheduler/dequeued/{'disk' if items else 'memory'}")
        self._count("scheduler/dequeued")
        return request

    def _finish_handled(self):
        """Acknowledges the requests that the engine has done with: what they led to is in the sieve by now."""
        engine = getattr(self.crawler, "engine", None)
        slot = getattr(engine, "slot", None) or getattr(engine, "_slot", None)
        busy = getattr(slot, "inprogress", ())
        done = [request for request in self.leased if request not in busy]
        if done:
            self.sieve.ack([self.leased.pop(request) for request in done])


def _is_set(value):
    """As Scrapy's getbool: "0" and "False" from a command line are False."""
    return str(value).lower() in ("true", "1")
