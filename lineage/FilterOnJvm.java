/* SPDX-License-Identifier: Apache-2.0 */

import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.BitSet;

/**
 * The two filters of the lineage experiment on a JVM; `bloomery-experiment --jvm` sends the commands
 * (lineage/jvm.c):
 *
 *     FilterOnJvm guava KEYS RATE    the real Guava's
 *     FilterOnJvm sha384             2^28 bits, of which a key sets twelve: 28 bits each of its digest
 *
 * It says GREETING and then obeys, numbers big-endian as Java has them, until its input ends:
 *
 *     'A' count, keys    adds them                        no answer
 *     'Q' count, keys    queries them                     bit i & 7 of byte i >> 3: key i may be in
 *     'S'                nanoseconds of adding and of querying, those of processors of the whole process,
 *                        and its most memory              four longs
 *     'D'                the filter as bytes              their number, and they
 *
 * A key is twelve digits. Keys become strings before the clock runs, a portion at a time. The original
 * experiment gave strings to its filters, and a program on a JVM has them. The clock is that of this
 * thread, as for all structures of the experiment. The work of other programs, the compiler and the
 * collector is not in it. That of the compiler and the collector is in the process's time.
 */
public final class FilterOnJvm {
    private static final int GREETING = 0x424C4D31;
    private static final int DIGITS = 12;
    private static final int PORTION = 4096;
    private static final int SLICED_BITS = 1 << 28;
    private static final int SLICES = 12;
    private static final int BUFFER = 1 << 16;

    private final BloomFilter<CharSequence> guava; // one of the two is null
    private final BitSet bits;
    private final MessageDigest digest;
    private final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    private final int[] places = new int[SLICES];
    private final byte[] text = new byte[PORTION * DIGITS];
    private final String[] keys = new String[PORTION];
    private long addNanoseconds;
    private long askNanoseconds;

    private FilterOnJvm(String[] arguments) throws NoSuchAlgorithmException {
        if (arguments.length == 3 && arguments[0].equals("guava")) {
            guava = BloomFilter.create(Funnels.stringFunnel(StandardCharsets.UTF_8),
                    Long.parseLong(arguments[1]), Double.parseDouble(arguments[2]));
            bits = null;
            digest = null;
        } else if (arguments.length == 1 && arguments[0].equals("sha384")) {
            guava = null;
            bits = new BitSet(SLICED_BITS);
            digest = MessageDigest.getInstance("SHA-384");
        } else {
            throw new IllegalArgumentException("guava KEYS RATE, or sha384");
        }
    }

    /** The places of a key: the low 28 bits of each big-endian word of its digest. */
    private void slice(String key) {
        byte[] made = digest.digest(key.getBytes(StandardCharsets.UTF_8));
        for (int i = 0; i < SLICES; i++) {
            places[i] = (made[4 * i] & 15) << 24 | (made[4 * i + 1] & 255) << 16
                    | (made[4 * i + 2] & 255) << 8 | made[4 * i + 3] & 255;
        }
    }

    private void add(int count) {
        for (int key = 0; key < count; key++) {
            if (guava != null) {
                guava.put(keys[key]);
                continue;
            }
            slice(keys[key]);
            for (int place : places) {
                bits.set(place);
            }
        }
    }

    private boolean mayContain(String key) {
        if (guava != null) {
            return guava.mightContain(key);
        }
        slice(key);
        for (int place : places) {
            if (!bits.get(place)) {
                return false;
            }
        }
        return true;
    }

    private void ask(int count, byte[] answers, int first) {
        for (int key = 0; key < count; key++) {
            if (mayContain(keys[key])) {
                answers[(first + key) >> 3] |= (byte) (1 << (first + key & 7));
            }
        }
    }

    /** Reads the keys of one command and adds them, or answers. */
    private void work(DataInputStream in, DataOutputStream out, boolean adding) throws IOException {
        int count = in.readInt();
        byte[] answers = new byte[adding ? 0 : (count + 7) / 8];
        for (int done = 0; done < count; done += PORTION) {
            int now = Math.min(PORTION, count - done);
            in.readFully(text, 0, now * DIGITS);
            for (int key = 0; key < now; key++) {
                keys[key] = new String(text, key * DIGITS, DIGITS, StandardCharsets.ISO_8859_1);
            }
            long begin = clock.getCurrentThreadCpuTime();
            if (adding) {
                add(now);
                addNanoseconds += clock.getCurrentThreadCpuTime() - begin;
            } else {
                ask(now, answers, done);
                askNanoseconds += clock.getCurrentThreadCpuTime() - begin;
            }
        }
        out.write(answers);
    }

    /** Linux's figures of the process, 0 elsewhere. */
    private static long mostMemory() throws IOException {
        Path status = Path.of("/proc/self/status");
        if (!Files.isReadable(status)) {
            return 0;
        }
        for (String line : Files.readAllLines(status)) {
            if (line.startsWith("VmHWM:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
            }
        }
        return 0;
    }

    private void tellState(DataOutputStream out) throws IOException {
        long most = mostMemory();
        out.writeLong(addNanoseconds);
        out.writeLong(askNanoseconds);
        out.writeLong(((com.sun.management.OperatingSystemMXBean)
                ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime());
        out.writeLong(most);
    }

    private void tellBytes(DataOutputStream out) throws IOException {
        byte[] bytes;
        if (guava != null) {
            ByteArrayOutputStream stream = new ByteArrayOutputStream();
            guava.writeTo(stream);
            bytes = stream.toByteArray();
        } else {
            bytes = bits.toByteArray(); // without the zeros at its end
        }
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    private void obey(DataInputStream in, DataOutputStream out) throws IOException {
        out.writeInt(GREETING);
        out.flush();
        for (int command = in.read(); command >= 0; command = in.read()) {
            if (command == 'A' || command == 'Q') {
                work(in, out, command == 'A');
            } else if (command == 'S') {
                tellState(out);
            } else if (command == 'D') {
                tellBytes(out);
            } else {
                throw new IOException("no command " + command);
            }
            out.flush();
        }
    }

    public static void main(String[] arguments) throws IOException, NoSuchAlgorithmException {
        // Not System.out, through which a library might talk.
        DataInputStream in = new DataInputStream(
                new BufferedInputStream(new FileInputStream(FileDescriptor.in), BUFFER));
        DataOutputStream out = new DataOutputStream(
                new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), BUFFER));
        new FilterOnJvm(arguments).obey(in, out);
    }
}
