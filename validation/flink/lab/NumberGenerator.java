package edrp.lab;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.flink.connector.datagen.source.GeneratorFunction;

/**
 * Makes record i from i alone: keys come in a cycle in which each is as often as Zipf's law or a file of weights says (a whole number
 * in each line, that of key 0 first), and at least once, so that the number of a record among those of its key is known without a
 * memory.
 */
final class NumberGenerator implements GeneratorFunction<Long, Numbered> {
    /** How often the most frequent key comes in a cycle. */
    private static final int MOST = 1000;

    private final RateSchedule schedule;
    private final int keys;
    private final double skew;
    private final String weights;
    private transient int[] cycle;
    private transient int[] rank;
    private transient int[] often;

    /** Keys by Zipf's law with that exponent, or by a file of weights if there is one. */
    NumberGenerator(RateSchedule schedule, int keys, double skew, String weights) {
        this.schedule = schedule;
        this.keys = keys;
        this.skew = skew;
        this.weights = weights;
    }

    @Override
    public Numbered map(Long index) throws IOException {
        if (cycle == null) {
            makeCycle();
        }
        int place = (int) (index % cycle.length);
        int key = cycle[place];
        return new Numbered((long) schedule.due(index), key, index / cycle.length * often[key] + rank[place] + 1, 0);
    }

    private void makeCycle() throws IOException {
        if (weights == null) {
            often = IntStream.range(0, keys).map(key -> skew > 0 ? (int) Math.round(MOST * Math.pow(key + 1.0, -skew)) : 1).toArray();
        } else {
            often = Files.readAllLines(Path.of(weights)).stream().mapToInt(line -> Integer.parseInt(line.trim())).toArray();
        }
        List<Integer> order = new ArrayList<>();
        for (int key = 0; key < often.length; key++) {
            often[key] = Math.max(1, often[key]);
            order.addAll(Collections.nCopies(often[key], key));
        }
        Collections.shuffle(order, new Random(1));
        cycle = order.stream().mapToInt(Integer::intValue).toArray();
        rank = new int[cycle.length];
        int[] seen = new int[often.length];
        for (int place = 0; place < cycle.length; place++) {
            rank[place] = seen[cycle[place]]++;
        }
    }
}
