package edrp.lab;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.flink.connector.datagen.source.GeneratorFunction;

/**
 * Makes record i from i alone: keys come in a cycle in which each is as often as Zipf's law says, and at least once, so that the
 * number of a record among those of its key is known without a memory.
 */
final class NumberGenerator implements GeneratorFunction<Long, Numbered> {
    /** How often the most frequent key comes in a cycle. */
    private static final int MOST = 1000;

    private final RateSchedule schedule;
    private final int keys;
    private final double skew;
    private transient int[] cycle;
    private transient int[] rank;
    private transient int[] often;

    NumberGenerator(RateSchedule schedule, int keys, double skew) {
        this.schedule = schedule;
        this.keys = keys;
        this.skew = skew;
    }

    @Override
    public Numbered map(Long index) {
        if (cycle == null) {
            makeCycle();
        }
        int place = (int) (index % cycle.length);
        int key = cycle[place];
        return new Numbered((long) schedule.due(index), key, index / cycle.length * often[key] + rank[place] + 1, 0);
    }

    private void makeCycle() {
        often = new int[keys];
        List<Integer> order = new ArrayList<>();
        for (int key = 0; key < keys; key++) {
            often[key] = skew > 0 ? Math.max(1, (int) Math.round(MOST * Math.pow(key + 1.0, -skew))) : 1;
            order.addAll(Collections.nCopies(often[key], key));
        }
        Collections.shuffle(order, new Random(1));
        cycle = order.stream().mapToInt(Integer::intValue).toArray();
        rank = new int[cycle.length];
        int[] seen = new int[keys];
        for (int place = 0; place < cycle.length; place++) {
            rank[place] = seen[cycle[place]]++;
        }
    }
}
