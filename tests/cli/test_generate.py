# SPDX-License-Identifier: Apache-2.0
"""generate: distinct lines, valid numbers, the same for everybody."""

import collections
import datetime
import os
import subprocess

from runner import case, has, main

TRY = "try 'bloomery generate --help'\n"
CENTURIES = {"1": 1800, "2": 1800, "3": 1900, "4": 1900, "5": 2000, "6": 2000}

# Thousands of men and women by age, in steps of five years: written down a second time on purpose.
POPULATION = [(990, 930), (1001, 947), (825, 779), (572, 545), (564, 536), (740, 733), (815, 843),
              (666, 670), (581, 603), (534, 569), (459, 519), (485, 576), (353, 458), (248, 380),
              (119, 201), (74, 159), (64, 152), (17, 45), (5, 18), (0, 3)]

IDS = """\
340203430983
810819346496
980128485173
680714439152
120803660756
"""
URLS = """\
https://shop.chalkolive.info/u/coppercherry/blog/7a18djji
https://blog.dunefrost.com/wiki/blue-brook?id=bmrfqack
https://blog.cliffwillow.io/blog/2020/03/grove-maple-3uuasi2g
https://berryfarm.org/blog/2015/03/coast-candle-7psd8k74
https://shop.deltaheron.io/clay/moon/bay-grove-up3rfep2
"""
INTEGERS = """\
5197578548964807871
12035550249420947055
12935080325729570654
7141179953334974231
12108695660851890438
"""
IDS_OF_LAST_SEED = """\
770227447650
980420353453
171020574428
"""


def lines(c, arguments):
    """The lines that generate writes."""
    out = c.run(f"generate {arguments}", stdout=None)[0].decode("ascii")
    c.expect(out.endswith("\n"), "the last line has no end")
    return out[:-1].split("\n")


def birth_date(number):
    """The date, which must exist."""
    return datetime.date(CENTURIES[number[6]] + int(number[:2]), int(number[2:4]), int(number[4:6]))


def check_digit(number):
    """The twelfth digit for the first eleven, or None."""
    for weights in (range(1, 12), (3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2)):
        rest = sum(int(digit) * weight for digit, weight in zip(number, weights)) % 11
        if rest < 10:
            return str(rest)
    return None


@case
def first_lines_never_change(c):
    """Whose results come from generated input must be able to make that input again."""
    c.run("generate ids -n 5", stdout=IDS)
    c.run("generate urls -n 5", stdout=URLS)
    c.run("generate integers -n 5", stdout=INTEGERS)
    c.run("generate ids -n 3 --seed 18446744073709551615", stdout=IDS_OF_LAST_SEED)


@case
def ids_are_valid_and_distinct(c):
    numbers = lines(c, "ids -n 50k --seed 3")
    c.expect(len(numbers) == len(set(numbers)) == 50_000, "not 50,000 different numbers")
    for number in numbers:
        c.expect(len(number) == 12 and number.isdigit(), f"{number} is not a number of 12 digits")
        c.expect(datetime.date(1920, 7, 2) <= birth_date(number) <= datetime.date(2020, 7, 1),
                 f"{number}: nobody of the table was born then")
        c.expect(check_digit(number) == number[11], f"{number}: wrong check digit")


