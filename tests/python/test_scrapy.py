# SPDX-License-Identifier: Apache-2.0
"""The duplicates filter in Scrapy itself, over files; and alone, with a crash between."""

import hashlib
import logging
import os
import random
import signal
import subprocess
import sys

from bloomery import SEEN
from bloomery.scrapy import DupeFilter, Scheduler
from optional import need, raises
from runner import case, main


class Request:
    """As much of a request as the filter looks at."""

    def __init__(self, url, method="GET", body=b""):
        self.url, self.method, self.body = url, method, body


class Stats:
    """Counts, as Scrapy 2.18's: without a spider."""

    def __init__(self):
        self.counts = {}

    def inc_value(self, name):
        """One more."""
        self.counts[name] = self.counts.get(name, 0) + 1


REQUESTS = [Request(f"http://example.org/{i}") for i in range(3000)]


@case
def a_request_is_new_once_after_a_restart_too(c):
    os.mkdir(c.path("job"))
    old = Request("http://example.org/earlier")
    with open(c.path("job/requests.seen"), "w", encoding="ascii", newline="\r\n") as file:  # as Scrapy leaves it
        file.write(DupeFilter().request_fingerprint(old).hex() + "\n\n")
    settings = {"JOBDIR": c.path("job"), "BLOOMERY_KEYS": "10000", "DUPEFILTER_DEBUG": "0"}
    f = DupeFilter.from_settings(settings)
    f.open()
    c.expect(f.request_seen(old), "requests.seen was not taken over")
    c.expect(sum(map(f.request_seen, REQUESTS)) == 0 and all(map(f.request_seen, REQUESTS)), "once")
    c.expect(not f.request_seen(Request("http://example.org/0", "POST", b"a")), "another method is another request")
    f.close("finished")
    f = DupeFilter.from_settings(settings)
    c.expect(all(map(f.request_seen, REQUESTS)) and f.request_seen(old), "after a restart")
    c.expect(not f.request_seen(Request("http://example.org/new")), "a new one")
    f.close()


@case
def a_list_of_scrapys_is_taken_over_whole_or_refused(c):
    good = [hashlib.sha1(str(i).encode()).hexdigest() for i in range(3000)]

    def put(name, lines, end=""):
        os.mkdir(c.path(name))
        c.file(f"{name}/requests.seen", "\n".join(lines) + end)
        return c.path(name)
    cut = put("cut", good + ["abc"])
    f = DupeFilter(cut)
    c.expect(f.sieve.look(bytes.fromhex(good[2900])) == SEEN, "a line before the one that was cut is forgotten")
    f.close()
    bad = put("bad", good[:1500] + ["zz"] + good[1500:], "\n")
    for _ in range(2):  # and it is not half there the next time
        with raises(c, ValueError, "line 1501 is not a fingerprint"):
            DupeFilter(bad)
    taken = c.path("cut/requests.seen.taken")
    os.unlink(taken)  # one that was ended is done again
    DupeFilter(cut).close()
    c.expect(os.path.exists(taken), "it is not said that all are in")


@case
def a_list_of_20_bytes_a_request_is_taken_over(c):
    good = [hashlib.sha1(str(i).encode()).digest() for i in range(3000)]
    for name, end in (("whole", b""), ("cut", b"abc\n")):
        os.mkdir(c.path(name))
        c.file(f"{name}/requests.seen", b"".join(good) + end)
        f = DupeFilter(c.path(name))
        c.expect(all(f.sieve.look(each) == SEEN for each in good), f"{name}: fingerprints are lost")
        c.expect(f.sieve.status().marked == len(good), f"{name}: {f.sieve.status().marked} were marked")
        f.close()
    os.mkdir(c.path("mixed"))
    c.file("mixed/requests.seen", good[0].hex().encode() + b"\n" + good[1] + b"\n")
    with raises(c, ValueError, "line 2 is not a fingerprint"):
        DupeFilter(c.path("mixed"))


@case
def a_subclass_may_have_the_arguments_of_scrapy_alone(c):
    class Own(DupeFilter):
        """With the signature of Scrapy 2.8."""

        @classmethod
        def from_settings(cls, settings, *, fingerprinter=None):
            return super().from_settings(settings, fingerprinter=fingerprinter)

    class Crawler:
        """What from_crawler looks at."""

        settings, stats, request_fingerprinter = {}, Stats(), None
    f = Own.from_crawler(Crawler)
    f.log(REQUESTS[0])
    c.expect(type(f) is Own and f.stats.counts == {"dupefilter/filtered": 1}, f"{f.stats}")


