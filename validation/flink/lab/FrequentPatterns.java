package edrp.lab;

import java.util.function.Consumer;

/** The detector: a pattern is frequent in more than so many tweets of the window; each change is told the pattern and its subsets. */
final class FrequentPatterns extends PatternFunction<PatternChange> {
    private final int threshold;

    FrequentPatterns(int threshold, Service service, int bytes) {
        super(PatternChange.class, service, bytes);
        this.threshold = threshold;
    }

    @Override
    boolean holds(PatternState state) {
        return state.count > threshold;
    }

    @Override
    void report(long due, long pattern, int change, Consumer<PatternChange> out) {
        int[] words = Patterns.words(pattern);
        out.accept(new PatternChange(due, pattern, change, false));
        Patterns.combine(words, words.length - 1, subset -> out.accept(new PatternChange(due, subset, change, true)));
    }
}