@case
def ids_follow_the_table_of_ages(c):
    found = collections.Counter()
    for number in lines(c, "ids -n 100k"):
        born = birth_date(number)
        age = 2020 - born.year - ((born.month, born.day) > (7, 1))
        found[age // 5, 0 if number[6] in "135" else 1] += 1
    total = sum(map(sum, POPULATION))
    for group, pair in enumerate(POPULATION):
        for sex, weight in enumerate(pair):
            share = 100_000 * weight / total
            c.expect(abs(found[group, sex] - share) < 1,
                     f"{found[group, sex]} people of group {group} and sex {sex}, not {share:.1f}")


@case
def more_ids_than_there_are_is_an_error(c):
    err = c.run("generate ids -n 700M", stderr=None, code=2)[1].decode()
    c.expect(err.startswith("bloomery: generate: there are at most ") and "distinct ids" in err, err)
    most = int(err.split("at most ")[1].split(" ")[0].replace(",", ""))
    c.expect(300_000_000 < most < 700_000_000, f"{most} at most")
    c.run(f"generate ids -n {most + 1}", stderr=None, code=2)
    process = c.start(f"generate ids -n {most}")
    first = process.stdout.read(13_000)
    process.stdout.close()
    process.stdin.close()
    process.wait()
    process.stderr.close()
    c.expect(len(set(first.split(b"\n"))) == 1001, "the first thousand of all are not different")


@case
def urls_are_distinct_and_look_like_urls(c):
    urls = lines(c, "urls -n 100k --seed 5")
    c.expect(len(urls) == len(set(urls)) == 100_000, "not 100,000 different URLs")
    for url in urls:
        c.expect(40 <= len(url) <= 71, f"{url} has {len(url)} bytes")
        c.expect(url.startswith("https://") and url.isprintable() and " " not in url, url)
    hosts = collections.Counter(url.split("/")[2] for url in urls).most_common()
    c.expect(hosts[0][1] > 1000, f"the largest host has {hosts[0][1]} pages")
    c.expect(len(hosts) > 10_000, f"there are {len(hosts)} hosts")


@case
def integers_are_distinct_and_spread(c):
    numbers = [int(line) for line in lines(c, "integers -n 100k --seed 5")]
    c.expect(len(set(numbers)) == 100_000, "not 100,000 different integers")
    c.expect(0 <= min(numbers) < 2**49 and 2**64 - 2**49 < max(numbers) < 2**64, "the range")
    for bit in range(64):
        ones = sum(number >> bit & 1 for number in numbers)
        c.expect(abs(ones - 50_000) < 1000, f"bit {bit} is set in {ones} of 100,000")


@case
def longer_output_begins_with_shorter(c):
    """True of urls and integers; ids are another population for every number of people."""
    for what in ("urls", "integers"):
        c.expect(lines(c, f"{what} -n 3000")[:1000] == lines(c, f"{what} -n 1000"), what)


@case
def seeds_make_other_lines(c):
    for what in ("ids", "urls", "integers"):
        first = set(lines(c, f"{what} -n 1000"))
        c.expect(first == set(lines(c, f"{what} -n 1k --seed 0")), f"{what}: not reproducible")
        c.expect(len(first & set(lines(c, f"{what} -n 1000 --seed 1"))) < 10, f"{what}: one seed")


@case
def every_count_is_met(c):
    for what in ("ids", "urls", "integers"):
        for count in (1, 2, 3, 1023, 1024, 1025, 4097):
            c.expect(len(set(lines(c, f"{what} -n {count}"))) == count, f"{count} {what}")


@case
def null_ends_records(c):
    for what in ("ids", "urls", "integers"):
        out = c.run(f"generate {what} -n 100 -0", stdout=None)[0]
        plain = c.run(f"generate {what} -n 100", stdout=None)[0]
        c.expect(out == plain.replace(b"\n", b"\0"), what)


@case
def options_may_come_first(c):
    c.run("generate -n 5 ids", stdout=IDS)
    c.run("generate --count=5 -- ids", stdout=IDS)


@case
def wrong_usage_gets_a_hint(c):
    for line, sentence in (
            ("", "name one of ids, urls and integers"),
            ("ids urls -n 5", "name one of ids, urls and integers"),
            ("idds -n 5", "unknown 'idds'; did you mean 'ids'?"),
            ("numbers -n 5", "unknown 'numbers'; "),
            ("ids", "no number of lines: give -n N"), ("ids -n 0", "-n 0: "),
            ("ids -n many", "-n "), ("ids -n 5 --seed -1", "--seed ")):
        c.run(f"generate {line}", stderr=has(f"bloomery: generate: {sentence}", TRY), code=2)
    c.run("generate urls -n 2e12", code=2,
          stderr="bloomery: generate: there are at most 1,099,511,627,776 distinct urls\n")
    c.run("generate --help", stdout=has("bloomery generate ids|urls|integers -n N"))


@case
def full_disk_is_an_error(c):
    for what in ("ids", "urls", "integers"):
        with open("/dev/full", "wb") as full:
            c.run(f"generate {what} -n 100k", stdout_file=full, stderr=has(os.strerror(28)), code=2)


@case
def reader_that_leaves_ends_it_quietly(c):
    process = c.start("generate integers -n 1e15", stdin=subprocess.DEVNULL)
    process.stdout.read(100)
    process.stdout.close()
    err = process.stderr.read()
    process.wait()
    process.stderr.close()
    c.expect(err == b"" and process.returncode != 0, f"stderr is {err!r}")


@case
def locale_changes_nothing(c):
    for locale in ("C", "de_DE.UTF-8", "tr_TR.UTF-8"):
        c.run("generate urls -n 5", stdout=URLS, environment={"LC_ALL": locale, "LANG": locale})


main()
