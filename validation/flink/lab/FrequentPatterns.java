package edrp.lab;

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
    void report(long due, long pattern, int change, Context<PatternChange> context) {
        int[] words = Patterns.words(pattern);
        context.collect(new PatternChange(due, pattern, change, false));
        Patterns.combine(words, words.length - 1, subset -> context.collect(new PatternChange(due, subset, change, true)));
    }
}
