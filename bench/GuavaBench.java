/* SPDX-License-Identifier: Apache-2.0 */

import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnel;
import com.google.common.hash.Funnels;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;

/**
 * Guava's filter, measured as bench.c measures the others: the same keys (keys.c has their formulas),
 * made before the clock starts, medians of parts, absent and then present keys.
 *
 *     GuavaBench filter TYPE KEYS RATE PARTS ASKS    one row of JSON
 *     GuavaBench lines KEYS RATE MEMBERS QUESTIONS   the program a user would write: reads a file, puts
 *                                                    its lines, reads another, prints those that may be in
 *     GuavaBench distinct KEYS RATE LINES            the same for repeated lines: prints a line if put()
 *                                                    returned true
 */
public final class GuavaBench {
    private static final int CHUNK = 16384;
    private static final int REFILL_MOST = 2_000_000;
    private static final BigInteger ID_RANGE = BigInteger.TEN.pow(12);
    private static final BigInteger ID_STEP = BigInteger.valueOf(618033988751L);
    private static final String HEX = "0123456789abcdef";

    private GuavaBench() {}

    private static long mix64(long x) {
        x = (x ^ (x >>> 30)) * 0xBF58476D1CE4E5B9L;
        x = (x ^ (x >>> 27)) * 0x94D049BB133111EBL;
        return x ^ (x >>> 31);
    }

    private static Object[] keys(String type, long first, int count) {
        Object[] keys = new Object[count];
        long range = ID_RANGE.longValue();
        long id = BigInteger.valueOf(first).multiply(ID_STEP).mod(ID_RANGE).longValue();
        StringBuilder url = new StringBuilder();
        for (int i = 0; i < count; i++) {
            long mixed = mix64(first + i);
            if (type.equals("integers")) {
                keys[i] = mixed;
            } else if (type.equals("ids")) {
                keys[i] = Long.toString(range + id).substring(1);
                id = (id + ID_STEP.longValue()) % range;
            } else {
                int prefix = (int) Long.remainderUnsigned(mixed, 64);
                url.setLength(0);
                url.append("https://node").append((char) ('0' + prefix / 10));
                url.append((char) ('0' + prefix % 10));
                url.append(".example.net/articles/by-number/and-by-name/");
                url.setLength(36 + prefix % 17);
                url.setCharAt(url.length() - 1, '/');
                for (int digit = 0; digit < 16; digit++) {
                    url.append(HEX.charAt((int) (mixed >>> (4 * digit)) & 15));
                }
                keys[i] = url.toString();
            }
        }
        return keys;
    }

    /** Nanoseconds a key; the answers that were true are added to sum[0]. */
    private static double run(BloomFilter<Object> filter, String type, long first, long count,
            boolean adding, long[] sum) {
        long nanoseconds = 0;
        for (long done = 0; done < count; done += CHUNK) {
            Object[] keys = keys(type, first + done, (int) Math.min(CHUNK, count - done));
            long found = 0;
            long begin = System.nanoTime();
            for (Object key : keys) {
                if (adding ? filter.put(key) : filter.mightContain(key)) {
                    found++;
                }
            }
            nanoseconds += System.nanoTime() - begin;
            sum[0] += found;
        }
        return (double) nanoseconds / count;
    }

    @SuppressWarnings("unchecked")
    private static BloomFilter<Object> create(String type, long keys, double rate) {
        Funnel<?> funnel = type.equals("integers") ? Funnels.longFunnel()
                : Funnels.stringFunnel(StandardCharsets.UTF_8);
        return BloomFilter.create((Funnel<Object>) (Funnel<?>) funnel, keys, rate);
    }

