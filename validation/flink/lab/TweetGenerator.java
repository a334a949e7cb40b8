package edrp.lab;

import java.util.Arrays;
import org.apache.flink.connector.datagen.source.GeneratorFunction;

/**
 * Makes event i of a sliding window from i alone. The first events are the arrivals of the tweets that fill the window; from then
 * on arrivals take turns with departures, so that at equal intervals a tweet leaves when it is as old as the window is long.
 *
 * <p>Words are drawn by Zipf's law with exponent 1: word w has weight 2^20 / (w + 1), rounded down. Draw d of tweet t is the
 * finaliser of SplitMix64 at 2^20 t + d, modulo the sum of the weights; words that the tweet has already are drawn again.
 */
final class TweetGenerator implements GeneratorFunction<Long, Tweet> {
    private static final int SCALE = 20;

    private final RateSchedule schedule;
    private final int window;
    private final int vocabulary;
    private final int size;
    private transient long[] sums;

    /** A window of so many tweets with `size` words each. */
    TweetGenerator(RateSchedule schedule, int window, int vocabulary, int size) {
        this.schedule = schedule;
        this.window = window;
        this.vocabulary = vocabulary;
        this.size = size;
    }

    @Override
    public Tweet map(Long index) {
        long behind = index - window;
        boolean leaves = behind >= 0 && behind % 2 == 1;
        long tweet = behind < 0 ? index : leaves ? behind / 2 : window + behind / 2;
        return new Tweet((long) schedule.due(index), leaves ? -1 : 1, words(tweet));
    }

    private int[] words(long tweet) {
        if (sums == null) {
            sums = new long[vocabulary];
            Arrays.setAll(sums, word -> (1L << SCALE) / (word + 1));
            Arrays.parallelPrefix(sums, Long::sum);
        }
        int[] words = new int[size];
        for (int drawn = 0, draw = 0; drawn < size; draw++) {
            long hash = Long.remainderUnsigned(mix((tweet << SCALE) + draw), sums[vocabulary - 1]);
            int place = Arrays.binarySearch(sums, hash);
            int word = place < 0 ? -place - 1 : place + 1; // the first with more than the hash before and in it
            if (Arrays.stream(words, 0, drawn).noneMatch(other -> other == word)) {
                words[drawn++] = word;
            }
        }
        Arrays.sort(words);
        return words;
    }

    private static long mix(long value) {
        long mixed = (value ^ value >>> 30) * 0xBF58476D1CE4E5B9L;
        mixed = (mixed ^ mixed >>> 27) * 0x94D049BB133111EBL;
        return mixed ^ mixed >>> 31;
    }
}
