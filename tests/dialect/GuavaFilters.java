// SPDX-License-Identifier: Apache-2.0
//
// Guava's BloomFilter on a string, for test_guava.py:
//
//     filter STRATEGY N P PREFIX COUNT    makes one, adds COUNT keys: its stream in base64, what each put said, and
//                                         what it says to 500 keys of "other" and PREFIX's number
//     read STREAM PREFIX COUNT            what the filter of a stream says to COUNT keys
//     size N P                            bits and probes
//
// Answers are a "=" and a digit for each key. Key i is PREFIX, "-", two characters that are not ASCII, and i.

import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnel;
import com.google.common.hash.Funnels;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

public final class GuavaFilters {
    private static final Funnel<CharSequence> FUNNEL = Funnels.stringFunnel(StandardCharsets.UTF_8);

    private static String key(String prefix, int i) {
        return prefix + "-\u00fc\u4e2d" + i;
    }

    private static Method method(String name, Class<?>... parameters) throws Exception {
        Method found = BloomFilter.class.getDeclaredMethod(name, parameters);
        found.setAccessible(true);
        return found;
    }

    /** Only the default strategy is public. */
    @SuppressWarnings("unchecked")
    private static BloomFilter<CharSequence> create(String strategy, long n, double p) throws Exception {
        Class<?> type = Class.forName("com.google.common.hash.BloomFilter$Strategy");
        Object chosen = null;
        for (Object one : Class.forName("com.google.common.hash.BloomFilterStrategies").getEnumConstants()) {
            if (one.toString().equals(strategy)) {
                chosen = one;
            }
        }
        return (BloomFilter<CharSequence>)
                method("create", Funnel.class, long.class, double.class, type).invoke(null, FUNNEL, n, p, chosen);
    }

    private static String ask(BloomFilter<CharSequence> filter, String prefix, int count) {
        StringBuilder answers = new StringBuilder("=");
        for (int i = 0; i < count; i++) {
            answers.append(filter.mightContain(key(prefix, i)) ? '1' : '0');
        }
        return answers.toString();
    }

    private static String make(String[] words) throws Exception {
        BloomFilter<CharSequence> filter =
                create(words[1], Long.parseLong(words[2]), Double.parseDouble(words[3]));
        StringBuilder put = new StringBuilder("=");
        for (int i = 0; i < Integer.parseInt(words[5]); i++) {
            put.append(filter.put(key(words[4], i)) ? '1' : '0');
        }
        ByteArrayOutputStream stream = new ByteArrayOutputStream();
        filter.writeTo(stream);
        return Base64.getEncoder().encodeToString(stream.toByteArray()) + " " + put + " "
                + ask(filter, "other" + words[4].substring(1), 500);
    }

    private static String read(String[] words) throws Exception {
        byte[] stream = Base64.getDecoder().decode(words[1]);
        return ask(BloomFilter.readFrom(new ByteArrayInputStream(stream), FUNNEL), words[2], Integer.parseInt(words[3]));
    }

    private static String size(String[] words) throws Exception {
        long n = Long.parseLong(words[1]);
        Object bits = method("optimalNumOfBits", long.class, double.class)
                .invoke(null, n, Double.parseDouble(words[2]));
        return bits + " " + method("optimalNumOfHashFunctions", long.class, long.class).invoke(null, n, bits);
    }

    public static void main(String[] unused) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = input.readLine()) != null; ) {
            String[] words = line.split(" ");
            System.out.println(
                    words[0].equals("filter") ? make(words) : words[0].equals("read") ? read(words) : size(words));
        }
    }
}
