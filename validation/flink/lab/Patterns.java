package edrp.lab;

import java.util.function.LongConsumer;

/** Patterns as numbers: combinations of at most four words, ascending, each plus 1 in 15 bits. */
final class Patterns {
    static final int MAX_WORDS = 4;
    private static final int BITS = 15;
    private static final int MASK = (1 << BITS) - 1;

    private Patterns() {}

    /** All combinations of 1 to `size` of some words in ascending order. */
    static void combine(int[] words, int size, LongConsumer out) {
        for (int chosen = 1; chosen < 1 << words.length; chosen++) {
            if (Integer.bitCount(chosen) <= size) {
                long pattern = 0;
                for (int place = 0; place < words.length; place++) {
                    pattern = (chosen >> place & 1) == 0 ? pattern : pattern << BITS | words[place] + 1;
                }
                out.accept(pattern);
            }
        }
    }

    static int[] words(long pattern) {
        int[] words = new int[size(pattern)];
        for (int place = words.length - 1; place >= 0; place--, pattern >>= BITS) {
            words[place] = (int) (pattern & MASK) - 1;
        }
        return words;
    }

    static int size(long pattern) {
        return (Long.SIZE - Long.numberOfLeadingZeros(pattern) + BITS - 1) / BITS;
    }
}
