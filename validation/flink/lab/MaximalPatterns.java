package edrp.lab;

import java.util.function.Consumer;

/** The detector's loop, unrolled: reports the frequent patterns that no frequent one contains, as they become and cease to be so. */
final class MaximalPatterns extends PatternFunction<Numbered> {
    MaximalPatterns(Service service, int bytes) {
        super(Numbered.class, service, bytes);
    }

    @Override
    boolean holds(PatternState state) {
        return state.count > 0 && state.containing <= 0;
    }

    @Override
    void report(long due, long pattern, int change, Consumer<Numbered> out) {
        out.accept(new Numbered(due, Patterns.size(pattern), pattern, change));
    }
}