    private static void filter(String type, long keys, double rate, int parts, long asks) {
        long[] ignored = new long[1];
        BloomFilter<Object> small = create(type, 100_000, rate);
        for (int i = 0; i < 5; i++) { // the compiler's time is nobody's
            run(small, type, 0, 100_000, true, ignored);
            run(small, type, 50_000, 100_000, false, ignored);
        }
        double[] add = new double[parts];
        double[] absent = new double[parts];
        double[] present = new double[parts];
        BloomFilter<Object> filter = create(type, keys, rate);
        for (int part = 0; part < parts; part++) {
            if (keys <= REFILL_MOST) {
                filter = create(type, keys, rate);
                add[part] = run(filter, type, 0, keys, true, ignored);
            } else {
                long first = keys / parts * part;
                long end = part + 1 == parts ? keys : first + keys / parts;
                add[part] = run(filter, type, first, end - first, true, ignored);
            }
        }
        long[] found = new long[1];
        for (int part = 0; part < parts; part++) {
            absent[part] = run(filter, type, keys + asks * part, asks, false, found);
        }
        long now = Math.min(asks, keys);
        long[] members = new long[1];
        for (int part = 0; part < parts; part++) {
            present[part] = run(filter, type, (keys - now) / parts * part, now, false, members);
        }
        if (members[0] != now * parts) {
            throw new IllegalStateException("Guava lost keys");
        }
        double bits = keys * -Math.log(rate) / (Math.log(2) * Math.log(2));
        long bytes = ((long) bits + 63) / 64 * 8;
        int probes = Math.max(1, (int) Math.round(bits / keys * Math.log(2)));
        System.out.printf(Locale.ROOT, "{\"type\": \"%s\", \"keys\": %d, \"rate\": %s, \"name\": \"guava\", "
                + "\"role\": \"peer\", \"layout\": \"flat\", \"kernel\": \"jvm\", \"lines\": 0, "
                + "\"probes\": %d, \"bytes\": %d, \"memory\": 0, \"planned\": %s, \"asked\": %d, "
                + "\"found\": %d, \"ns\": {\"add_one\": %s, \"absent_one\": %s, \"present_one\": %s}}%n",
                type, keys, rate, probes, bytes, rate, asks * parts, found[0], Arrays.toString(add),
                Arrays.toString(absent), Arrays.toString(present));
    }

    private static void lines(long keys, double rate, Path members, Path questions)
            throws IOException {
        BloomFilter<CharSequence> filter =
                BloomFilter.create(Funnels.stringFunnel(StandardCharsets.UTF_8), keys, rate);
        try (BufferedReader reader = Files.newBufferedReader(members)) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                filter.put(line);
            }
        }
        try (BufferedReader reader = Files.newBufferedReader(questions);
                BufferedWriter writer = Files.newBufferedWriter(Path.of("/dev/stdout"))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                if (filter.mightContain(line)) {
                    writer.write(line);
                    writer.write('\n');
                }
            }
        }
    }

    private static void distinct(long keys, double rate, Path input) throws IOException {
        BloomFilter<CharSequence> filter =
                BloomFilter.create(Funnels.stringFunnel(StandardCharsets.UTF_8), keys, rate);
        try (BufferedReader reader = Files.newBufferedReader(input);
                BufferedWriter writer = Files.newBufferedWriter(Path.of("/dev/stdout"))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                if (filter.put(line)) {
                    writer.write(line);
                    writer.write('\n');
                }
            }
        }
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length == 6 && arguments[0].equals("filter")) {
            filter(arguments[1], Long.parseLong(arguments[2]), Double.parseDouble(arguments[3]),
                    Integer.parseInt(arguments[4]), Long.parseLong(arguments[5]));
        } else if (arguments.length == 5 && arguments[0].equals("lines")) {
            lines(Long.parseLong(arguments[1]), Double.parseDouble(arguments[2]),
                    Path.of(arguments[3]), Path.of(arguments[4]));
        } else if (arguments.length == 4 && arguments[0].equals("distinct")) {
            distinct(Long.parseLong(arguments[1]), Double.parseDouble(arguments[2]), Path.of(arguments[3]));
        } else {
            System.err.println("GuavaBench filter TYPE KEYS RATE PARTS ASKS"
                    + " | lines KEYS RATE MEMBERS QUESTIONS | distinct KEYS RATE LINES");
            System.exit(2);
        }
    }
}
