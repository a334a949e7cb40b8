package edrp.lab;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.apache.flink.connector.datagen.source.GeneratorFunction;

/** Makes record i of a source: the first records name every key once, later keys are drawn by Zipf's law from i alone. */
final class EventGenerator implements GeneratorFunction<Long, Event> {
    private final RateSchedule schedule;
    private final int keys;
    private final double skew;
    private final int origin;
    private transient double[] cumulative;

    EventGenerator(RateSchedule schedule, int keys, double skew, int origin) {
        this.schedule = schedule;
        this.keys = keys;
        this.skew = skew;
        this.origin = origin;
    }

    @Override
    public Event map(Long index) {
        int key = index < keys ? index.intValue() : drawnKey(index);
        return new Event(index, (long) schedule.due(index), key, origin);
    }

    private int drawnKey(long index) {
        if (cumulative == null) {
            cumulative = cumulativeWeights();
        }
        double drawn = new SplittableRandom(index * 0x9E3779B97F4A7C15L).nextDouble() * cumulative[keys - 1];
        int found = Arrays.binarySearch(cumulative, drawn);
        return Math.min(keys - 1, found >= 0 ? found : -found - 1);
    }

    private double[] cumulativeWeights() {
        double[] sums = new double[keys];
        double sum = 0;
        for (int key = 0; key < keys; key++) {
            sum += Math.pow(key + 1, -skew);
            sums[key] = sum;
        }
        return sums;
    }
}