@case
def a_killed_crawl_goes_on(c):
    code = ("import os, signal; from bloomery.scrapy import DupeFilter\n"
            "class Request:\n    def __init__(self, url): self.url = url\n"
            f"f = DupeFilter({c.path('job')!r})\n"
            "for i in range(500): f.request_seen(Request(f'http://example.org/{i}'))\n"
            "f.sieve.commit(); os.kill(os.getpid(), signal.SIGKILL)")
    done = subprocess.run([sys.executable, "-c", code], check=False)
    c.expect(done.returncode == -signal.SIGKILL, f"{done.returncode}")
    f = DupeFilter(c.path("job"))
    c.expect(all(f.request_seen(request) for request in REQUESTS[:500]), "requests are forgotten")
    c.expect(not f.request_seen(REQUESTS[600]), "a new one")


@case
def it_logs_counts_and_refuses_the_disk_engine(c):
    stats = Stats()
    f = DupeFilter(stats=stats)
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    f.logger.addHandler(handler)
    f.logger.setLevel(logging.DEBUG)
    try:
        f.log(REQUESTS[0])
        f.log(REQUESTS[0])
        f.close("finished")
    finally:
        f.logger.removeHandler(handler)
    c.expect(stats.counts == {"dupefilter/filtered": 2} and len(records) == 2, f"{stats.counts}, {len(records)} records")
    c.expect(records[0].name == "scrapy.dupefilters" and records[0].getMessage().startswith("Filtered duplicate request: "),
             f"{records[0].name}: {records[0].getMessage()}")
    c.expect("new ones were taken for seen ones" in records[-1].getMessage(), records[-1].getMessage())
    with raises(c, ValueError, "BLOOMERY_ENGINE"):
        DupeFilter.from_settings({"BLOOMERY_ENGINE": "disk"})


SPIDER = '''
import scrapy
from scrapy.crawler import CrawlerProcess

class Pages(scrapy.Spider):
    name = "pages"
    start_urls = ["file://{folder}/0.html"]
    def parse(self, response):
        self.crawler.stats.inc_value("pages")
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)

process = CrawlerProcess({{"DUPEFILTER_CLASS": "bloomery.scrapy.DupeFilter", "LOG_LEVEL": "ERROR", "BLOOMERY_KEYS": 1000,
                          "TELNETCONSOLE_ENABLED": False, "JOBDIR": "{job}",
                          "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7"}})
crawler = process.create_crawler(Pages)
process.crawl(crawler)
process.start()
print(crawler.stats.get_value("pages"), crawler.stats.get_value("dupefilter/filtered"))
'''


@case
def scrapy_visits_each_page_once(c):
    need("scrapy")
    os.mkdir(c.path("site"))
    for i in range(20):  # each page links to three others and to itself
        links = "".join(f'<a href="{(i * 3 + j) % 20}.html">x</a>' for j in range(3)) + f'<a href="{i}.html">me</a>'
        c.file(f"site/{i}.html", f"<html><body>{links}</body></html>")
    c.file("spider.py", SPIDER.format(folder=c.path("site"), job=c.path("job")))
    done = subprocess.run([sys.executable, c.path("spider.py")], capture_output=True, text=True, check=False,
                          cwd=c.directory)
    # Scrapy does not ask for its start page, so that comes once more, by the first link to it.
    c.expect(done.returncode == 0 and done.stdout.split() == ["21", "64"],
             f"{done.returncode}, {done.stdout!r}, {done.stderr[-600:]}")


CRAWL = '''
import random, os, signal, sys, threading, time
import scrapy
from scrapy.crawler import CrawlerProcess

class Pages(scrapy.Spider):
    name = "pages"
    start_urls = ["file://{folder}/0.html"]
    def parse(self, response):
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse_page, meta={{"from": response.url}})
        yield {{"url": response.url}}
    def parse_page(self, response):
        assert response.meta["from"]
        return self.parse(response)

class Written:
    """The pipeline: a line for each page, which the kernel has when it is written."""
    def process_item(self, item, spider):
        global written
        os.write(log, (item["url"] + "\\n").encode())
        written += 1
        if written == last:
            if "commit" in sys.argv:  # else it ends as the last second's commit left it
                crawler.engine.slot.scheduler.sieve.commit()
            os.kill(os.getpid(), signal.SIGKILL)
        return item

log = os.open("{log}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
written, last = 0, int(sys.argv[1])
process = CrawlerProcess({{"SCHEDULER": "bloomery.scrapy.Scheduler", "LOG_LEVEL": "ERROR", "BLOOMERY_KEYS": 1000,
                          "TELNETCONSOLE_ENABLED": False, "JOBDIR": "{job}", "ITEM_PIPELINES": {{Written: 1}},
                          "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7"}})
crawler = process.create_crawler(Pages)
process.crawl(crawler)
process.start()
print(crawler.stats.get_value("finish_reason"))
'''


@case
def a_crawl_that_is_killed_fetches_every_page(c):
    need("scrapy")
    os.mkdir(c.path("site"))
    pages = 300
    for i in range(pages):  # a tree, and links back
        links = "".join(f'<a href="{j}.html">x</a>' for j in (3 * i + 1, 3 * i + 2, 3 * i + 3, i // 2) if j < pages)
        c.file(f"site/{i}.html", f"<html><body>{links}</body></html>")
    c.file("crawl.py", CRAWL.format(folder=c.path("site"), job=c.path("job"), log=c.path("log")))
    kills = random.Random(11)
    runs = [(kills.randrange(80, 120), "commit"), (kills.randrange(5, 90), ""), (kills.randrange(80, 120), "commit"), (0, "")]
    for last, commit in runs:
        done = subprocess.run([sys.executable, c.path("crawl.py"), str(last), commit], capture_output=True, text=True, check=False,
                              cwd=c.directory)
        c.expect(done.returncode == (0 if last == 0 else -signal.SIGKILL), f"{last}: {done.returncode}, {done.stderr[-600:]}")
    c.expect(done.stdout.strip() == "finished", done.stdout)
    with open(c.path("log"), encoding="ascii") as file:
        fetched = [os.path.basename(line.strip()) for line in file]
    c.expect(set(fetched) == {f"{i}.html" for i in range(pages)}, f"{len(set(fetched))} of {pages} pages were fetched")
    # If each run began anew, all pages of those that were killed would come again.
    c.expect(pages <= len(fetched) < pages + sum(last for last, _ in runs), f"{len(fetched)} fetches: nothing was kept")


class Queued:
    """A request that a scheduler takes."""

    def __init__(self, url, meta=None, dont_filter=False):
        self.url, self.meta, self.dont_filter = url, meta, dont_filter

    def to_dict(self, *, spider=None):
        """As Scrapy's."""
        return {"url": self.url, "meta": self.meta, "spider": spider}


@case
def a_scheduler_queues_what_is_new_and_keeps_what_it_cannot_pickle_in_memory(c):
    class Crawler:
        """What from_crawler looks at."""

        settings, stats, request_fingerprinter, engine = {"JOBDIR": c.path("job")}, Stats(), None, None
    s = Scheduler.from_crawler(Crawler)
    s.open(None)
    c.expect(not s.has_pending_requests() and s.next_request() is None, "it is not empty")
    one = Queued("http://example.org/1")
    c.expect(s.enqueue_request(one) and not s.enqueue_request(one) and len(s) == 1, "once")
    c.expect(s.enqueue_request(Queued("http://example.org/1", dont_filter=True)) and len(s) == 2, "dont_filter")
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    s.df.logger.addHandler(handler)
    try:
        for i, meta in ((2, lambda: 0), (3, b"x" * (1 << 20))):
            c.expect(s.enqueue_request(Queued(f"http://example.org/{i}", meta)), "it is refused")
            c.expect(not s.enqueue_request(Queued(f"http://example.org/{i}", meta)), "twice")
        c.expect(len(s) == 4 and [s.next_request().url[-1] for _ in range(2)] == ["2", "3"], "from memory")
        c.expect([r.levelname for r in records if "memory" in r.getMessage()] == ["WARNING"], "one warning")
    finally:
        s.df.logger.removeHandler(handler)
    c.expect(Crawler.stats.counts["scheduler/enqueued"] == 4 and Crawler.stats.counts["scheduler/enqueued/disk"] == 2 and
             Crawler.stats.counts["dupefilter/filtered"] == 3, f"{Crawler.stats.counts}")
    s.close("finished")
    again = Scheduler.from_crawler(Crawler)
    c.expect(len(again) == 2 and not again.enqueue_request(one), "after a restart")
    again.close("finished")


main()
